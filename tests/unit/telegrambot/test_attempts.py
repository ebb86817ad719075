"""What becomes of an update after an attempt."""

from __future__ import annotations

import pytest

from telegrambot.attempts import ATTEMPTS_MAX, WHY_CHARACTERS_MAX, Abandoned, Failed, after_error
from telegrambot.failures import CallFailed, Evidence, Failure, Reason

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


def call_failed(reason: Reason, retry_after_s: float | None = None) -> CallFailed:
    return CallFailed(
        Failure(method="sendMessage", reason=reason, evidence=Evidence.STATUS, retry_after_s=retry_after_s)
    )


@pytest.mark.parametrize(("attempt", "pause_s"), [(1, 5.0), (2, 20.0), (3, 80.0), (4, 320.0)])
def test_each_attempt_waits_four_times_as_long_as_the_one_before(attempt: int, pause_s: float) -> None:
    assert after_error(OSError("no"), attempt) == Failed(why="OSError: no", retry_in_s=pause_s)


def test_the_fifth_attempt_is_the_last() -> None:
    assert ATTEMPTS_MAX == 5
    assert after_error(OSError("no"), 5) == Abandoned("OSError: no")


@pytest.mark.parametrize("seconds", [7.0, 3600.0], ids=["short", "longer than any pause of ours"])
def test_telegram_is_given_exactly_the_time_that_it_asks_for(seconds: float) -> None:
    then = after_error(call_failed(Reason.RATE_LIMITED, seconds), 2)
    assert then == Failed(why="CallFailed: sendMessage: rate-limited", retry_in_s=seconds)


@pytest.mark.parametrize(
    "reason",
    [
        Reason.BLOCKED_BY_USER,
        Reason.USER_DEACTIVATED,
        Reason.NOT_STARTED,
        Reason.CHAT_NOT_FOUND,
        Reason.NOT_MEMBER,
        Reason.CHAT_GONE,
        Reason.MESSAGE_INVALID,
        Reason.FORBIDDEN_IN_CHAT,
        Reason.THREAD_NOT_FOUND,
    ],
)
def test_what_telegram_refuses_for_good_is_given_up_at_once(reason: Reason) -> None:
    assert after_error(call_failed(reason), 1) == Abandoned(f"CallFailed: sendMessage: {reason}")


def test_a_refusal_for_good_is_seen_behind_the_handlers_own_error() -> None:
    wrapped = ValueError("cannot answer")
    wrapped.__cause__ = call_failed(Reason.BLOCKED_BY_USER)
    assert after_error(wrapped, 1) == Abandoned("ValueError: cannot answer")


@pytest.mark.parametrize(
    "reason",
    [
        Reason.NOT_DISPATCHED,
        Reason.NO_ANSWER,
        Reason.SERVER_ERROR,
        Reason.UNAUTHORIZED,
        Reason.MIGRATED,
        Reason.UNKNOWN,
    ],
)
def test_what_may_go_well_another_time_is_tried_again(reason: Reason) -> None:
    assert after_error(call_failed(reason), 1) == Failed(why=f"CallFailed: sendMessage: {reason}", retry_in_s=5.0)


def test_a_failure_shows_no_token_and_is_cut() -> None:
    then = after_error(ValueError(f"https://api.telegram.org/bot{TOKEN}/sendMessage " + "x" * 5_000), 5)
    assert isinstance(then, Abandoned)
    assert (TOKEN in then.why, "123456789:[redacted]" in then.why, len(then.why)) == (False, True, WHY_CHARACTERS_MAX)


def test_half_a_character_does_not_reach_the_store() -> None:
    assert after_error(ValueError("\ud83d"), 5) == Abandoned("ValueError: ?")


def test_an_error_that_cannot_be_printed_is_one_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert after_error(Mute(), 5) == Abandoned("Mute: says nothing of itself")
