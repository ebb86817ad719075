"""The one writer of the event log: it never raises, never waits for a full disk, and counts what it could not write."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock

from eventlog.appending import AppendedFile, PartlyAppended
from eventlog.event import LogEvent
from eventlog.events.service import ServiceLogBuffered
from eventlog.held import HeldLines
from eventlog.line import LineFormat

logger = logging.getLogger(__name__)


class Journal:
    """Writes events to a file that other processes append to as well; safe to share by threads.

    `clock` gives the seconds since the epoch; `source` names the writing program in every line; `secrets` are values
    that no line shows. While the file cannot be written, lines are held in memory, within bounds, and come first when
    it can be written again.
    """

    __slots__ = ("_clock", "_file", "_format", "_held", "_lock", "_outage_held", "_outage_lost")

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        source: str,
        secrets: Iterable[str] = (),
        held: HeldLines | None = None,
    ) -> None:
        self._file = AppendedFile(path)
        self._clock = clock
        self._format = LineFormat(source, secrets)
        self._held = HeldLines() if held is None else held
        self._lock = Lock()
        self._outage_held = 0
        self._outage_lost = 0

    @property
    def held(self) -> int:
        """Lines that wait in memory for the file; 0 when all is well."""
        return len(self._held)

    @property
    def lost(self) -> int:
        """Lines that were dropped since this journal was made."""
        return self._held.lost

    def emit(self, event: LogEvent) -> None:
        """Write an event, or hold it; never raises."""
        self.emit_all((event,))

    def emit_all(self, events: Iterable[LogEvent]) -> None:
        """Write events in their order, by one write for all of them, or hold them; never raises."""
        lines = [line for event in events if (line := self._line(event)) is not None]
        try:
            trouble = self._write_or_hold(lines)
        except Exception:  # no fault of the log may end the work that it tells of
            logger.exception("%d events could not be written", len(lines))
            return
        if trouble is not None:
            logger.error("The event log cannot be written and is held in memory: %s", trouble)

    def flush(self) -> bool:
        """Try to write the held lines; says whether none is left."""
        with self._lock:
            return self._write_held() is None

    def close(self) -> None:
        """Try to write the held lines, then let go of the file; an event after that opens it again."""
        with self._lock:
            self._write_held()
            self._file.close()

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _line(self, event: LogEvent) -> bytes | None:
        try:
            return self._format.event(event, self._now_ms())
        except Exception:  # one event that cannot be shown must not keep the others from the log
            logger.exception("An event of type %s could not be written", getattr(event, "name", type(event)))
            return None

    def _write_or_hold(self, lines: list[bytes]) -> OSError | None:
        """The trouble, where these lines are the first to be held."""
        with self._lock:
            trouble = self._write_held() or self._append(b"".join(lines))
            if trouble is None:
                return None
            begins = not self._outage_held
            for line in lines[_lines_whole(trouble) :]:
                self._hold(line)
            return trouble if begins else None

    def _hold(self, line: bytes) -> None:
        if not self._outage_held:
            self._outage_lost = self._held.lost
        self._outage_held += 1
        self._held.hold(line)

    def _write_held(self) -> OSError | None:
        while self._held:
            trouble = self._append(self._held.first())
            if trouble is not None:
                return trouble
            self._held.drop_first()
        if not self._outage_held:
            return None
        lost = self._held.lost - self._outage_lost
        over = ServiceLogBuffered(held_lines=self._outage_held - lost, lost_lines=lost)
        trouble = self._append(self._format.event(over, self._now_ms()))
        if trouble is None:
            self._outage_held = 0
        return trouble

    def _append(self, lines: bytes) -> OSError | None:
        try:
            self._file.append(lines)
        except OSError as error:
            return error
        return None


def _lines_whole(trouble: OSError) -> int:
    return trouble.lines_whole if isinstance(trouble, PartlyAppended) else 0
