"""A clock for coroutines that stands still: whoever sleeps wakes when the test has let so much time pass."""

from __future__ import annotations

import asyncio

from telegrambot.clock import Clock
from tests.fakes.telegram_clock import WALL_S

TURNS = 30
"""How often the event loop goes round before all that can happen without time has happened."""


class HeldClock(Clock):
    """Unlike a clock whose sleeps come back at once, it can be slept on by many at the same time."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return WALL_S + self.now

    async def sleep(self, seconds: float) -> None:
        sleeper = (self.now + max(0.0, seconds), asyncio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    async def advance(self, seconds: float) -> None:
        """Let time pass, from one waking to the next, and everything happen that comes of it."""
        end = self.now + seconds
        await settled()
        while (due := min((at for at, _ in self._sleepers), default=end + 1)) <= end:
            self.now = max(self.now, due)
            for at, woken in list(self._sleepers):
                if at <= self.now:
                    woken.set()
            await settled()
        self.now = end
        await settled()


async def settled() -> None:
    """Return when everything has happened that can without time."""
    for _ in range(TURNS):
        await asyncio.sleep(0)
