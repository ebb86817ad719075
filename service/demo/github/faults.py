"""Troubles that the stand-in makes on request: which request meets which, and how often."""

import fnmatch
import threading
from dataclasses import dataclass, replace
from enum import StrEnum

from service.demo.github.failures import Failure


class Trouble(StrEnum):
    """What goes wrong with a request; those named commit_… do their work first."""

    ERROR = "error"
    """500, nothing done."""
    BAD_GATEWAY = "bad_gateway"
    """502, nothing done."""
    SECONDARY_LIMIT = "secondary_limit"
    """403 with `Retry-After`, nothing done."""
    PRIMARY_LIMIT = "primary_limit"
    """403 with no request remaining until `seconds` from now, nothing done."""
    TOO_MANY_REQUESTS = "too_many_requests"
    """429 with `Retry-After`, nothing done."""
    UNAUTHORIZED = "unauthorized"
    """401, as for a token taken back."""
    FORBIDDEN = "forbidden"
    """403, as for a right taken back."""
    NOT_FOUND = "not_found"
    """404."""
    GONE = "gone"
    """410."""
    LOCKED = "locked"
    """403, the thread is locked."""
    RESET = "reset"
    """The connection is reset, nothing done."""
    SLOW = "slow"
    """Everything is right, `seconds` later."""
    COMMIT_THEN_ERROR = "commit_then_error"
    """Done, and answered by 500."""
    COMMIT_THEN_BAD_GATEWAY = "commit_then_bad_gateway"
    """Done, and answered by 502."""
    COMMIT_THEN_RESET = "commit_then_reset"
    """Done, and the connection is reset."""
    COMMIT_THEN_HANG = "commit_then_hang"
    """Done, and no answer for `seconds`; then the connection is closed."""
    LATE_LISTING = "late_listing"
    """A comment written now is missing from listings for `seconds` of the stand-in's clock."""


AFTER_COMMIT = frozenset(
    {
        Trouble.COMMIT_THEN_ERROR,
        Trouble.COMMIT_THEN_BAD_GATEWAY,
        Trouble.COMMIT_THEN_RESET,
        Trouble.COMMIT_THEN_HANG,
    }
)

REFUSALS: dict[Trouble, tuple[int, str]] = {
    Trouble.ERROR: (500, "Server Error"),
    Trouble.BAD_GATEWAY: (502, "Server Error"),
    Trouble.SECONDARY_LIMIT: (
        403,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    ),
    Trouble.PRIMARY_LIMIT: (403, "API rate limit exceeded for user."),
    Trouble.TOO_MANY_REQUESTS: (429, "Too Many Requests"),
    Trouble.UNAUTHORIZED: (401, "Bad credentials"),
    Trouble.FORBIDDEN: (403, "Resource not accessible by personal access token"),
    Trouble.NOT_FOUND: (404, "Not Found"),
    Trouble.GONE: (410, "Gone"),
    Trouble.LOCKED: (403, "Unable to create comment because issue is locked."),
    Trouble.COMMIT_THEN_ERROR: (500, "Server Error"),
    Trouble.COMMIT_THEN_BAD_GATEWAY: (502, "Server Error"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Which requests meet a trouble.

    `method` and `path` are shell patterns over the method and the path in its `/repos/owner/name/…` form, without the
    query; `page`: only this page of a listing, None: any; `times`: so often, None: always; `seconds`: how long.
    """

    trouble: Trouble
    method: str = "*"
    path: str = "*"
    page: int | None = None
    times: int | None = 1
    seconds: float = 0.0

    def meets(self, method: str, path: str, page: int) -> bool:
        return (
            self.trouble is not Trouble.LATE_LISTING
            and fnmatch.fnmatchcase(method, self.method)
            and fnmatch.fnmatchcase(path.lower(), self.path.lower())
            and self.page in (None, page)
        )

    def refusal(self, now_epoch_s: int) -> Failure | None:
        """The answer that this trouble gives instead of the right one; None where it gives none."""
        if self.trouble not in REFUSALS:
            return None
        status, message = REFUSALS[self.trouble]
        headers: dict[str, str] = {}
        if self.trouble in (Trouble.SECONDARY_LIMIT, Trouble.TOO_MANY_REQUESTS):
            headers["Retry-After"] = str(int(self.seconds))
        if self.trouble is Trouble.PRIMARY_LIMIT:
            headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(now_epoch_s + int(self.seconds))}
        return Failure(status, message, headers)


class FaultBook:
    """The faults that are in force; the earliest that meets a request takes it and is used up once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def in_force(self) -> list[Fault]:
        """The faults that are not used up, with the times that are left."""
        with self._lock:
            return list(self._faults)

    def take(self, method: str, path: str, page: int) -> Fault | None:
        """The fault that this request meets, or None; it is used up by one."""
        with self._lock:
            for index, fault in enumerate(self._faults):
                if fault.meets(method, path, page):
                    return self._use(index)
        return None

    def late_by_s(self) -> float:
        """For how many seconds the comment written now stays out of listings; uses the fault up by one."""
        with self._lock:
            for index, fault in enumerate(self._faults):
                if fault.trouble is Trouble.LATE_LISTING:
                    return self._use(index).seconds
        return 0.0

    def _use(self, index: int) -> Fault:
        fault = self._faults[index]
        if fault.times is not None:
            if fault.times <= 1:
                del self._faults[index]
            else:
                self._faults[index] = replace(fault, times=fault.times - 1)
        return fault
