"""Links to stand-in sessions: what a stand-in harness gives to whoever opens or reaches one."""

from __future__ import annotations

import threading
from typing import Protocol

from domain.model import TurnId
from sessions.host.protocol import HandState
from sessions.host.records import Recorded
from tests.fakes.manners import Host


class Hosts(Protocol):
    """What links need of the harness."""

    def hand(self, host: Host, turn_id: TurnId, text: str, timeout_s: float) -> HandState:
        """Hand a turn to a host."""

    def cancel(self, host: Host, turn_id: TurnId) -> None:
        """Ask for a turn's end."""

    def end(self, host: Host, reason: str) -> None:
        """Ask for a host's end."""

    def next_record(self, host: Host, offset: int, timeout_s: float, closed: threading.Event) -> Recorded | None:
        """Wait for a record."""

    def wake_all(self) -> None:
        """Let whoever waits look again."""


class StandInLive:
    """A link to a stand-in session."""

    def __init__(self, harness: Hosts, host: Host) -> None:
        self._harness = harness
        self._host = host

    def hand(self, turn_id: TurnId, text: str, timeout_s: float) -> HandState:
        """Hand a turn over."""
        return self._harness.hand(self._host, turn_id, text, timeout_s)

    def cancel(self, turn_id: TurnId) -> None:
        """Ask for the end of a turn."""
        self._harness.cancel(self._host, turn_id)

    def end(self, reason: str) -> None:
        """Ask for the end of the session."""
        self._harness.end(self._host, reason)

    def records(self, from_offset: int) -> StandInRecords:
        """Follow the session's journal."""
        return StandInRecords(self._harness, self._host, from_offset)

    def close(self) -> None:
        """Let go; the session stays."""


class StandInRecords:
    """A stand-in session's records as they come."""

    def __init__(self, harness: Hosts, host: Host, offset: int) -> None:
        self._harness = harness
        self._host = host
        self._offset = offset
        self._closed = threading.Event()
        self.is_asked = False
        """Whether its reader waits here, and is not busy with what it was given."""

    def next(self, timeout_s: float) -> Recorded | None:
        """The next record, None when none came in time."""
        self.is_asked = True
        try:
            record = self._harness.next_record(self._host, self._offset, timeout_s, self._closed)
        finally:
            self.is_asked = False
        if record is not None:
            self._offset = record.end_offset
        return record

    def close(self) -> None:
        """Stop reading."""
        self._closed.set()
        self._harness.wake_all()
