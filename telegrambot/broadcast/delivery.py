"""What an attempt to write to one recipient leads to: it is done with, tried again, or the whole broadcast halts; pure."""

import math
from dataclasses import dataclass
from enum import StrEnum

from telegrambot.broadcast.journal import Outcome
from telegrambot.endings import pause_s
from telegrambot.failures import Failure, Reason

PAUSE_MAX_S = 60.0


class HaltCause(StrEnum):
    """Why a broadcast does not go on by itself."""

    MESSAGE_REFUSED = "message-refused"
    """Nobody can be sent this message; the recipients at whom that showed get it when it is mended."""
    UNAUTHORIZED = "unauthorized"
    """The token is none any more; nobody was charged for it."""
    RATE_LIMITED = "rate-limited"
    """Telegram wants more quiet than a run waits out; the recipient is still to be written to."""
    UNREACHED = "unreached"
    """Telegram cannot be reached: that is no recipient's fault, and none is charged for it."""
    INTERCEPTED = "intercepted"
    """Something between us and Telegram refuses the calls; nobody was charged for it."""
    UNCERTAIN = "uncertain"
    """Nobody knows whether the last recipient got the message, and the next one could go the same way."""
    LOCK_LOST = "lock-lost"
    """Somebody removed the lock's file: another runner may have begun."""


@dataclass(frozen=True, slots=True)
class Done:
    """The recipient is done with; after an uncertain one, the broadcast halts."""

    outcome: Outcome
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The same recipient again, after exactly so many seconds or more."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SendToNewId:
    """The same recipient again, by the number that the chat has now."""

    chat_id: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """Telegram refused for a reason that we do not know: whether it is the recipient's shows at the others."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Halt:
    """The broadcast ends here, and the recipient is still to be written to."""

    cause: HaltCause


Decision = Done | Wait | SendToNewId | Doubt | Halt


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a broadcast goes, and how long it keeps at one recipient."""

    sends_per_s: float = 25.0
    """Repeated ones included; Telegram takes some 30."""
    attempts_max: int = 5
    wait_s_max: float = 60.0
    """What Telegram may ask for; it is waited out as asked, or not at all."""

    def __post_init__(self) -> None:
        if not 0 < self.sends_per_s < math.inf:
            raise ValueError("a broadcast sends more than nothing a second")
        if not 1 <= self.attempts_max <= 100:
            raise ValueError("a recipient is tried 1 to 100 times")


def after_attempt(failure: Failure | None, attempt: int, pace: Pace) -> Decision:
    """What an attempt leads to: `failure` None is a delivery, the first attempt is 1."""
    if failure is None:
        return Done(Outcome.DELIVERED)
    if failure.recipient_unreachable:
        return Done(Outcome.UNREACHABLE, failure.reason)
    is_last = attempt >= pace.attempts_max
    match failure.reason:
        case Reason.NO_ANSWER:
            return Done(Outcome.UNCERTAIN, failure.reason)
        case Reason.MESSAGE_INVALID:
            return Halt(HaltCause.MESSAGE_REFUSED)
        case Reason.UNAUTHORIZED:
            return Halt(HaltCause.UNAUTHORIZED)
        case Reason.INTERCEPTED:
            return Halt(HaltCause.INTERCEPTED)
        case Reason.UNKNOWN:
            return Doubt(failure)
        case Reason.MIGRATED if failure.migrate_to_chat_id is not None:
            return SendToNewId(failure.migrate_to_chat_id)
        case Reason.RATE_LIMITED:
            # It is the bot that is too fast: no recipient is charged for that.
            wait_s = pause_s(attempt, PAUSE_MAX_S) if failure.retry_after_s is None else failure.retry_after_s
            return Halt(HaltCause.RATE_LIMITED) if is_last or wait_s > pace.wait_s_max else Wait(wait_s)
        case _ if failure.retryable and not is_last:
            return Wait(pause_s(attempt, PAUSE_MAX_S))
        case Reason.NOT_DISPATCHED:
            return Halt(HaltCause.UNREACHED)
        case _:
            return Done(Outcome.FAILED, failure.reason)
