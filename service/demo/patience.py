"""Waiting within bounds, ended early by a signal: every wait of the demo is one of these."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

LOOK_EVERY_S = 0.05
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Found = TypeVar("Found")


class Interrupted(Exception):
    """Somebody asked the demo to end."""


class Patience:
    """Waits for conditions; after a signal the next wait raises `Interrupted`, so that no act is cut in two."""

    def __init__(self) -> None:
        self.interrupted = False

    def wait(self, look: Callable[[], Found | None], timeout_s: float) -> Found | None:
        """The first thing that `look` returns, None where there is none in time. Raises Interrupted."""
        deadline_s = time.monotonic() + timeout_s
        while (found := look()) is None:
            if self.interrupted:
                raise Interrupted
            if time.monotonic() > deadline_s:
                return None
            time.sleep(LOOK_EVERY_S)
        return found

    @contextmanager
    def heeding_signals(self) -> Iterator[None]:
        """Within this, signals that would end the process are only noted. For the main thread."""
        before = {number: signal.signal(number, self._note) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, *_: object) -> None:
        self.interrupted = True
