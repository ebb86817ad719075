"""The growing end of a file that somebody may rotate, remove or truncate while it is read."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from eventlog.lines import BLOCK_BYTES, LineSplitter, lines_backwards

SEEN_BYTES = 256
"""So much of what was read last is compared before reading on: a file may be truncated and grow past our place."""


class Tail:
    """Reads on in whatever file has the path; begins after the last finished line of the one that is there at first."""

    __slots__ = ("_file", "_path", "_position", "_seen", "_splitter", "_torn")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._splitter = LineSplitter()
        self._torn = 0
        self._file = open_if_there(path)
        self._position, self._seen = 0, b""
        if self._file is not None:
            self._position = end_of_last_line(self._file)
            self._seen = bytes_before(self._file, self._position)

    def earlier_lines(self) -> Iterator[bytes]:
        """The lines before the place where this tail stands, newest first."""
        return iter(()) if self._file is None else lines_backwards(self._file, self._position)

    def new_lines(self) -> Iterator[bytes]:
        """The lines finished since the last call."""
        yield from self._drained()
        while self._is_replaced():
            # A writer may have written to the old file until the moment at which the new one was seen.
            yield from self._drained()
            self._begin_anew()
            yield from self._drained()

    def take_torn(self) -> int:
        """How many lines never got their end since the last call, because their file was truncated or replaced."""
        torn, self._torn = self._torn, 0
        return torn

    def close(self) -> None:
        """Let go of the file. Safe to repeat."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _drained(self) -> Iterator[bytes]:
        if self._file is None:
            return
        if bytes_before(self._file, self._position) != self._seen:
            self._restart()
        while block := self._read_block(self._file):
            yield from self._splitter.feed(block)

    def _read_block(self, file: BinaryIO) -> bytes:
        file.seek(self._position)
        block = file.read(BLOCK_BYTES)
        self._position += len(block)
        self._seen = (self._seen + block)[-SEEN_BYTES:]
        return block

    def _is_replaced(self) -> bool:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        return self._file is None or not os.path.samestat(found, os.fstat(self._file.fileno()))

    def _begin_anew(self) -> None:
        self.close()
        self._file = open_if_there(self._path)
        self._restart()

    def _restart(self) -> None:
        self._position, self._seen = 0, b""
        self._torn += bool(self._splitter.forget())


def open_if_there(path: Path) -> BinaryIO | None:
    """The file, unbuffered, because what is read ahead of a growing file gets old; None where there is none."""
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        return None


def end_of_last_line(file: BinaryIO) -> int:
    """The place after the last newline; the beginning of the last block where that has none."""
    end = file.seek(0, os.SEEK_END)
    start = max(0, end - BLOCK_BYTES)
    file.seek(start)
    return start + file.read(end - start).rfind(b"\n") + 1


def bytes_before(file: BinaryIO, position: int) -> bytes:
    """The few bytes before a place by which it is known again."""
    start = max(0, position - SEEN_BYTES)
    file.seek(start)
    return file.read(position - start)
