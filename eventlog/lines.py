"""Bytes as whole lines, forwards and backwards, with no more of the file in memory than one line and one block."""

import os
from collections.abc import Iterator
from typing import BinaryIO

BLOCK_BYTES = 64 << 10
LINE_BYTES_MAX = 1 << 20
"""No writer of ours makes such a line; what is longer is not kept."""

TOO_LONG = b"\0"
"""Stands for a line that was too long to keep."""


class LineSplitter:
    """Cuts a stream into lines as it comes; keeps the unfinished end until its newline arrives."""

    __slots__ = ("_rest", "_too_long")

    def __init__(self) -> None:
        self._rest = b""
        self._too_long = False

    def feed(self, block: bytes) -> Iterator[bytes]:
        """The lines that this block finishes, without their newlines."""
        *finished, rest = (self._rest + block).split(b"\n")
        if finished and self._too_long:
            finished[0] = TOO_LONG
            self._too_long = False
        self._rest = rest
        if len(rest) > LINE_BYTES_MAX:
            self._rest, self._too_long = b"", True
        yield from finished

    def forget(self) -> bytes:
        """Give up and return the unfinished end, because its newline will never come."""
        rest = TOO_LONG if self._too_long else self._rest
        self._rest, self._too_long = b"", False
        return rest


def lines_forwards(file: BinaryIO) -> Iterator[bytes]:
    """The finished lines of a file from its beginning; what follows the last newline is still being written."""
    splitter = LineSplitter()
    while block := file.read(BLOCK_BYTES):
        yield from splitter.feed(block)


def lines_backwards(file: BinaryIO, end: int | None = None) -> Iterator[bytes]:
    """The finished lines before a place, or in all of a file, newest first."""
    position = file.seek(0, os.SEEK_END) if end is None else end
    splitter = LineSplitter()
    # The same cut, on mirrored text: what stands before the first newline then is what follows the last one now.
    finished = (line for block in blocks_backwards(file, position) for line in splitter.feed(block[::-1]))
    if next(finished, None) is None:
        return
    for line in finished:
        yield line[::-1]
    yield splitter.forget()[::-1]


def blocks_backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """The bytes before a place in blocks, the last one first."""
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        file.seek(start)
        yield file.read(end - start)
        end = start
