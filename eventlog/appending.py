"""A file to which several processes append whole lines, and which somebody may rotate, remove or fill up."""

import errno
import os
import stat
from pathlib import Path


class PartlyAppended(OSError):
    """The disk took only a part of what was to be appended; `lines_whole` of the lines stand whole."""

    def __init__(self, lines_whole: int, path: Path) -> None:
        super().__init__(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        self.lines_whole = lines_whole


class AppendedFile:
    """Appends lines by one write to the file that has the path at that moment; made with mode 0600 if missing."""

    __slots__ = ("_descriptor", "_device", "_inode", "_path", "_torn")

    def __init__(self, path: Path) -> None:
        """The file and its folder are made at the first append."""
        self._path = path
        self._descriptor = -1
        self._device = -1
        self._inode = -1
        self._torn = False

    def append(self, lines: bytes) -> None:
        """Append lines, each ending with a newline, by one write that no other process's line gets into.

        Raises OSError where it cannot, `PartlyAppended` where the disk took only the beginning. A line of which it took
        a part stands in the file as a torn one; the next append ends it first, so that it swallows nothing, and the
        caller gives that line and those behind it again.
        """
        try:
            self._follow_path()
            whole = b"\n" + lines if self._torn else lines
            taken = os.write(self._descriptor, whole)
            if taken != len(whole):
                raise PartlyAppended(whole[:taken].count(b"\n") - (self._torn and taken > 0), self._path)
            self._torn = False
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file; the next append opens it again. Safe to repeat."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _follow_path(self) -> None:
        if self._descriptor >= 0:
            try:
                found = os.stat(self._path)  # noqa: PTH116 - runs before every line; Path.stat costs twice as much
            except FileNotFoundError:
                found = None
            if found is not None and (found.st_ino, found.st_dev) == (self._inode, self._device):
                return
            self.close()
        self._open()

    def _open(self) -> None:
        try:
            self._descriptor = open_for_append(self._path)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = open_for_append(self._path)
        opened = os.fstat(self._descriptor)
        self._inode, self._device = opened.st_ino, opened.st_dev
        # Another process's line may be seen half-way here; an empty line is the harmless price of that mistake.
        self._torn = (
            stat.S_ISREG(opened.st_mode)
            and opened.st_size > 0
            and os.pread(self._descriptor, 1, opened.st_size - 1) != b"\n"
        )


def open_for_append(path: Path) -> int:
    """A descriptor of the file, readable so that its last byte can be looked at."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
