"""Time as this room asks for it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Readings and pauses; a test brings its own."""

    def monotonic(self) -> float:
        """Seconds that only ever grow."""

    def wall(self) -> float:
        """Seconds since the epoch."""

    async def sleep(self, seconds: float) -> None:
        """Return after that long; at once for 0 and less."""


class SystemClock:
    """The machine's."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))
