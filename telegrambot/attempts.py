"""What becomes of an update after an attempt to handle it: it is finished, tried again later, or given up; pure."""

from dataclasses import dataclass

from telegrambot.failures import UNREACHABLE, Failure, Reason, failure_in
from telegrambot.masking import Masker

ATTEMPTS_MAX = 5
LEASE_S = 120.0
"""How long a claim holds without being renewed: after that whoever made it counts as dead."""
KEPT_S = 24 * 3600.0
"""How long what is finished is remembered: as long as Telegram may bring the same update again."""
PAUSE_FIRST_S = 5.0
PAUSE_MAX_S = 15 * 60.0
WHY_CHARACTERS_MAX = 500

PERMANENT = UNREACHABLE | {Reason.MESSAGE_INVALID, Reason.FORBIDDEN_IN_CHAT, Reason.THREAD_NOT_FOUND}
"""What the same handling would meet again, however often it is repeated."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The update was handled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Handling failed, and is tried again after so many seconds; `why` is bounded and shows no token."""

    why: str
    retry_in_s: float


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Handling failed and is not tried again; `why` is bounded and shows no token."""

    why: str


Settlement = Completed | Failed | Abandoned


def after_error(error: BaseException, attempt: int) -> Failed | Abandoned:
    """What the error of an attempt leads to; the first attempt is 1."""
    failure, why = failure_in(error), _words(error)
    if attempt >= ATTEMPTS_MAX or (failure is not None and failure.reason in PERMANENT):
        return Abandoned(why)
    return Failed(why=why, retry_in_s=_pause_s(failure, attempt))


def _pause_s(failure: Failure | None, attempt: int) -> float:
    """Exactly what Telegram asks for, however long; else 5, 20, 80, 320 s."""
    if failure is not None and failure.retry_after_s is not None:
        return failure.retry_after_s
    return min(PAUSE_FIRST_S * 4.0 ** (attempt - 1), PAUSE_MAX_S)


def _words(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:  # an error of the application's that cannot even say what it is
        said = "says nothing of itself"
    # Half a surrogate pair is no text that a store could take.
    readable = f"{type(error).__name__}: {said}".encode("utf-8", "replace").decode()
    return Masker().mask(readable)[:WHY_CHARACTERS_MAX]
