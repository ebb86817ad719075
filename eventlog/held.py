"""The lines that could not be written yet: a queue with two bounds that drops its oldest."""

from collections import deque

LINES_MAX = 5_000
BYTES_MAX = 4 << 20


class HeldLines:
    """Holds lines in their order; where a bound is passed, the oldest make room and are counted in `lost`."""

    __slots__ = ("_bytes", "_bytes_max", "_lines", "_lines_max", "lost")

    def __init__(self, lines_max: int = LINES_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._lines: deque[bytes] = deque()
        self._lines_max = lines_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self.lost = 0

    def __len__(self) -> int:
        """How many lines are held."""
        return len(self._lines)

    def hold(self, line: bytes) -> None:
        """Take a line in at the end."""
        self._lines.append(line)
        self._bytes += len(line)
        while len(self._lines) > self._lines_max or self._bytes > self._bytes_max:
            self.drop_first()
            self.lost += 1

    def first(self) -> bytes:
        """The oldest line; there must be one."""
        return self._lines[0]

    def drop_first(self) -> None:
        """Forget the oldest line, because it is written; there must be one."""
        self._bytes -= len(self._lines.popleft())
