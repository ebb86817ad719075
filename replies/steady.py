"""A clock for deadlines that does not jump when somebody sets the machine's time."""

from __future__ import annotations

from collections.abc import Callable


class SteadyClock:
    """Milliseconds since the epoch: the time of day when this was made, plus what the monotonic clock has counted since.

    `wall` gives milliseconds since the epoch and may jump; `monotonic` gives seconds from any beginning.
    """

    def __init__(self, wall: Callable[[], int], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._began_s = monotonic()
        self.began_ms = wall()

    def now_ms(self) -> int:
        """The steady time."""
        return self.began_ms + round((self._monotonic() - self._began_s) * 1000)

    def agreed_ms(self) -> int:
        """The earlier of the steady time and the time of day: what is old by this is old by both."""
        return min(self.now_ms(), self._wall())
