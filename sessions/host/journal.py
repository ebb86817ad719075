"""The host's append-only journal: what it said and did, readable also when no host is alive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from sessions.host.records import Ended, Handed, Record, Recorded, Taken, line_of, read_line

LINE_BYTES_MAX = 1024 * 1024
_SYNCED = (Handed, Taken, Ended)


class JournalFailed(Exception):
    """A record could not be written (disk full, folder gone); nothing half-written remains of it."""


class Journal:
    """The journal of one host; exactly one process writes it, under the clone's lock.

    Hand-overs, receipts and answers are on disk when `append` returns. `end_offset` is where the next
    record begins; readers never look beyond it.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        """Open the journal, made if missing; a torn last line of a killed host is cut off."""
        self.path = path
        self._clock = clock
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.end_offset = _cut_torn_tail(self._descriptor)
        _sync_folder(path.parent)

    def append(self, record: Record) -> None:
        """Write one record; raises `JournalFailed`: then it is as if this had not been called, and may be repeated."""
        line = line_of(record, self._clock())
        try:
            if os.fstat(self._descriptor).st_size != self.end_offset:
                os.ftruncate(self._descriptor, self.end_offset)
            _write_all(self._descriptor, line)
            if isinstance(record, _SYNCED):
                os.fsync(self._descriptor)
        except OSError as fault:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self.end_offset)
            raise JournalFailed(f"cannot write {self.path.name}: {fault}") from fault
        self.end_offset += len(line)

    def close(self) -> None:
        """Sync and close; safe to call once."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)


def read_journal(path: Path, from_offset: int = 0) -> Iterator[Recorded]:
    """The records from a byte offset to the last complete line; none where there is no journal.

    `from_offset` is 0 or some record's `end_offset`. Lines that this version does not know are passed over.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(from_offset)
        end_offset = from_offset
        while (line := file.readline()).endswith(b"\n"):
            end_offset += len(line)
            recorded = read_line(line, end_offset)
            if recorded is not None:
                yield recorded


def _cut_torn_tail(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    position = size
    while position > 0:
        start = max(0, position - LINE_BYTES_MAX)
        newline = os.pread(descriptor, position - start, start).rfind(b"\n")
        if newline >= 0:
            position = start + newline + 1
            break
        position = start
    if position < size:
        os.ftruncate(descriptor, position)
    return position


def _write_all(descriptor: int, line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
