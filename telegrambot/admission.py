"""What the poller asks of its application: may new work be fetched now, and a lease for as long as it is under way."""

from typing import Protocol


class Lease(Protocol):
    """One piece of admitted work."""

    def release(self) -> None:
        """Say that it has ended. Safe to repeat."""


class AdmissionEnded(Exception):
    """The application takes no new work any more, and never will."""


class Admission(Protocol):
    """The application's."""

    async def acquire_when_accepting(self) -> Lease:
        """Wait until new work is taken, and return exactly one lease; cancelled while it waits, it holds none.

        Raises AdmissionEnded, also at once, where the wait would have no end.
        """


class OpenAdmission:
    """For a bot that takes work for as long as it runs."""

    __slots__ = ("pending",)

    def __init__(self) -> None:
        self.pending = 0
        """Leases that are held."""

    async def acquire_when_accepting(self) -> Lease:
        self.pending += 1
        return _Counted(self)


class _Counted:
    __slots__ = ("_of",)

    def __init__(self, of: OpenAdmission) -> None:
        self._of: OpenAdmission | None = of

    def release(self) -> None:
        if self._of is not None:
            self._of.pending -= 1
            self._of = None
