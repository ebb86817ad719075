"""Signals: the first press begins the shutdown, the second gives up its grace, the third ends the process.

Python runs a signal handler in the main thread, between any two steps of it and with whatever locks it holds, and only
when that thread gets a turn: a signal that the kernel gave to another thread does not wake a main thread that waits.
So a thread of ours reads the signals from the interpreter's wake-up descriptor, which is written at the moment they
arrive, and calls the application. Only the last press needs the main thread, for dispositions can be set there alone.
"""

import contextlib
import logging
import signal
import socket
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
    """Takes the stop signals over, from `bind` to `close`; use it as a `with` block around start and service."""

    def __init__(
        self,
        *,
        clock: Clock,
        on_shutdown: Callable[[], object],
        on_abort_grace: Callable[[], object],
        signals: tuple[signal.Signals, ...] = STOP_SIGNALS,
    ) -> None:
        """Each callback is called at most once, in a thread of its own; the second perhaps before the first is through."""
        self._clock = clock
        self._callbacks = {Press.SHUTDOWN: on_shutdown, Press.ABORT_GRACE: on_abort_grace}
        self._signals = signals
        self._closing = contextlib.ExitStack()
        self._main_thread_id = 0
        self._last_signal: int | None = None

    def bind(self) -> None:
        """Take the signals over; call it once, in the main thread, before anything is started."""
        self._main_thread_id = threading.get_ident()
        reading, writing = socket.socketpair()
        writing.setblocking(False)
        reader = threading.Thread(target=self._read, args=(reading,), name="signals", daemon=True)
        reader.start()
        # Undone from the last to the first: the thread ends when the descriptor it reads from is closed at its far end.
        self._closing.callback(reader.join, timeout=1.0)
        self._closing.callback(writing.close)
        previous_descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        self._closing.callback(signal.set_wakeup_fd, previous_descriptor)
        for number in self._signals:
            previous = signal.signal(number, self._handle)
            self._closing.callback(signal.signal, number, signal.SIG_DFL if previous is None else previous)

    def close(self) -> None:
        """Give the signals back to whoever had them and end the thread. Main thread only; safe to repeat."""
        self._closing.close()

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
        """What the main thread does of a signal: nothing, until it was pressed for the last time."""
        if self._last_signal is not None:
            signal.signal(self._last_signal, signal.SIG_DFL)
            signal.raise_signal(self._last_signal)

    def _read(self, reading: socket.socket) -> None:
        presses = Presses()
        with reading:
            # The one wait without a deadline: it ends with the binding, and a daemon holds up nothing.
            while numbers := reading.recv(64):
                for number in numbers:
                    if number in self._signals:
                        presses, kind = press(presses, self._clock.monotonic())
                        self._carry_out(kind, number)

    def _carry_out(self, kind: Press, number: int) -> None:
        """Act on a press; what is called gets a thread of its own, for the next press must be heard if it hangs."""
        if kind is Press.SAME:
            return
        if kind is Press.END_PROCESS:
            self._last_signal = number
            signal.pthread_kill(self._main_thread_id, number)
            return
        threading.Thread(target=self._call, args=(kind,), name=f"signal-{kind.value}", daemon=True).start()

    def _call(self, kind: Press) -> None:
        try:
            self._callbacks[kind]()
        except Exception:
            logger.exception("what a signal asked for failed")
