"""Reads the event log: all of it in a stream, its last entries without reading the rest, or as it grows."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from eventlog.lines import lines_backwards, lines_forwards
from eventlog.query import Entry, Query, read_entry
from eventlog.tail import Tail


class LogReader:
    """Reads one log file, which may be missing, and counts the lines that are no records."""

    __slots__ = ("_path", "corrupt_lines")

    def __init__(self, path: Path) -> None:
        self._path = path
        self.corrupt_lines = 0
        """Lines met so far that were skipped: torn by a crash, or not ours."""

    def entries(self, query: Query) -> Iterator[Entry]:
        """The entries wanted, oldest first, in a stream; none where there is no log."""
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            yield from self._wanted(lines_forwards(file), query)

    def last(self, query: Query, limit: int) -> list[Entry]:
        """The newest `limit` entries wanted, oldest first; the file is read from its end and only as far as needed."""
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            newest_first = list(islice(self._wanted(lines_backwards(file), query), limit))
            return newest_first[::-1]
        return []

    def follow(self, query: Query, wait: Callable[[], bool], limit: int = 0) -> Iterator[Entry]:
        """The newest `limit` entries wanted, then those written from now on, across rotation, removal and truncation.

        `wait` is called whenever there is nothing new, and returns whether to go on. A truncation is seen by the
        file no longer holding what was read last.
        """
        tail = Tail(self._path)
        try:
            yield from list(islice(self._wanted(tail.earlier_lines(), query), limit))[::-1]
            while True:
                yield from self._wanted(tail.new_lines(), query)
                self.corrupt_lines += tail.take_torn()
                if not wait():
                    return
        finally:
            tail.close()

    def _wanted(self, lines: Iterator[bytes], query: Query) -> Iterator[Entry]:
        for line in lines:
            if not line:
                continue
            entry = read_entry(line)
            if entry is None:
                self.corrupt_lines += 1
            elif query.wants(entry):
                yield entry
