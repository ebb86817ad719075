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


async def pause(clock: Clock, seconds: float, unless: asyncio.Event) -> None:
    """Sleep for so long, or until the event is set."""
    waits = [asyncio.ensure_future(clock.sleep(seconds)), asyncio.ensure_future(unless.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
