"""What an attempt to write to one recipient leads to."""

from __future__ import annotations

import pytest

from telegrambot.broadcast.delivery import (
    Decision,
    Done,
    Doubt,
    Halt,
    HaltCause,
    Pace,
    SendToNewId,
    Wait,
    after_attempt,
)
from telegrambot.broadcast.journal import Outcome
from telegrambot.failures import UNREACHABLE, Evidence, Failure, Reason

PACE = Pace(attempts_max=3, wait_s_max=60.0)


def failure(reason: Reason, retry_after_s: float | None = None, moved_to: int | None = None) -> Failure:
    return Failure(
        method="sendMessage",
        reason=reason,
        evidence=Evidence.NOTHING,
        retry_after_s=retry_after_s,
        migrate_to_chat_id=moved_to,
    )


def test_an_attempt_that_did_not_fail_is_a_delivery() -> None:
    assert after_attempt(None, 1, PACE) == Done(Outcome.DELIVERED)


@pytest.mark.parametrize("reason", sorted(UNREACHABLE))
def test_who_cannot_be_written_to_at_all_is_unreachable(reason: Reason) -> None:
    assert after_attempt(failure(reason), 1, PACE) == Done(Outcome.UNREACHABLE, reason)


@pytest.mark.parametrize(
    ("met", "attempt", "decision"),
    [
        pytest.param(
            failure(Reason.NO_ANSWER), 1, Done(Outcome.UNCERTAIN, Reason.NO_ANSWER), id="no answer: it may be there"
        ),
        pytest.param(failure(Reason.MESSAGE_INVALID), 1, Halt(HaltCause.MESSAGE_REFUSED), id="nobody can be sent it"),
        pytest.param(failure(Reason.UNAUTHORIZED), 1, Halt(HaltCause.UNAUTHORIZED), id="no token any more"),
        pytest.param(failure(Reason.MIGRATED, moved_to=-1005), 1, SendToNewId(-1005), id="moved"),
        pytest.param(
            failure(Reason.MIGRATED), 1, Done(Outcome.FAILED, Reason.MIGRATED), id="moved, and nobody says where"
        ),
        pytest.param(failure(Reason.RATE_LIMITED, 0.0), 1, Wait(0.0), id="a limit that is over"),
        pytest.param(failure(Reason.RATE_LIMITED, 60.0), 1, Wait(60.0), id="a limit as long as a run waits"),
        pytest.param(failure(Reason.RATE_LIMITED, 60.5), 1, Halt(HaltCause.RATE_LIMITED), id="a longer limit"),
        pytest.param(failure(Reason.RATE_LIMITED, 1.0), 3, Halt(HaltCause.RATE_LIMITED), id="a limit again and again"),
        pytest.param(failure(Reason.RATE_LIMITED), 2, Wait(2.0), id="a limit that says not how long"),
        pytest.param(failure(Reason.SERVER_ERROR), 1, Wait(1.0), id="a server's fault"),
        pytest.param(failure(Reason.SERVER_ERROR), 2, Wait(2.0), id="a server's fault again"),
        pytest.param(
            failure(Reason.SERVER_ERROR),
            3,
            Done(Outcome.FAILED, Reason.SERVER_ERROR),
            id="a server's fault at the last attempt",
        ),
        pytest.param(failure(Reason.NOT_DISPATCHED), 1, Wait(1.0), id="never left"),
        pytest.param(
            failure(Reason.NOT_DISPATCHED),
            3,
            Halt(HaltCause.UNREACHED),
            id="never left at the last attempt",
        ),
        pytest.param(
            failure(Reason.FORBIDDEN_IN_CHAT), 1, Done(Outcome.FAILED, Reason.FORBIDDEN_IN_CHAT), id="not allowed there"
        ),
        pytest.param(
            failure(Reason.THREAD_NOT_FOUND), 1, Done(Outcome.FAILED, Reason.THREAD_NOT_FOUND), id="no such topic"
        ),
        pytest.param(failure(Reason.UNKNOWN), 1, Doubt(failure(Reason.UNKNOWN)), id="a refusal that nobody knows"),
        pytest.param(failure(Reason.INTERCEPTED), 1, Halt(HaltCause.INTERCEPTED), id="something in between"),
    ],
)
def test_a_failed_attempt_leads_to(met: Failure, attempt: int, decision: Decision) -> None:
    assert after_attempt(met, attempt, PACE) == decision


def test_pauses_double_up_to_a_minute() -> None:
    patient = Pace(attempts_max=100)
    waits = [after_attempt(failure(Reason.SERVER_ERROR), attempt, patient) for attempt in (1, 2, 6, 7, 99)]
    assert waits == [Wait(1.0), Wait(2.0), Wait(32.0), Wait(60.0), Wait(60.0)]


@pytest.mark.parametrize("attempts_max", [0, 101])
def test_a_recipient_is_tried_1_to_100_times(attempts_max: int) -> None:
    with pytest.raises(ValueError, match="1 to 100"):
        Pace(attempts_max=attempts_max)


@pytest.mark.parametrize("sends_per_s", [0.0, -1.0, float("inf"), float("nan")])
def test_a_pace_is_a_number_above_0(sends_per_s: float) -> None:
    with pytest.raises(ValueError, match="more than nothing"):
        Pace(sends_per_s=sends_per_s)
