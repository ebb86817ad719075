"""Asks for updates under the application's admission, and confirms what is finished and nothing else.

A batch is confirmed by the next call with a higher offset (https://core.telegram.org/bots/api#getupdates), so the offset is
ours: it follows the updates that are finished. It is not kept: what is not confirmed comes again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from telegrambot.admission import Admission, AdmissionEnded, Lease
from telegrambot.calls import UPDATES_BYTES_MAX, BotApi
from telegrambot.clock import Clock, SystemClock, pause
from telegrambot.endings import Cause, Ended, Trouble, Wait, after_failure, pause_s
from telegrambot.failures import CallFailed, Evidence, Failure, Reason
from telegrambot.handling import Handler
from telegrambot.notices import (
    HandlingFailed,
    Hearing,
    NotConfirmed,
    NothingMoved,
    Notice,
    PassedOver,
    Recovered,
    Retrying,
)
from telegrambot.updates import Unreadable, Update, read_batch

Batch = Sequence[Update | Unreadable]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """How is polled."""

    wait_s: int = 30
    """How long Telegram may hold a poll that has nothing to tell; 0 to 50."""
    margin_s: float = 10.0
    """How much longer an answer may take: then the poll is given up and repeated."""
    limit: int = 100
    """Updates of one batch; 1 to 100. So many come again after a crash."""
    allowed_updates: tuple[str, ...] | None = None
    """The kinds of updates that are wanted; None: what the bot asked for last, empty: all but reactions and members."""
    confirm_s: float = 5.0
    """How long the last call may take, which confirms and fetches nothing."""

    @property
    def deadline_s(self) -> float:
        """What one poll may take at most."""
        return self.wait_s + self.margin_s


class _Stopped(Exception):
    """The poller was asked to end."""


class Poller:
    """One life of polling, on one event loop: `run` once. A bot has one poller at a time, in all the world.

    Every element of a batch is finished, or comes again. A batch is handled under one lease, which is released when the next
    poll is about to be made: then it counts as ended. While the application takes no work, none is fetched.
    """

    def __init__(
        self,
        api: BotApi,
        admission: Admission,
        handler: Handler,
        *,
        polling: Polling | None = None,
        report: Callable[[Notice], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        """`report` is told what happens meanwhile; what it raises is dropped."""
        self._api = api
        self._admission = admission
        self._handler = handler
        self._polling = polling or Polling()
        self._report_to = report
        self._clock = clock or SystemClock()
        self._stopping = asyncio.Event()
        self._offset: int | None = None
        self._offset_asked: int | None = None
        self._lease: Lease | None = None
        self._in_hand: asyncio.Task[None] | None = None
        self._trouble = Trouble(well_at=self._clock.monotonic())
        self._hears = False
        self._unmoved = 0

    @property
    def heard_at(self) -> float | None:
        """The clock's reading when updates were last answered, None: never. The one measure of whether a bot hears."""
        return self._trouble.well_at if self._hears else None

    def stop(self) -> None:
        """Ask for the end: the batch in hand is finished and confirmed, nothing more is fetched. Safe to repeat."""
        self._stopping.set()

    def force(self) -> None:
        """Ask for the end now: the handler is cancelled, and only what it has finished is confirmed."""
        self._stopping.set()
        if self._in_hand is not None:
            self._in_hand.cancel()

    async def run(self) -> Ended:
        """Poll until the end, and say how it came. Raises nothing but its own cancellation."""
        self._trouble = Trouble(well_at=self._clock.monotonic())
        try:
            ended = await self._rounds()
        except Exception as error:  # whatever ends the poller has to be told by it
            ended = Ended(cause=Cause.FAULT, error=error)
        finally:
            self._release()
        if ended.cause in (Cause.STOPPED, Cause.FAULT):
            await self._confirm()
        return ended

    async def _rounds(self) -> Ended:
        try:
            while (ended := await self._round()) is None:
                continue
        except AdmissionEnded:
            # Nothing is fetched for an application that is ending; it says when its poller is to end.
            await self._stopping.wait()
        except _Stopped:
            return Ended(cause=Cause.STOPPED)
        else:
            return ended
        return Ended(cause=Cause.STOPPED)

    async def _round(self) -> Ended | None:
        """One poll and what it brought; how polling ended, None while it goes on."""
        self._release()
        # Admitted for a moment: a poll that waits must not hold up the application's end.
        await self._unless_stopped(self._acquire)
        self._release()
        asked_at = self._clock.monotonic()
        try:
            batch = await self._unless_stopped(self._ask)
        except CallFailed as failed:
            return await self._after(failed.failure, asked_at)
        self._answered()
        if batch:
            await self._unless_stopped(self._acquire)
            await self._take(batch)
        return None

    async def _acquire(self) -> None:
        self._lease = await self._admission.acquire_when_accepting()

    def _release(self) -> None:
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    async def _ask(self) -> Batch:
        parameters = {
            "offset": self._offset,
            "limit": self._polling.limit,
            "timeout": self._polling.wait_s,
            "allowed_updates": self._polling.allowed_updates,
        }

        def written() -> None:
            self._offset_asked = self._offset  # Telegram confirms by it, also where this poll is broken off

        result = await self._api.call(
            "getUpdates",
            parameters,
            deadline_s=self._polling.deadline_s,
            answer_bytes_max=UPDATES_BYTES_MAX,
            written=written,
        )
        if not isinstance(result, list):
            raise CallFailed(
                Failure(
                    method="getUpdates",
                    reason=Reason.NO_ANSWER,
                    evidence=Evidence.TRANSPORT,
                    description="the answer holds no list of updates",
                )
            )
        return read_batch(result)

    async def _after(self, failure: Failure, asked_at: float) -> Ended | None:
        self._offset_asked = None  # what a poll that failed has confirmed is not known
        self._trouble, then = after_failure(
            self._trouble,
            failure,
            asked_at=asked_at,
            now=self._clock.monotonic(),
            deadline_s=self._polling.deadline_s,
        )
        if isinstance(then, Wait):
            self._report(Retrying(failure, then.seconds))
            await pause(self._clock, then.seconds, self._stopping)
            return None
        return Ended(cause=then, failure=failure)

    def _answered(self) -> None:
        now = self._clock.monotonic()
        if not self._hears:
            self._report(Hearing())
        elif self._trouble.failures:
            self._report(Recovered(now - self._trouble.well_at))
        self._trouble, self._hears = Trouble(well_at=now), True

    async def _take(self, batch: Batch) -> None:
        """Hand a batch over, and move the offset behind what is finished of it."""
        for element in batch:
            if isinstance(element, Unreadable):
                self._report(PassedOver(element.update_id, element.why))
        updates = [element for element in batch if isinstance(element, Update)]
        finished: set[int] = set()
        offset_before = self._offset
        fault: BaseException | None = None
        self._in_hand = asyncio.ensure_future(self._handler(updates, finished.add))
        try:
            await self._in_hand
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            if self._stopping.is_set():
                raise _Stopped from None
            fault = error  # nobody asked for it but the handler itself
        except Exception as error:  # the application's handler: what it did not finish comes again
            fault = error
        finally:
            self._in_hand = None
            self._offset = _offset_behind(batch, finished, self._offset)
        await self._slow_down(fault, moved=self._offset != offset_before)

    async def _slow_down(self, fault: BaseException | None, *, moved: bool) -> None:
        if moved and fault is None:
            self._unmoved = 0
            return
        self._unmoved += 1
        seconds = pause_s(self._unmoved)
        self._report(HandlingFailed(fault, seconds) if fault else NothingMoved(self._offset, seconds))
        await pause(self._clock, seconds, self._stopping)

    async def _confirm(self) -> None:
        """Confirm what the last poll did not; a call that confirms nothing new would cost three seconds at the server."""
        if self._offset == self._offset_asked:
            return
        parameters = {"offset": self._offset, "limit": 1, "timeout": 0}
        try:
            await self._api.call("getUpdates", parameters, deadline_s=self._polling.confirm_s)
        except CallFailed as failed:
            self._report(NotConfirmed(failed.failure))

    async def _unless_stopped(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` returns; where the end is asked for first, it is cancelled. Raises _Stopped."""
        if self._stopping.is_set():
            raise _Stopped
        working = asyncio.ensure_future(work())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise _Stopped
        finally:
            stopping.cancel()
            if not working.done():
                working.cancel()
                await asyncio.wait((working,))

    def _report(self, notice: Notice) -> None:
        with contextlib.suppress(Exception):  # who watches must not be able to end what is watched
            self._report_to(notice)


def _offset_behind(batch: Batch, finished: set[int], offset: int | None) -> int | None:
    """The offset that confirms a batch up to the first update that is not finished. It may be lower than before."""
    confirmed = []
    for element in batch:
        if isinstance(element, Update) and element.update_id not in finished:
            break
        if element.update_id is not None:
            confirmed.append(element.update_id)
    return max(confirmed) + 1 if confirmed else offset
