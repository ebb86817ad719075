"""A one-way switch that threads and callbacks can wait for, and the cancel token made of it."""

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from service.lifecycle.clock import Clock

Value = TypeVar("Value")
Unsubscribe = Callable[[], None]


class Latch(Generic[Value]):
    """Unset until the first `set`, then set for ever with that first value. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: list[Value] = []
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def is_set(self) -> bool:
        return bool(self._values)

    @property
    def value(self) -> Value | None:
        """What the first `set` brought; None while unset."""
        return self._values[0] if self._values else None

    def set(self, value: Value) -> bool:
        """Set the latch and run its callbacks in this thread; True for the call that did it, else False."""
        with self._lock:
            if self._values:
                return False
            self._values.append(value)
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()
        return True

    def on_set(self, callback: Callable[[], None]) -> Unsubscribe:
        """Have `callback` run once when the latch is set, or now if it is; it must be quick and must not raise.

        The returned function takes the callback back and may be called any number of times.
        """
        handle = object()
        with self._lock:
            if not self._values:
                self._callbacks[handle] = callback
                return lambda: self._forget(handle)
        callback()
        return lambda: None

    def _forget(self, handle: object) -> None:
        with self._lock:
            self._callbacks.pop(handle, None)


class Cancelled(Exception):
    """A wait or a call was given up because its cancel token was cancelled without a more exact reason."""


class CancelToken(Latch[Exception]):
    """Tells whoever holds it that its caller no longer wants the answer; the reason is the exception to raise."""

    def cancel(self, reason: Exception | None = None) -> bool:
        """Cancel with `reason` (None: a plain `Cancelled`); later calls change nothing and return False."""
        return self.set(reason or Cancelled("cancelled"))

    @property
    def cancelled(self) -> bool:
        return self.is_set

    def raise_if_cancelled(self) -> None:
        """Raise the very exception the token was cancelled with."""
        if (reason := self.value) is not None:
            raise reason


def wait_for_any(latches: Iterable[Latch[Any]], *, deadline: float, clock: Clock) -> bool:
    """Wait until one of `latches` is set (True) or the clock reaches `deadline` (False)."""
    watched = tuple(latches)
    condition = threading.Condition()

    def wake() -> None:
        with condition:
            condition.notify_all()

    unsubscribes = [latch.on_set(wake) for latch in watched]
    try:
        with condition:
            while not any(latch.is_set for latch in watched):
                if clock.monotonic() >= deadline:
                    return False
                clock.wait(condition, deadline)
        return True
    finally:
        for unsubscribe in unsubscribes:
            unsubscribe()
