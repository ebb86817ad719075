"""Handles the updates that are on disk: many at once, those of one chat one after another, each until it has ended.

An update is recorded, then confirmed to Telegram, then handled from here: so a crash loses none. It is handled at least
once: a handler that ended just before a crash, or in a process that counted as dead, is called again. What must not
happen twice has to be made sure of by the handler, for example by the update's number.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from telegrambot.attempts import LEASE_S, Abandoned, Completed, Failed, Settlement, after_error
from telegrambot.clock import Clock, SystemClock, pause
from telegrambot.endings import pause_s
from telegrambot.update_store import Claimed, UpdateStore
from telegrambot.updates import Update

RENEW_S = LEASE_S / 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much is done at once, and how often is looked."""

    concurrency: int = 32
    """Handlers at once."""
    batch: int = 100
    """Updates of one claim."""
    sweep_s: float = 30.0
    """How often is looked without being woken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed:
    """The handler raised; it is about to be written down what that leads to."""

    update: Update
    attempt: int
    error: BaseException
    then: Failed | Abandoned


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The last attempt at an update never ended: its process died, or lost its lease. It is not handled any more."""

    update: Update


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """Somebody else has an update that was being handled here; what this attempt came to is not written down."""

    update: Update


@dataclass(frozen=True, slots=True)
class StoreFailed:
    """The store did not do what it was asked; it is asked again."""

    error: Exception
    retry_in_s: float


IntakeNotice = AttemptFailed | GivenUp | ClaimLost | StoreFailed


@dataclass(slots=True)
class _InHand:
    claimed: Claimed
    is_settling: bool = False
    """The handler has ended: the store is told of it, for as long as that takes."""


class Intake:
    """One life of handling, on one event loop: `run` once. What is reported is told as it happens."""

    def __init__(
        self,
        store: UpdateStore,
        handle: Callable[[Update], Awaitable[None]],
        *,
        pace: Pace | None = None,
        report: Callable[[IntakeNotice], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        """`report` is told what happens meanwhile; what it raises is dropped."""
        self._store = store
        self._handle = handle
        self._pace = pace or Pace()
        self._report_to = report
        self._clock = clock or SystemClock()
        self._wanted = asyncio.Event()
        self._stopping = False
        self._in_hand: dict[asyncio.Task[None], _InHand] = {}
        self._failures = 0
        self._renew_at = self._sweep_at = self._clock.monotonic()
        self._retry_at: list[float] = []

    async def record(self, updates: Sequence[Update]) -> int:
        """Have updates written down, and be woken by them; how many were new. They may be confirmed once this returns.

        Raises what the store raises: then none is written. Safe to repeat, also before `run` and after it.
        """
        new = await self._store.record(updates)
        self.wake()
        return new

    def wake(self) -> None:
        """Look at once: something was recorded elsewhere. Safe to repeat; on the intake's loop."""
        self._wanted.set()

    def stop(self) -> None:
        """Ask for the end: nothing more is claimed, what is in hand is handled to its end. Safe to repeat."""
        self._stopping = True
        self._wanted.set()

    async def run(self) -> None:
        """Handle until stopped. Raises nothing but its own cancellation, which cancels the handlers too.

        What they had in hand stays claimed, and is handled again once its lease has run out.
        """
        try:
            while self._in_hand or not self._stopping:
                await self._round()
        finally:
            await self._let_go()

    async def _round(self) -> None:
        """Renew before anything is claimed: so no claim of this process can be taken for a dead one's by itself."""
        self._wanted.clear()
        try:
            await self._renew()
            if not self._stopping:
                await self._sweep()
                await self._claim()
        except Exception as error:  # whatever is wrong with the store, the loop that needs it goes on
            self._failures += 1
            await pause(self._clock, self._troubled(error, self._failures), self._wanted)
        else:
            self._failures = 0
            await pause(self._clock, self._idle_s(), self._wanted)

    async def _renew(self) -> None:
        if self._clock.monotonic() < self._renew_at:
            return
        for task, held in list(self._in_hand.items()):
            if not await self._store.renew(held.claimed) and not held.is_settling:
                # Somebody else is at it by now, and how it ends here would not be written down.
                task.cancel()
                self._report(ClaimLost(held.claimed.update))
        self._renew_at = self._clock.monotonic() + RENEW_S

    async def _sweep(self) -> None:
        if self._clock.monotonic() < self._sweep_at:
            return
        for update in await self._store.sweep():
            self._report(GivenUp(update))
        self._sweep_at = self._clock.monotonic() + self._pace.sweep_s

    async def _claim(self) -> None:
        free = self._pace.concurrency - len(self._in_hand)
        limit = min(free, self._pace.batch)
        if limit <= 0:
            return
        taken = await self._store.claim(limit)
        for claimed in taken:
            held = _InHand(claimed)
            task = asyncio.ensure_future(self._attempt(held))
            self._in_hand[task] = held
            task.add_done_callback(self._ended)
        if len(taken) == limit < free:
            self._wanted.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Its place is free, and so is the next update of its line."""
        del self._in_hand[task]
        self._wanted.set()

    async def _attempt(self, held: _InHand) -> None:
        claimed = held.claimed
        error = await self._error_of(claimed.update)
        held.is_settling = True
        settlement: Settlement = Completed()
        if error is not None:
            settlement = after_error(error, claimed.attempt)
            self._report(AttemptFailed(update=claimed.update, attempt=claimed.attempt, error=error, then=settlement))
        if not await self._settle(claimed, settlement):
            self._report(ClaimLost(claimed.update))
        elif isinstance(settlement, Failed):
            self._retry_at.append(self._clock.monotonic() + settlement.retry_in_s)

    async def _error_of(self, update: Update) -> BaseException | None:
        try:
            await self._handle(update)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return error  # nobody asked for it but the handler itself
        except Exception as error:  # one update's fault must not hold up the others
            return error
        return None

    async def _settle(self, claimed: Claimed, settlement: Settlement) -> bool:
        failures = 0
        while True:
            try:
                return await self._store.settle(claimed, settlement)
            except Exception as error:  # what was done must not be forgotten because the store is ill for a while
                failures += 1
                await self._clock.sleep(self._troubled(error, failures))

    def _troubled(self, error: Exception, failures: int) -> float:
        seconds = pause_s(failures)
        self._report(StoreFailed(error, seconds))
        return seconds

    def _idle_s(self) -> float:
        """Seconds until something is due that nobody wakes us for."""
        now = self._clock.monotonic()
        self._retry_at = [at for at in self._retry_at if at > now]
        due = [self._renew_at] if self._in_hand else []
        if not self._stopping:
            due += [self._sweep_at, *self._retry_at]
        return min(due, default=now) - now

    async def _let_go(self) -> None:
        """End what is still in hand; its rows stay claimed."""
        tasks = list(self._in_hand)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _report(self, notice: IntakeNotice) -> None:
        with contextlib.suppress(Exception):  # who watches must not be able to end what is watched
            self._report_to(notice)
