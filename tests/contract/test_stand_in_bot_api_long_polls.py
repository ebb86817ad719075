"""Long polls of the stand-in Bot API server: what wakes them, what ends them, and how impatience is slowed down."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.fakes.bot_api.asking import Asking, asking
from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.endpoint import read_answer

NOON_S = 1_900_000_000.0
OTHER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_SET = "Conflict: terminated by setWebhook request"
WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)


@pytest.fixture
def bot_api() -> Iterator[StandInBotApi]:
    with StandInBotApi(stands_at_s=NOON_S) as running:
        yield running


@pytest.fixture
def client(bot_api: StandInBotApi) -> Iterator[Asking]:
    """Left before the stand-in, so that no test ends with a call unanswered."""
    with asking(bot_api) as client:
        yield client


def test_a_long_poll_waits_for_an_update(bot_api: StandInBotApi, client: Asking) -> None:
    poll = client.meanwhile("getUpdates", timeout=30)
    bot_api.wait_for_poll()
    assert not poll.done()
    bot_api.push_text("now")
    assert [update["update_id"] for update in poll.result(LIMIT_S)["result"]] == [10]
    assert not bot_api.is_polled


@pytest.mark.parametrize(
    ("timeout", "waits_s"),
    [pytest.param(30, 30, id="30"), pytest.param(9999, 50, id="at most 50"), pytest.param(1, 1, id="1")],
)
def test_a_long_poll_ends_empty_when_its_time_is_over(
    bot_api: StandInBotApi, client: Asking, timeout: int, waits_s: int
) -> None:
    poll = client.meanwhile("getUpdates", timeout=timeout)
    bot_api.wait_for_poll()
    bot_api.advance(waits_s - 0.5)
    assert bot_api.is_polled
    bot_api.advance(0.5)
    assert poll.result(LIMIT_S) == {"ok": True, "result": []}


def test_without_a_timeout_nobody_waits(client: Asking) -> None:
    assert client.ask("getUpdates", timeout=-3) == {"ok": True, "result": []}


def test_a_poll_does_not_wait_while_there_is_something_to_give(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push_text("already")
    assert client.update_ids(timeout=50) == [10]


def test_a_poll_whose_offset_forgets_everything_waits_for_the_next_update(
    bot_api: StandInBotApi, client: Asking
) -> None:
    bot_api.push_text("done")
    poll = client.meanwhile("getUpdates", offset=11, timeout=30)
    bot_api.wait_for_poll()
    assert bot_api.confirmed_ids == [10]
    bot_api.push_text("next")
    assert [update["update_id"] for update in poll.result(LIMIT_S)["result"]] == [11]


def test_a_long_poll_by_a_running_clock_ends_by_itself() -> None:
    with StandInBotApi() as bot_api, asking(bot_api) as client:
        assert client.ask("getUpdates", timeout=1) == {"ok": True, "result": []}


def test_a_new_poll_ends_the_older_one_with_a_conflict(bot_api: StandInBotApi, client: Asking) -> None:
    older = client.meanwhile("getUpdates", timeout=30)
    bot_api.wait_for_poll()
    newer = client.meanwhile("getUpdates", offset=1, timeout=30)
    assert older.result(LIMIT_S) == {"ok": False, "error_code": 409, "description": OTHER}
    bot_api.wait_for_poll()
    bot_api.push_text("for the newer")
    assert newer.result(LIMIT_S)["ok"]
    assert [poll.status for poll in bot_api.polls] == [409, 200]


def test_a_second_conflict_within_3_s_is_told_3_s_late(bot_api: StandInBotApi, client: Asking) -> None:
    polls = []
    for offset in (1, 2, 3):
        polls.append(client.meanwhile("getUpdates", offset=offset, timeout=30))
        bot_api.wait_for_poll(offset)
    assert polls[0].result(LIMIT_S)["error_code"] == 409
    bot_api.advance(2.9)
    assert not polls[1].done()
    bot_api.advance(0.1)
    assert polls[1].result(LIMIT_S)["error_code"] == 409
    bot_api.push_text("the end")
    assert polls[2].result(LIMIT_S)["ok"]


def test_a_second_conflict_comes_at_once_where_nothing_is_paced(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.pace(is_on=False)
    client.result("setWebhook", url="http://127.0.0.1:9/hook")
    assert [client.refusal("getUpdates")[0] for _ in range(3)] == [409, 409, 409]


def test_the_poll_of_a_client_that_hung_up_is_no_conflict(bot_api: StandInBotApi, client: Asking) -> None:
    with socket.create_connection(("127.0.0.1", bot_api.port), timeout=LIMIT_S) as dying:
        dying.sendall(f"GET /bot{bot_api.token}/getUpdates?timeout=50 HTTP/1.1\r\nHost: loopback\r\n\r\n".encode())
        bot_api.wait_for_poll()
    bot_api.wait_for(lambda: not bot_api.is_polled)
    for offset in (1, 2):
        bot_api.push_text("unconfirmed")
        assert client.update_ids(offset=offset)[0] == 10
    assert [poll.status for poll in bot_api.polls] == [None, 200, 200]


def test_a_poll_while_a_webhook_is_set_is_refused(bot_api: StandInBotApi, client: Asking) -> None:
    client.result("setWebhook", url="http://127.0.0.1:9/hook")
    assert client.refusal("getUpdates") == (409, WEBHOOK_ACTIVE)
    client.result("deleteWebhook")
    assert client.update_ids() == []


def test_setting_a_webhook_ends_the_long_poll(bot_api: StandInBotApi, client: Asking) -> None:
    poll = client.meanwhile("getUpdates", timeout=30)
    bot_api.wait_for_poll()
    client.result("setWebhook", url="http://127.0.0.1:9/hook")
    assert poll.result(LIMIT_S) == {"ok": False, "error_code": 409, "description": WEBHOOK_SET}


def test_revoking_the_token_ends_the_long_poll(bot_api: StandInBotApi, client: Asking) -> None:
    poll = client.meanwhile("getUpdates", timeout=30)
    bot_api.wait_for_poll()
    bot_api.revoke()
    assert poll.result(LIMIT_S) == {"ok": False, "error_code": 401, "description": "Unauthorized"}


def test_the_same_offset_within_3_s_waits_3_s_at_least(bot_api: StandInBotApi, client: Asking) -> None:
    assert client.update_ids(offset=4) == []
    bot_api.advance(2.9)
    again = client.meanwhile("getUpdates", offset=4)
    bot_api.wait_for_poll()
    bot_api.advance(2.9)
    assert bot_api.is_polled
    bot_api.advance(0.1)
    assert again.result(LIMIT_S) == {"ok": True, "result": []}
    bot_api.advance(3)
    assert client.update_ids(offset=4) == []


def test_the_same_offset_within_half_a_second_gets_one_update(bot_api: StandInBotApi, client: Asking) -> None:
    for text in ("a", "b", "c"):
        bot_api.push_text(text)
    counts = []
    for pause_s in (0.0, 0.4, 0.5):
        bot_api.advance(pause_s)
        counts.append(len(client.update_ids(offset=5)))
    assert counts == [3, 1, 3]


def test_another_offset_is_not_slowed_down(bot_api: StandInBotApi, client: Asking) -> None:
    assert [client.update_ids(offset=offset) for offset in (1, 2, 1)] == [[], [], []]


def test_impatience_is_not_slowed_down_where_that_is_switched_off(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.pace(is_on=False)
    assert [client.update_ids(offset=4) for _ in range(3)] == [[], [], []]


def test_ending_the_stand_in_ends_its_long_polls() -> None:
    with StandInBotApi() as bot_api:
        waiting = socket.create_connection(("127.0.0.1", bot_api.port), timeout=LIMIT_S)
        waiting.sendall(f"GET /bot{bot_api.token}/getUpdates?timeout=50 HTTP/1.1\r\nHost: loopback\r\n\r\n".encode())
        bot_api.wait_for_poll()
    with waiting, pytest.raises(ConnectionError):
        read_answer(waiting)
