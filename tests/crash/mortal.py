"""Ports that count their calls, and end the process at a point."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sessions.hosted import HostedRecords, HostedSession
from tests.crash.points import CALLS, Point, When

OPENED = {HostedSession: "live", HostedRecords: "records"}
"""Ports that other ports hand out."""


class Mortality:
    """Counts calls, writes each into a file before it is made, and dies at the point (None: never)."""

    def __init__(self, point: Point | None, trace: Path) -> None:
        self._point = point
        self._trace = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def through(self, call: str, body: Callable[[], Any]) -> Any:
        """Make a call, unless this is where the process ends."""
        with self._lock:
            self._counts[call] += 1
            nth = self._counts[call]
            os.write(self._trace, f"{call}\n".encode())
        self._die_at(call, nth, When.BEFORE)
        try:
            return body()
        finally:
            self._die_at(call, nth, When.AFTER)

    def _die_at(self, call: str, nth: int, when: When) -> None:
        if self._point == Point(call=call, nth=nth, when=when):
            os.kill(os.getpid(), signal.SIGKILL)


class MortalPort:
    """A port whose calls go through a mortality; everything else is the port's own."""

    def __init__(self, inner: object, name: str, mortality: Mortality) -> None:
        self._inner = inner
        self._name = name
        self._mortality = mortality

    def __getattr__(self, name: str) -> Any:
        own, call = getattr(self._inner, name), f"{self._name}.{name}"
        return partial(self._call, call, own) if call in CALLS else own

    def _call(self, call: str, own: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        made = partial(own, *arguments, **named)
        if call == "records.next":
            # Waiting in vain is no call: how often that happens depends on the machine.
            record = made()
            return record if record is None else self._mortality.through(call, lambda: record)
        result = self._mortality.through(call, made)
        opened = OPENED.get(type(result))
        return MortalPort(result, opened, self._mortality) if opened else result
