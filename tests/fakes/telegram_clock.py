"""A clock for coroutines on which no time passes but by sleeping, or by the test's word."""

from __future__ import annotations

import asyncio

from telegrambot.clock import Clock

WALL_S = 1_800_000_000.0


class FakeClock(Clock):
    """`sleep` comes back at once, and so much later; `sleeps` holds how long each one was."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return WALL_S + self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.advance(max(0.0, seconds))
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
