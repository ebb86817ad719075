"""What a poller does after a poll that failed: it waits and asks again, or it ends."""

from __future__ import annotations

import pytest

from telegrambot.endings import Cause, Trouble, Wait, after_failure
from telegrambot.failures import Evidence, Failure, Reason

DEADLINE_S = 40.0


def failure(reason: Reason, retry_after_s: float | None = None) -> Failure:
    return Failure(method="getUpdates", reason=reason, evidence=Evidence.STATUS, retry_after_s=retry_after_s)


def steps(*failed: tuple[Reason, float, float]) -> list[Wait | Cause]:
    """What each of these failures leads to: reason, when the poll was sent, when it failed; all was well at 0."""
    trouble, met = Trouble(well_at=0.0), []
    for reason, asked_at, now in failed:
        trouble, then = after_failure(trouble, failure(reason), asked_at=asked_at, now=now, deadline_s=DEADLINE_S)
        met.append(then)
    return met


@pytest.mark.parametrize(
    ("reason", "cause"),
    [(Reason.UNAUTHORIZED, Cause.UNAUTHORIZED), (Reason.WEBHOOK_ACTIVE, Cause.WEBHOOK)],
    ids=["a token that is none", "a webhook that is set"],
)
def test_what_no_waiting_can_mend_ends_polling_at_once(reason: Reason, cause: Cause) -> None:
    assert steps((reason, 0, 1)) == [cause]


def test_somebody_elses_polling_is_borne_for_a_minute_from_the_last_answer() -> None:
    conflict = Reason.CONFLICT
    assert steps(*[(conflict, at, at) for at in (1, 2, 4, 8, 16, 59, 60)]) == [
        Wait(1), Wait(2), Wait(4), Wait(8), Wait(8), Wait(8), Cause.CONFLICT,
    ]  # fmt: skip


def test_polls_that_get_no_answer_for_three_deadlines_mean_that_the_poller_is_deaf() -> None:
    silent = Reason.NO_ANSWER
    assert steps((silent, 0, 40), (silent, 41, 81), (silent, 83, 123)) == [Wait(1), Wait(2), Cause.DEAF]


def test_a_network_that_is_down_is_borne_as_long_as_silence() -> None:
    down = Reason.NOT_DISPATCHED
    met = steps(*[(down, at, at) for at in (0, 1, 3, 7, 15, 31, 61, 91, 119, 120)])
    assert met == [Wait(s) for s in (1, 2, 4, 8, 16, 30, 30, 30, 30)] + [Cause.DEAF]


def test_an_answer_of_any_kind_shows_that_the_poller_is_not_deaf() -> None:
    silent, failing = Reason.NO_ANSWER, Reason.SERVER_ERROR
    met = steps((silent, 0, 40), (silent, 41, 81), (failing, 83, 84), (silent, 92, 132))
    assert met == [Wait(1), Wait(2), Wait(4), Wait(8)]


def test_telegrams_own_word_on_how_long_to_wait_is_kept() -> None:
    limited = failure(Reason.RATE_LIMITED, retry_after_s=7.0)
    trouble = Trouble(well_at=0.0, failures=5)
    assert after_failure(trouble, limited, asked_at=1, now=2, deadline_s=DEADLINE_S) == (
        Trouble(well_at=0.0, failures=6),
        Wait(7.0),
    )
