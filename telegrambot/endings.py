"""What a poller does after a poll that failed: how long it waits, or that it ends; pure."""

from dataclasses import dataclass
from enum import StrEnum

from telegrambot.failures import Failure, Reason

CONFLICT_WINDOW_S = 60.0
"""How long after the last answer somebody else may ask for the same updates: a former process's long poll lingers so long."""
CONFLICT_PAUSE_MAX_S = 8.0
PAUSE_MAX_S = 30.0
UNANSWERED_MAX = 3
"""As many deadlines in a row without any answer, and the poller is deaf, whatever it believes of its connection."""


class Cause(StrEnum):
    """Why a poller ended."""

    STOPPED = "stopped"
    """It was asked to."""
    UNAUTHORIZED = "unauthorized"
    """The token is none any more."""
    CONFLICT = "conflict"
    """Somebody else asks for the updates of this bot, and does not leave off."""
    WEBHOOK = "webhook"
    """A webhook is set: either it is removed, or updates are taken by it."""
    DEAF = "deaf"
    """For a long time no poll has got any answer."""
    FAULT = "fault"
    """The poller itself failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a poller ended; `failure` is Telegram's, `error` the poller's own."""

    cause: Cause
    failure: Failure | None = None
    error: BaseException | None = None

    def __str__(self) -> str:
        detail = self.failure or self.error
        return f"{self.cause}: {detail}" if detail else str(self.cause)


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The failures since the last good answer; readings are of one monotonic clock, in seconds."""

    well_at: float
    """When updates were last answered, or when polling began."""
    failures: int = 0
    unanswered_since: float | None = None
    """When the first poll of the present run without any answer was sent; None: the last one was answered."""


def after_failure(
    trouble: Trouble, failure: Failure, *, asked_at: float, now: float, deadline_s: float
) -> tuple[Trouble, Wait | Cause]:
    """What a poll that was sent at `asked_at` and failed now leads to; `deadline_s` is what one poll may take at most."""
    answered = failure.reason not in (Reason.NOT_DISPATCHED, Reason.NO_ANSWER, Reason.INTERCEPTED)
    since = None if answered else (asked_at if trouble.unanswered_since is None else trouble.unanswered_since)
    met = Trouble(well_at=trouble.well_at, failures=trouble.failures + 1, unanswered_since=since)
    return met, _next(met, failure, now=now, deadline_s=deadline_s)


def _next(met: Trouble, failure: Failure, *, now: float, deadline_s: float) -> Wait | Cause:
    match failure.reason:
        case Reason.UNAUTHORIZED:
            return Cause.UNAUTHORIZED
        case Reason.WEBHOOK_ACTIVE:
            return Cause.WEBHOOK
        case Reason.CONFLICT if now - met.well_at >= CONFLICT_WINDOW_S:
            return Cause.CONFLICT
        case Reason.CONFLICT:
            return Wait(min(pause_s(met.failures), CONFLICT_PAUSE_MAX_S))
        case _ if met.unanswered_since is not None and now - met.unanswered_since >= UNANSWERED_MAX * deadline_s:
            return Cause.DEAF
        case _:
            return Wait(failure.retry_after_s if failure.retry_after_s is not None else pause_s(met.failures))


def pause_s(failures: int, longest_s: float = PAUSE_MAX_S) -> float:
    """Seconds before the next try after so many failures in a row: 1, 2, 4 … and no longer than that."""
    return min(2.0 ** min(failures - 1, 10), longest_s)
