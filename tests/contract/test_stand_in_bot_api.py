"""The stand-in Bot API server takes calls in every form, and keeps and forgets updates as Telegram does."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.bot_api.asking import Asking, asking
from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.samples import button_press, reaction, text_message
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.bot_api.transcripts import Call, Poll
from tests.fakes.endpoint import read_answer

NOON_S = 1_900_000_000.0
DAY_S = 24 * 3600.0


@pytest.fixture
def bot_api() -> Iterator[StandInBotApi]:
    """Its clock stands still, and impatience is not slowed down."""
    with StandInBotApi(stands_at_s=NOON_S) as running:
        running.pace(is_on=False)
        yield running


@pytest.fixture
def client(bot_api: StandInBotApi) -> Iterator[Asking]:
    with asking(bot_api) as client:
        yield client


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({"params": {"chat_id": 5, "text": "häi & you"}}, id="query"),
        pytest.param({"json": {"chat_id": 5, "text": "häi & you"}}, id="json"),
        pytest.param({"data": {"chat_id": 5, "text": "häi & you"}}, id="form"),
        pytest.param({"data": {"chat_id": 5, "text": "häi & you"}, "files": {"x": ("x.txt", b"x")}}, id="multipart"),
        pytest.param({"content": iter([b'{"chat_id": 5, "text": ', b'"h\\u00e4i & you"}'])}, id="chunked"),
    ],
)
def test_a_call_may_come_in_every_form(bot_api: StandInBotApi, client: Asking, form) -> None:
    headers = {"Content-Type": "application/json"} if "content" in form else {}
    httpx.post(f"{client.url}/sendMessage", headers=headers, trust_env=False, **form).raise_for_status()
    assert [(send.chat_id, send.text) for send in bot_api.sends] == [(5, "häi & you")]


def test_get_is_as_good_as_post_and_names_are_taken_in_any_case(client: Asking) -> None:
    assert httpx.get(f"{client.url}/GETME", trust_env=False).json() == client.ask("getMe")


def test_it_speaks_http_over_one_connection_again_and_again(bot_api: StandInBotApi) -> None:
    request = f"GET /bot{bot_api.token}/getMe HTTP/1.1\r\nHost: loopback\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", bot_api.port), timeout=LIMIT_S) as connection:
        statuses = []
        for _ in range(3):
            connection.sendall(request)
            statuses.append(read_answer(connection).status)
    assert statuses == [200, 200, 200]


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        pytest.param("/bot999:wrong/getMe", (401, "Unauthorized"), id="unknown token"),
        pytest.param("/botnonsense/getMe", (404, "Not Found"), id="no token at all"),
        pytest.param("/elsewhere", (404, "Not Found"), id="no bot"),
        pytest.param("/bot{token}/flyToMoon", (404, "Not Found: method not found"), id="unknown method"),
    ],
)
def test_what_it_does_not_know_is_refused(bot_api: StandInBotApi, path: str, refusal: tuple[int, str]) -> None:
    answer = httpx.get(bot_api.root_url + path.format(token=bot_api.token), trust_env=False)
    said = answer.json()
    assert (said["ok"], answer.status_code) == (False, refusal[0])
    assert (said["error_code"], said["description"]) == refusal


def test_a_revoked_token_is_401(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.revoke()
    assert client.refusal("getMe") == (401, "Unauthorized")


def test_an_update_stays_until_an_offset_above_it_is_asked_for(bot_api: StandInBotApi, client: Asking) -> None:
    for text in ("a", "b", "c"):
        bot_api.push_text(text)
    assert client.update_ids() == client.update_ids(offset=0) == client.update_ids(offset=10) == [10, 11, 12]
    assert client.update_ids(offset=12) == [12]
    assert (bot_api.confirmed_ids, bot_api.unconfirmed_ids, bot_api.highest_offset) == ([10, 11], [12], 12)
    assert client.update_ids(offset=0) == [12]


def test_an_update_is_told_as_it_was_pushed_with_its_id(bot_api: StandInBotApi, client: Asking) -> None:
    update = text_message("/start now", chat_id=-1001, sender_id=7, thread_id=3, message_id=44)
    bot_api.push(update)
    assert client.result("getUpdates") == [{"update_id": 10, **update}]


def test_the_limit_is_kept_within_1_and_100(bot_api: StandInBotApi, client: Asking) -> None:
    ids = [bot_api.push_text(str(number)) for number in range(120)]
    assert client.update_ids(limit=7) == ids[:7]
    assert client.update_ids(limit=0) == client.update_ids(limit=-5) == ids[:1]
    assert client.update_ids(limit=1000) == client.update_ids() == ids[:100]


@pytest.mark.parametrize(
    ("ahead", "kept"),
    [
        pytest.param(10, [], id="believed"),
        pytest.param(11, [10, 11], id="not believed"),
        pytest.param(5_000_000, [10, 11], id="of another server"),
    ],
)
def test_an_offset_far_above_the_next_id_is_not_believed(bot_api: StandInBotApi, client: Asking, ahead, kept) -> None:
    bot_api.push_text("a")
    next_id = bot_api.push_text("b") + 1
    assert client.update_ids(offset=next_id + ahead) == kept
    assert bot_api.unconfirmed_ids == kept


def test_an_offset_far_below_the_first_id_gives_everything(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.restart_ids(5_000_000)
    bot_api.push_text("a")
    assert client.update_ids(offset=3) == [5_000_000]


def test_a_negative_offset_drops_all_but_the_last_ones(bot_api: StandInBotApi, client: Asking) -> None:
    for text in ("a", "b", "c", "d"):
        bot_api.push_text(text)
    assert client.update_ids(offset=-2) == [12, 13]
    assert client.update_ids(offset=-9) == client.update_ids() == [12, 13]


def test_ids_may_start_anew_and_go_down(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.restart_ids(900)
    bot_api.push_text("before")
    bot_api.restart_ids(3)
    bot_api.push_text("after")
    assert client.update_ids(offset=901) == [3]


def test_an_update_is_kept_for_a_day(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("old")
    bot_api.advance(DAY_S - 1)
    bot_api.push_text("new")
    assert client.update_ids() == [10, 11]
    bot_api.advance(1)
    assert client.update_ids() == [11]
    assert (bot_api.expired_ids, bot_api.confirmed_ids) == ([10], [])


def test_reactions_come_only_to_those_who_asked_for_them(bot_api: StandInBotApi, client: Asking) -> None:
    assert bot_api.push(reaction()) is None
    client.ask("getUpdates", allowed_updates=["message_reaction"])
    assert (bot_api.push(reaction()), bot_api.push(text_message("a"))) == (10, None)
    client.ask("getUpdates", allowed_updates=[])
    assert (bot_api.push(reaction()), bot_api.push(text_message("a"))) == (None, 11)


def test_allowed_updates_hold_until_others_are_named_and_leave_the_queue_alone(
    bot_api: StandInBotApi, client: Asking
) -> None:
    bot_api.push_text("before")
    client.ask("getUpdates", allowed_updates=["callback_query"])
    client.ask("getUpdates")
    assert bot_api.push(text_message("after")) is None
    assert bot_api.push(button_press("yes")) == 11
    assert client.update_ids() == [10, 11]


def test_allowed_updates_in_a_form_are_json(bot_api: StandInBotApi, client: Asking) -> None:
    httpx.post(f"{client.url}/getUpdates", data={"allowed_updates": '["callback_query"]'}, trust_env=False)
    assert bot_api.push(text_message("a")) is None
    assert bot_api.polls[0].allowed_updates == ("callback_query",)


def test_one_answer_holds_no_more_than_4_mib(bot_api: StandInBotApi, client: Asking) -> None:
    for _ in range(3):
        bot_api.push_text("x" * (2 * 2**20 - 1000))
    assert client.update_ids() == [10, 11]
    assert client.update_ids(offset=12) == [12]


def test_an_update_larger_than_an_answer_comes_alone(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("x" * (5 * 2**20))
    bot_api.push_text("small")
    assert client.update_ids() == [10]


def test_an_update_that_no_client_can_read_is_handed_out_all_the_same(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push({"message": {"text": 7}})
    assert client.result("getUpdates") == [{"update_id": 10, "message": {"text": 7}}]


def test_the_menu_of_commands_is_kept_by_audience(client: Asking) -> None:
    start, stop = {"command": "start", "description": "Start"}, {"command": "stop", "description": "Stop"}
    client.result("setMyCommands", commands=[start])
    client.result("setMyCommands", commands=[stop], scope={"type": "all_group_chats"}, language_code="de")
    assert client.result("getMyCommands") == [start]
    assert client.result("getMyCommands", scope={"type": "all_group_chats"}, language_code="de") == [stop]
    assert client.refusal("setMyCommands", commands=[{"command": "No!", "description": "x"}]) == (
        400,
        "Bad Request: BOT_COMMAND_INVALID",
    )


def test_calls_and_polls_are_kept_as_they_were_asked(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("a")
    client.ask("getUpdates", offset=3, limit=2, allowed_updates=["message"])
    bot_api.advance(60)
    client.ask("getFile", file_id="none")
    values = {"offset": 3, "limit": 2, "allowed_updates": ["message"]}
    assert bot_api.calls == [
        Call(method="getUpdates", values=values, at_s=NOON_S, status=200),
        Call(method="getFile", values={"file_id": "none"}, at_s=NOON_S + 60, status=400),
    ]
    asked = {"offset": 3, "limit": 2, "timeout_s": None, "allowed_updates": ("message",)}
    assert bot_api.polls == [Poll(**asked, at_s=NOON_S, status=200, update_ids=(10,))]
    bot_api.forget_transcripts()
    assert (bot_api.calls, bot_api.polls, bot_api.highest_offset) == ([], [], None)
