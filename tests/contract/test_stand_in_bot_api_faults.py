"""The stand-in Bot API server goes wrong on order, in every way a network can, alone or as a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.fakes.bot_api.answers import RESTARTING, Refusal, flood, migrated
from tests.fakes.bot_api.asking import Asking, asking
from tests.fakes.bot_api.faults import (
    DropHalfway,
    DropUnanswered,
    DropUnread,
    Fault,
    Hang,
    NotJson,
    Oversized,
    Result,
    Slow,
    Trickle,
)
from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.process import BotApiProcess
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.endpoint import read_answer
from tests.fakes.github import Inbox

HELLO = {"chat_id": 5, "text": "hello"}


@pytest.fixture
def bot_api() -> Iterator[StandInBotApi]:
    with StandInBotApi() as running:
        yield running


@pytest.fixture
def client(bot_api: StandInBotApi) -> Iterator[Asking]:
    with asking(bot_api) as client:
        yield client


def arrived(bot_api: StandInBotApi) -> list[tuple[str, bool]]:
    """The texts that arrived, and whether their senders heard of it."""
    return [(send.text, send.is_answered) for send in bot_api.sends]


@pytest.mark.parametrize(
    ("fault", "seen", "arrives"),
    [
        pytest.param(DropUnread(), httpx.ReadError, False, id="reset before it was read"),
        pytest.param(DropUnanswered(), httpx.RemoteProtocolError, True, id="closed without an answer"),
        pytest.param(DropHalfway(), httpx.RemoteProtocolError, True, id="closed in the middle of the answer"),
    ],
)
def test_a_connection_is_dropped(bot_api: StandInBotApi, client: Asking, fault: Fault, seen, arrives: bool) -> None:
    bot_api.arm("sendMessage", fault)
    with pytest.raises(seen):
        client.ask("sendMessage", **HELLO)
    assert [call.status for call in bot_api.calls] == [None]
    assert arrived(bot_api) == ([("hello", False)] if arrives else [])
    assert client.ask("sendMessage", **HELLO)["ok"]


def test_half_an_answer_promises_the_whole(bot_api: StandInBotApi) -> None:
    bot_api.arm("getMe", DropHalfway())
    connection = http.client.HTTPConnection("127.0.0.1", bot_api.port, timeout=LIMIT_S)
    connection.request("GET", f"/bot{bot_api.token}/getMe")
    with pytest.raises(http.client.IncompleteRead) as caught:
        connection.getresponse().read()
    connection.close()
    assert caught.value.expected is not None
    assert abs(caught.value.expected - len(caught.value.partial)) <= 1


def test_a_batch_whose_answer_is_lost_is_not_forgotten(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("a")
    bot_api.arm("getUpdates", DropHalfway())
    with pytest.raises(httpx.RemoteProtocolError):
        client.ask("getUpdates", timeout=30)
    assert client.update_ids(offset=1) == [10]
    assert [(poll.status, poll.update_ids) for poll in bot_api.polls] == [(None, (10,)), (200, (10,))]


def test_a_confirmation_whose_answer_is_lost_holds(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("a")
    bot_api.arm("getUpdates", DropUnanswered())
    with pytest.raises(httpx.RemoteProtocolError):
        client.ask("getUpdates", offset=11)
    assert (bot_api.confirmed_ids, bot_api.highest_offset) == ([10], 11)


def test_a_call_hangs_without_effect_until_it_is_released(bot_api: StandInBotApi, client: Asking) -> None:
    armed = bot_api.arm("sendMessage", Hang())
    call = client.meanwhile("sendMessage", **HELLO)
    bot_api.wait_for_calls("sendMessage")
    assert (armed.struck, call.done()) == (1, False)
    bot_api.release()
    with pytest.raises(httpx.RemoteProtocolError):
        call.result(LIMIT_S)
    assert arrived(bot_api) == []


def test_a_client_gives_up_on_a_call_that_hangs(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.arm("getUpdates", Hang())
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{client.url}/getUpdates", timeout=0.05, trust_env=False)


def test_a_slow_answer_has_its_effect_at_once_and_comes_when_it_is_released(
    bot_api: StandInBotApi, client: Asking
) -> None:
    bot_api.arm("sendMessage", Slow())
    call = client.meanwhile("sendMessage", **HELLO)
    bot_api.wait_for(lambda: arrived(bot_api) == [("hello", False)])
    assert not call.done()
    bot_api.release()
    assert call.result(LIMIT_S)["ok"]
    assert arrived(bot_api) == [("hello", True)]


def test_a_release_frees_what_is_held_and_not_what_comes_after_it(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.arm("sendMessage", Slow(), times=None)
    for count in (1, 2):
        call = client.meanwhile("sendMessage", **HELLO)
        bot_api.wait_for(lambda count=count: len(bot_api.sends) == count)
        assert not call.done()
        bot_api.release()
        assert call.result(LIMIT_S)["ok"]
    bot_api.lift()
    assert client.ask("sendMessage", **HELLO)["ok"]


def test_a_slow_answer_whose_client_is_gone_counts_as_unanswered(bot_api: StandInBotApi) -> None:
    bot_api.arm("sendMessage", Slow())
    with socket.create_connection(("127.0.0.1", bot_api.port), timeout=LIMIT_S) as dying:
        head = f"POST /bot{bot_api.token}/sendMessage?chat_id=5&text=hello HTTP/1.1\r\nHost: loopback\r\n\r\n"
        dying.sendall(head.encode())
        bot_api.wait_for(lambda: len(bot_api.sends) == 1)
    bot_api.release()
    bot_api.wait_for(lambda: bot_api.in_flight == 0)
    assert arrived(bot_api) == [("hello", False)]


def test_an_answer_trickles_byte_by_byte(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.arm("getMe", Trickle(interval_s=0.0001))
    with httpx.stream("GET", f"{client.url}/getMe", timeout=LIMIT_S, trust_env=False) as answer:
        pieces = list(answer.iter_raw())
    assert len(pieces) > 10
    assert json.loads(b"".join(pieces))["ok"]


def test_something_in_front_of_the_server_answers_instead(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.arm("sendMessage", NotJson())
    answer = client.answer("sendMessage", **HELLO)
    assert (answer.status_code, answer.headers["Content-Type"]) == (502, "text/html")
    assert answer.text == "<html><h1>502 Bad Gateway</h1></html>"
    assert arrived(bot_api) == []


@pytest.mark.parametrize(
    ("is_announced", "length"), [pytest.param(True, "1100000", id="announced"), pytest.param(False, None, id="chunks")]
)
def test_an_answer_may_be_larger_than_anyone_expects(
    bot_api: StandInBotApi, client: Asking, is_announced: bool, length: str | None
) -> None:
    bot_api.arm("sendMessage", Oversized(body_bytes=1_100_000, is_announced=is_announced))
    answer = client.answer("sendMessage", **HELLO)
    assert (len(answer.content), answer.headers.get("Content-Length")) == (1_100_000, length)
    assert (answer.json()["ok"], arrived(bot_api)) == (True, [("hello", True)])


def test_a_result_may_be_one_that_telegram_would_never_give(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.arm("getUpdates", Result([{"update_id": "seven"}, 8]))
    assert client.result("getUpdates") == [{"update_id": "seven"}, 8]


@pytest.mark.parametrize(
    ("refusal", "parameters"),
    [
        pytest.param(flood(7), {"retry_after": 7}, id="flood"),
        pytest.param(migrated(-1007), {"migrate_to_chat_id": -1007}, id="migrated"),
        pytest.param(RESTARTING, None, id="restart"),
        pytest.param(Refusal(status=418, description="I'm a teapot"), None, id="anything"),
    ],
)
def test_a_method_refuses_on_order(bot_api: StandInBotApi, client: Asking, refusal: Refusal, parameters) -> None:
    bot_api.arm("sendMessage", refusal)
    answer = client.answer("sendMessage", **HELLO)
    said = {"ok": False, "error_code": refusal.status, "description": refusal.description}
    assert answer.status_code == refusal.status
    assert answer.json() == said | ({"parameters": parameters} if parameters else {})
    retry_after = None if refusal.retry_after_s is None else str(refusal.retry_after_s)
    assert answer.headers.get("Retry-After") == retry_after
    assert arrived(bot_api) == []


def test_faults_strike_in_order_so_many_times_and_only_their_method(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.arm("sendMessage", flood(1), times=2)
    bot_api.arm("sendMessage", RESTARTING)
    assert client.ask("getMe")["ok"]
    assert [client.answer("sendMessage", **HELLO).status_code for _ in range(4)] == [429, 429, 500, 200]


def test_a_fault_stays_until_it_is_lifted(bot_api: StandInBotApi, client: Asking) -> None:
    armed = bot_api.arm("sendMessage", RESTARTING, times=None)
    assert [client.answer("sendMessage", **HELLO).status_code for _ in range(3)] == [500, 500, 500]
    bot_api.lift("sendMessage")
    assert (client.answer("sendMessage", **HELLO).status_code, armed.struck) == (200, 3)


def test_meanwhile_nobody_listens_and_then_everything_is_as_it_was(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("a")
    request = f"GET /bot{bot_api.token}/getMe HTTP/1.1\r\nHost: loopback\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", bot_api.port), timeout=LIMIT_S) as kept_alive:
        kept_alive.sendall(request)
        assert read_answer(kept_alive).status == 200
        with bot_api.unreachable():
            assert kept_alive.recv(1) == b""
            with pytest.raises(httpx.ConnectError):
                client.ask("getMe")
    assert client.update_ids() == [10]


def test_a_process_of_its_own_says_what_one_here_would() -> None:
    with BotApiProcess("--first-id", "70") as bot_api:
        url = f"{bot_api.root_url}/bot{bot_api.token}"
        assert bot_api.push_text("a") == 70
        bot_api.arm("sendMessage", flood(3))
        bot_api.arm("sendMessage", Oversized(body_bytes=5000))
        answers = [httpx.post(f"{url}/sendMessage", json=HELLO, trust_env=False) for _ in range(2)]
        httpx.post(f"{url}/getUpdates", json={"offset": 71}, trust_env=False)
        bot_api.wait_for_calls("getUpdates")
        assert [(answer.status_code, len(answer.content) >= 5000) for answer in answers] == [(429, False), (200, True)]
        assert [call.status for call in bot_api.calls] == [429, 200, 200]
        assert [poll.offset for poll in bot_api.polls] == [71]
        assert [(send.text, send.is_answered) for send in bot_api.sends] == [("hello", True)]
        assert (bot_api.confirmed_ids, bot_api.unconfirmed_ids, bot_api.highest_offset) == ([70], [], 71)


def test_a_process_of_its_own_is_turned_from_elsewhere() -> None:
    with BotApiProcess() as bot_api:
        url = f"{bot_api.root_url}/bot{bot_api.token}"
        bot_api.refuse(5, migrated(-1007), times=1)
        bot_api.open_topic(-1007, 3)
        to_topic = {"chat_id": -1007, "text": "b", "message_thread_id": 3}
        answers = [httpx.post(f"{url}/sendMessage", json=values, trust_env=False) for values in (HELLO, to_topic)]
        assert [answer.status_code for answer in answers] == [400, 200]
        bot_api.forget_transcripts()
        bot_api.restart_ids(900)
        assert (bot_api.push_text("a"), bot_api.calls) == (900, [])
        bot_api.advance(24 * 3600)
        assert bot_api.unconfirmed_ids == []
        bot_api.revoke()
        assert httpx.get(f"{url}/getMe", trust_env=False).status_code == 401


def test_what_a_process_of_its_own_holds_or_refuses_can_be_let_go() -> None:
    with BotApiProcess() as bot_api, ThreadPoolExecutor() as threads:
        url = f"{bot_api.root_url}/bot{bot_api.token}"

        def status(method: str, **values: object) -> int:
            return httpx.post(f"{url}/{method}", json=values, timeout=LIMIT_S, trust_env=False).status_code

        bot_api.arm("getMe", Slow())
        held = threads.submit(status, "getMe")
        bot_api.wait_for_calls("getMe")
        bot_api.release()
        assert held.result(LIMIT_S) == 200
        bot_api.arm("getMe", RESTARTING, times=None)
        bot_api.lift("getMe")
        bot_api.refuse(5, RESTARTING)
        bot_api.accept(5)
        assert (status("getMe"), status("sendMessage", **HELLO)) == (200, 200)
        with Inbox(200) as inbox:
            bot_api.pace(is_on=False)
            assert status("setWebhook", url=inbox.url) == 200
            bot_api.push_text("a")
            assert [(pushed.update_id, pushed.status) for pushed in bot_api.deliver_webhooks()] == [(10, 200)]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_process_of_its_own_ends_with_a_poll_in_flight(ending: signal.Signals) -> None:
    with BotApiProcess() as bot_api, socket.create_connection(("127.0.0.1", bot_api.port), timeout=LIMIT_S) as polling:
        polling.sendall(f"GET /bot{bot_api.token}/getUpdates?timeout=50 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        bot_api.wait_for_poll()
        assert bot_api.end(ending) == 0
