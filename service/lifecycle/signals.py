"""Signals: the first press begins the shutdown, the second gives up its grace, the third ends the process.

Python runs a signal handler in the main thread between any two steps of it, locks held. The handler therefore only
counts and puts the press on a queue that is safe to use there; a thread of ours calls the application. Only the last
press is carried out in the handler itself: dispositions can be set in the main thread alone.
"""

import logging
import queue
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import FrameType, TracebackType

from service.lifecycle.clock import Clock

logger = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
TURN_S = 0.05
"""Signals within this time of the one that opened a turn are the same press: a terminal and a wrapper script often
send one each. It counts from the first, so that a stream of signals is many presses and not one."""


class Press(Enum):
    """What one signal amounts to."""

    SAME = "same"
    """Another signal of the same press."""
    SHUTDOWN = "shutdown"
    ABORT_GRACE = "abort-grace"
    END_PROCESS = "end-process"


@dataclass(frozen=True, slots=True)
class Presses:
    """How often was pressed, and the clock's reading at which the last press began; None before the first."""

    count: int = 0
    turn_began_at: float | None = None


def press(presses: Presses, now: float) -> tuple[Presses, Press]:
    """Count one signal that arrives at `now`."""
    if presses.turn_began_at is not None and now - presses.turn_began_at < TURN_S:
        return presses, Press.SAME
    kinds = (Press.SHUTDOWN, Press.ABORT_GRACE)
    kind = kinds[presses.count] if presses.count < len(kinds) else Press.END_PROCESS
    return Presses(presses.count + 1, now), kind


class SignalBinding:
    """Handlers for the stop signals, from `bind` to `close`; use it as a `with` block around start and service."""

    def __init__(
        self,
        *,
        clock: Clock,
        on_shutdown: Callable[[], object],
        on_abort_grace: Callable[[], object],
        signals: tuple[signal.Signals, ...] = STOP_SIGNALS,
    ) -> None:
        """The callbacks run in a thread of the binding, one at a time, in the order of the presses."""
        self._clock = clock
        self._callbacks = {Press.SHUTDOWN: on_shutdown, Press.ABORT_GRACE: on_abort_grace}
        self._signals = signals
        self._presses = Presses()
        # The one queue of the standard library whose `put` may interrupt itself.
        self._queue: queue.SimpleQueue[Press | None] = queue.SimpleQueue()
        self._previous: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}
        self._thread = threading.Thread(target=self._call_back, name="signals", daemon=True)

    def bind(self) -> None:
        """Take the signals over; call it once, in the main thread, before anything is started."""
        self._thread.start()
        for number in self._signals:
            self._previous[number] = signal.signal(number, self._handle)

    def close(self) -> None:
        """Give the signals back to whoever had them and end the thread. Main thread only; safe to repeat."""
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(timeout=1.0)

    def __enter__(self) -> "SignalBinding":
        self.bind()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._presses, kind = press(self._presses, self._clock.monotonic())
        if kind is Press.END_PROCESS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        elif kind is not Press.SAME:
            self._queue.put(kind)

    def _call_back(self) -> None:
        # The one wait without a deadline: its end is the end of the binding, and a daemon holds up nothing.
        while (kind := self._queue.get()) is not None:
            try:
                self._callbacks[kind]()
            except Exception:  # a first press that fails must not make the second one deaf
                logger.exception("what a signal asked for failed")
