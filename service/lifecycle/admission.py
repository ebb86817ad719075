"""Admission: whether the service takes new work now, and the leases that count the work it took."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken


class AdmissionClosed(Exception):
    """The service will never take new work again: it is stopping, stopped or failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCounts:
    """Leases given out, leases not yet released, leases released; `accepted == pending + completed`."""

    accepted: int
    pending: int
    completed: int


class Lease:
    """One piece of admitted work; released once, by `release` or by leaving its `with` block."""

    __slots__ = ("_give_back",)

    def __init__(self, give_back: "Callable[[Lease], None]") -> None:
        self._give_back = give_back

    def release(self) -> None:
        """Say that the work has ended. Safe to repeat and from any thread: only the first call counts."""
        self._give_back(self)

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class Admission(Protocol):
    """What a resource sees of admission: it asks, it waits, it counts; it neither opens nor closes."""

    @property
    def accepting(self) -> bool:
        """Whether `acquire` would give a lease at this moment."""

    def acquire(self) -> Lease | None:
        """A lease, or None while new work is not taken. Never blocks."""

    def acquire_when_accepting(self, cancel: CancelToken, timeout_s: float) -> Lease | None:
        """Block until exactly one lease is ours; None when `timeout_s` passed first.

        Raises the token's own reason once `cancel` is cancelled, else `AdmissionClosed` once admission is closed;
        both also at once, for a call made afterwards.
        """

    async def acquire_when_accepting_async(self, cancel: CancelToken, timeout_s: float) -> Lease | None:
        """The same for a coroutine, without polling; the timeout runs on the event loop's own clock.

        Await it directly: a lease that a cancelled wrapper task received and dropped is nobody's to release.
        """

    def counts(self) -> AdmissionCounts:
        """The counters, read together."""


class AdmissionGate:
    """The one `Admission` of an application, with the owner's side: `set_accepting`, `close`, `wait_until_idle`.

    A waiter tries again in its own thread or task, never inside the notification that woke it: the thread that
    publishes only rings. Open leases are a set, so that no order of releases can make the counters drift.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._accepting = False
        self._closed = False
        self._accepted = 0
        self._open_leases: set[Lease] = set()
        self._bells: dict[object, Callable[[], None]] = {}

    @property
    def accepting(self) -> bool:
        with self._changed:
            return self._accepting

    def counts(self) -> AdmissionCounts:
        with self._changed:
            pending = len(self._open_leases)
            return AdmissionCounts(accepted=self._accepted, pending=pending, completed=self._accepted - pending)

    def acquire(self) -> Lease | None:
        with self._changed:
            if not self._accepting:
                return None
            lease = Lease(self._give_back)
            self._open_leases.add(lease)
            self._accepted += 1
            return lease

    def acquire_when_accepting(self, cancel: CancelToken, timeout_s: float) -> Lease | None:
        deadline = self._clock.monotonic() + timeout_s
        with self._rung_by(cancel, self._wake_threads), self._changed:
            while (lease := self._try(cancel)) is None:
                if self._clock.monotonic() >= deadline:
                    return None
                self._clock.wait(self._changed, deadline)
            return lease

    async def acquire_when_accepting_async(self, cancel: CancelToken, timeout_s: float) -> Lease | None:
        loop = asyncio.get_running_loop()
        rung = asyncio.Event()

        def ring() -> None:
            # A bell may ring once more while its waiter leaves; a loop that is closed by then has no one to wake.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(rung.set)

        deadline = loop.time() + timeout_s
        with self._bell(ring), self._rung_by(cancel, ring):
            while True:
                # Cleared before the attempt: a change that the attempt does not see rings after it.
                rung.clear()
                if (lease := self._try(cancel)) is not None:
                    return lease
                try:
                    async with asyncio.timeout_at(deadline):
                        await rung.wait()
                except TimeoutError:
                    return None

    def set_accepting(self, accepting: bool) -> None:
        """Open or shut admission for now. The value it has already, and any value after `close`, change nothing."""
        with self._changed:
            if self._closed or accepting == self._accepting:
                return
            self._accepting = accepting
        self._ring_all()

    def close(self) -> None:
        """Shut admission for ever and turn every waiter away; leases given out stay good. Safe to repeat."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._accepting = False
        self._ring_all()

    def wait_until_idle(self, cancel: CancelToken, deadline: float) -> bool:
        """Block until no lease is open: True; False when `cancel` or the clock's `deadline` came first."""
        with self._rung_by(cancel, self._wake_threads), self._changed:
            while self._open_leases:
                if cancel.cancelled or self._clock.monotonic() >= deadline:
                    return False
                self._clock.wait(self._changed, deadline)
            return True

    def _try(self, cancel: CancelToken) -> Lease | None:
        """One attempt, judged in the order that the contract gives: cancelled, closed, then a lease or None."""
        cancel.raise_if_cancelled()
        with self._changed:
            if self._closed:
                raise AdmissionClosed("the service takes no new work any more")
            return self.acquire()

    def _give_back(self, lease: Lease) -> None:
        with self._changed:
            self._open_leases.discard(lease)
            if not self._open_leases:
                self._changed.notify_all()

    def _ring_all(self) -> None:
        self._wake_threads()
        with self._changed:
            bells = list(self._bells.values())
        for bell in bells:
            bell()

    def _wake_threads(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @contextlib.contextmanager
    def _bell(self, ring: Callable[[], None]) -> Iterator[None]:
        """Have `ring` called after every change of `accepting` or `closed` while the block runs."""
        handle = object()
        with self._changed:
            self._bells[handle] = ring
        try:
            yield
        finally:
            with self._changed:
                del self._bells[handle]

    @staticmethod
    @contextlib.contextmanager
    def _rung_by(cancel: CancelToken, ring: Callable[[], None]) -> Iterator[None]:
        """Have `ring` called when `cancel` is cancelled while the block runs."""
        unsubscribe = cancel.on_set(ring)
        try:
            yield
        finally:
            unsubscribe()
