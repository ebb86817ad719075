"""An intake on a store in memory, whose handler waits and fails as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from telegrambot.intake import Intake, IntakeNotice, Pace
from telegrambot.updates import Update
from tests.fakes.held_clock import HeldClock, settled
from tests.fakes.update_store import UpdatesInMemory


def update(update_id: int, chat_id: int = 1) -> Update:
    return Update(update_id=update_id, kind="message", content={"chat": {"id": chat_id}})


class Desk:
    """`held` updates wait in their handler, `faults` are raised by it once each."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.clock = HeldClock()
        self.store = UpdatesInMemory(self.clock.monotonic)
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []
        self.notices: list[IntakeNotice] = []
        self.held: dict[int, asyncio.Event] = {}
        self.faults: dict[int, list[BaseException]] = {}
        self._pace = pace

    async def start(self) -> None:
        """Begin a life of the intake, as a process that starts does."""
        self.intake = Intake(self.store, self._handle, pace=self._pace, report=self.notices.append, clock=self.clock)
        self._running = asyncio.ensure_future(self.intake.run())
        await settled()

    async def arrive(self, *updates: Update) -> None:
        await self.intake.record(updates)
        await settled()

    async def release(self, update_id: int) -> None:
        self.held.pop(update_id).set()
        await settled()

    async def stop(self) -> None:
        self.intake.stop()
        await settled()

    async def kill(self) -> None:
        self._running.cancel()
        await asyncio.wait((self._running,))

    @property
    def has_ended(self) -> bool:
        return self._running.done()

    async def _handle(self, update: Update) -> None:
        self.begun.append(update.update_id)
        try:
            if (held := self.held.get(update.update_id)) is not None:
                await held.wait()
        except asyncio.CancelledError:
            self.cancelled.append(update.update_id)
            raise
        if faults := self.faults.get(update.update_id):
            raise faults.pop(0)
        self.ended.append(update.update_id)


def running(work: Callable[[Desk], Coroutine[Any, Any, None]], pace: Pace | None = None) -> None:
    """Do this with an intake that runs, and end it."""

    async def run() -> None:
        desk = Desk(pace)
        await desk.start()
        try:
            await work(desk)
        finally:
            await desk.kill()

    asyncio.run(run())


def hold(desk: Desk, *update_ids: int) -> None:
    for update_id in update_ids:
        desk.held[update_id] = asyncio.Event()
