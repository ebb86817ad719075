"""The stand-in's clock, and the one lock under which it changes and wakes those who wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""


class Clock:
    """Seconds since 1970. It runs, or stands still at the time it is given; both can be moved forward by hand."""

    def __init__(self, stands_at_s: float | None = None) -> None:
        self._stands_at_s = stands_at_s
        self._moved_s = 0.0

    def now_s(self) -> float:
        return (time.time() if self._stands_at_s is None else self._stands_at_s) + self._moved_s

    def move(self, by_s: float) -> None:
        self._moved_s += by_s

    def real_s_until(self, at_s: float | None) -> float | None:
        """How long this moment is off in real seconds; None: it does not come by itself."""
        if at_s is None or self._stands_at_s is not None:
            return None
        return max(0.0, at_s - self.now_s())


class Gate:
    """Enter it to look at the stand-in's state or to change it; leaving it wakes all who wait. It can be entered twice."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_closing = False
        self._condition = threading.Condition(threading.RLock())

    def wait_until(self, is_so: Callable[[], bool], at_s: float | None = None) -> bool:
        """Wait for a fact, at longest until a moment by the stand-in's clock or until it closes; whether it is so."""
        with self._condition:
            while not (self.is_closing or is_so()):
                if at_s is not None and self.clock.now_s() >= at_s:
                    return False
                self._condition.wait(self.clock.real_s_until(at_s))
            return is_so()

    def expect(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for a fact that a test counts on; fails when it is not so in time."""
        with self._condition:
            self._condition.wait_for(lambda: self.is_closing or is_so(), LIMIT_S)
            assert is_so(), f"waited in vain for {what}"

    def wake(self) -> None:
        """Let those who wait look again; for those inside."""
        self._condition.notify_all()

    def __enter__(self) -> None:
        self._condition.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wake()
        self._condition.release()
