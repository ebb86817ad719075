"""The webhook: Telegram is answered yes when an update is on disk, and nobody else is listened to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn

from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.notices import PassedOver
from telegrambot.updates import Update
from telegrambot.webhook import BODY_BYTES_MAX, Bounds, NotRecorded, Webhook, WebhookSecret, WrongSecret
from telegrambot.webhook_claim import claim_webhook
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.update_store import UpdatesInMemory

SECRET = "the_secret-of-this-webhook-42"
SHOWN = (b"X-Telegram-Bot-Api-Secret-Token", SECRET.encode())
MESSAGE = {"chat": {"id": 5}, "text": "hello"}
UPDATE = {"update_id": 10, "message": MESSAGE}
LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[bytes, bytes]


@dataclass(slots=True)
class Desk:
    """A webhook on a store in memory, with what it told."""

    bounds: Bounds | None = None
    store: UpdatesInMemory = field(default_factory=lambda: UpdatesInMemory(lambda: 0.0))
    notices: list[PassedOver | NotRecorded] = field(default_factory=list)

    @property
    def recorded(self) -> list[int]:
        return [row.update.update_id for row in self.store.rows]

    def webhook(self) -> Webhook:
        return Webhook(WebhookSecret(SECRET), self.store.record, report=self.notices.append, bounds=self.bounds)

    def ask(self, *parts: bytes, method: str = "POST", headers: Sequence[tuple[bytes, bytes]] = (SHOWN,)) -> Answer:
        """Send a request whose body comes in these parts; without a part it never comes."""
        messages = [
            {"type": "http.request", "body": part, "more_body": number < len(parts)}
            for number, part in enumerate(parts, start=1)
        ]
        sent = asyncio.run(self._exchange(messages, method, headers))
        return Answer(sent[0]["status"], dict(sent[0]["headers"]))

    async def _exchange(self, messages: list[Any], method: str, headers: Sequence[tuple[bytes, bytes]]) -> list[Any]:
        sent: list[Any] = []

        async def receive() -> Any:
            return messages.pop(0) if messages else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "headers": [(name.lower(), value) for name, value in headers]}
        await self.webhook()(scope, receive, send)
        return sent


def body(update: object = UPDATE) -> bytes:
    return json.dumps(update).encode()


def test_an_update_is_answered_yes_when_it_is_on_disk() -> None:
    desk = Desk()
    assert desk.ask(body()) == Answer(200, {b"content-length": b"0"})
    assert [row.update for row in desk.store.rows] == [Update(update_id=10, kind="message", content=MESSAGE)]


def test_an_update_that_is_there_already_is_answered_yes() -> None:
    desk = Desk()
    assert [desk.ask(body()).status for _ in range(2)] == [200, 200]
    assert desk.recorded == [10]


def test_a_body_may_come_in_parts() -> None:
    desk = Desk()
    assert desk.ask(body()[:7], b"", body()[7:]).status == 200
    assert desk.recorded == [10]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS"])
def test_only_posts_are_taken(method: str) -> None:
    desk = Desk()
    answer = desk.ask(body(), method=method)
    assert (answer.status, answer.headers[b"allow"], desk.recorded) == (405, b"POST", [])


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([], id="none"),
        pytest.param([(SHOWN[0], b"")], id="empty"),
        pytest.param([(SHOWN[0], b"another")], id="another"),
        pytest.param([(SHOWN[0], SECRET.encode() + b"x")], id="longer"),
        pytest.param([(SHOWN[0], "sécret".encode())], id="not ASCII"),
        pytest.param([(SHOWN[0], b"\xff\xfe")], id="no text"),
        pytest.param([SHOWN, (SHOWN[0], b"another")], id="two of them"),
    ],
)
def test_who_does_not_show_the_secret_is_refused_unread(headers: list[tuple[bytes, bytes]]) -> None:
    desk = Desk()
    assert (desk.ask(headers=headers).status, desk.recorded, desk.notices) == (403, [], [])


@pytest.mark.parametrize(
    ("parts", "declared"),
    [
        pytest.param([], [(b"content-length", str(BODY_BYTES_MAX + 1).encode())], id="declared"),
        pytest.param([], [(b"content-length", b"9" * 5000)], id="declared beyond all numbers"),
        pytest.param([b" " * BODY_BYTES_MAX, b" "], [], id="chunked"),
        pytest.param([b" " * (BODY_BYTES_MAX + 1)], [(b"content-length", b"5")], id="declared falsely"),
    ],
)
def test_a_body_that_is_too_long_is_refused(parts: list[bytes], declared: list[tuple[bytes, bytes]]) -> None:
    desk = Desk()
    assert (desk.ask(*parts, headers=[SHOWN, *declared]).status, desk.recorded) == (413, [])


def test_a_body_of_the_very_length_that_is_allowed_is_taken() -> None:
    desk = Desk()
    assert desk.ask(body() + b" " * (BODY_BYTES_MAX - len(body()))).status == 200


def test_a_body_that_does_not_come_in_time_is_refused() -> None:
    desk = Desk(bounds=Bounds(body_deadline_s=0.0))
    assert (desk.ask().status, desk.recorded) == (408, [])


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half"),
        pytest.param(b"\xff\xff", id="no text"),
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(b"[]", id="no object"),
        pytest.param(body({"message": MESSAGE}), id="no number"),
    ],
)
def test_what_is_no_update_is_refused(sent: bytes) -> None:
    desk = Desk()
    assert (desk.ask(sent).status, desk.recorded) == (400, [])


def test_an_update_that_cannot_be_read_is_passed_over_so_that_it_does_not_come_for_ever() -> None:
    desk = Desk()
    assert desk.ask(body({"update_id": 10, "message": "?"})).status == 200
    assert (desk.recorded, desk.notices) == ([], [PassedOver(10, "message is no object")])


def test_a_store_that_fails_has_the_update_brought_again() -> None:
    desk, error = Desk(), OSError("disk full")

    def full(_: str) -> None:
        raise error

    desk.store.fail = full
    answer = desk.ask(body())
    assert (answer.status, answer.headers[b"retry-after"]) == (503, b"5")
    assert desk.notices == [NotRecorded(error)]


def test_a_client_that_goes_away_is_not_answered_and_nothing_is_recorded() -> None:
    desk = Desk()
    messages = [{"type": "http.request", "body": body(), "more_body": True}, {"type": "http.disconnect"}]
    assert asyncio.run(desk._exchange(messages, "POST", [SHOWN])) == []
    assert desk.recorded == []


def test_what_is_not_http_is_none_of_its_business() -> None:
    with pytest.raises(ValueError, match="by http, not by websocket"):
        asyncio.run(Desk().webhook()({"type": "websocket"}, None, None))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["", "x" * 257, "with space", "é", "line\n"], ids=repr)
def test_a_secret_that_telegram_would_not_take_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(WrongSecret) as refused:
        WebhookSecret(value)
    assert value == "" or value not in str(refused.value)


def test_a_secret_is_never_printed() -> None:
    assert SECRET not in repr(WebhookSecret(SECRET))


# Over the wire


@pytest.fixture
def served() -> Iterator[tuple[Desk, str]]:
    """A webhook behind a real server, and its address."""
    desk = Desk()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(desk.webhook(), lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield desk, f"http://127.0.0.1:{listener.getsockname()[1]}/telegram"
        finally:
            server.should_exit = True
            thread.join(LIMIT_S)


def test_what_telegram_pushes_is_taken_and_what_could_not_be_recorded_is_pushed_again(served: tuple[Desk, str]) -> None:
    desk, url = served
    troubles = [OSError("disk full")]

    def fail(_: str) -> None:
        if troubles:
            raise troubles.pop()

    desk.store.fail = fail
    with StandInBotApi(stands_at_s=1_000.0) as bot_api:
        asyncio.run(_claim(bot_api, url))
        update_id = bot_api.push_text("hello")
        rounds = [bot_api.deliver_webhooks()]
        for pause_s in (4.9, 0.1):
            bot_api.advance(pause_s)
            rounds.append(bot_api.deliver_webhooks())
    assert [[pushed.status for pushed in pushes] for pushes in rounds] == [[503], [], [200]]
    assert desk.recorded == [update_id]


async def _claim(bot_api: StandInBotApi, url: str) -> None:
    async with sending_client() as client:
        await claim_webhook(BotApi(Token(bot_api.token), client, bot_api.root_url), url, WebhookSecret(SECRET))
