"""Waits on an event loop for what the committer makes of a delivery, and takes it back where nobody waits any more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from starlette.types import Receive

from statedb.committer import Ticket
from statedb.database import StoreUnavailable
from webhook.handled import Handled
from webhook.refusals import Trouble, Unavailable

UNWATCHED_S = 0.1
"""How long the ordinary answer may take; only who waits longer has its client watched."""


class Waiter:
    """Waits on one event loop for one ticket, as often as it likes; wait, timer and wake cost one future and no task."""

    __slots__ = ("_loop", "_woken", "is_answered")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._woken: asyncio.Future[None] = loop.create_future()
        self.is_answered = False

    def answered(self) -> None:
        """The ticket has its answer or its error."""
        self.is_answered = True
        self.wake()

    def wake(self) -> None:
        """Let whoever waits look again. Safe to repeat."""
        if not self._woken.done():
            self._woken.set_result(None)

    async def within(self, timeout_s: float) -> bool:
        """Wait until the answer is there, somebody wakes us or the time is over; whether the answer is there."""
        if self.is_answered:
            return True
        if self._woken.done():
            self._woken = self._loop.create_future()
        late = self._loop.call_later(timeout_s, self.wake)
        try:
            await self._woken
        finally:
            late.cancel()
        return self.is_answered


class LoopNotifier:
    """Wakes those who wait on one event loop; all tickets of a batch cost one call into the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Ticket[Any], Waiter] = {}

    def wake(self, tickets: Sequence[Ticket[Any]]) -> None:
        """Called by the committer. A loop that is closed by then has no one to wake."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answered, tickets)

    def expect(self, ticket: Ticket[Any]) -> Waiter:
        """What is answered once the ticket is; asked for on the loop, before anything else runs there."""
        waiter = self._waiting[ticket] = Waiter(self._loop)
        return waiter

    def forget(self, ticket: Ticket[Any]) -> None:
        """Nobody waits for the ticket any more. Safe to repeat."""
        self._waiting.pop(ticket, None)

    def _answered(self, tickets: Sequence[Ticket[Any]]) -> None:
        for ticket in tickets:
            waiter = self._waiting.pop(ticket, None)
            if waiter is not None:
                waiter.answered()


async def outcome_of(
    ticket: Ticket[Handled], notifier: LoopNotifier, receive: Receive, answer_s: float
) -> Handled | Unavailable:
    """What became of a delivery.

    Whose client leaves, and whose batch has not begun after `answer_s`, is taken back: nothing of it is recorded. What
    has begun is waited for once more, for its outcome is about to be known. Raises what the plan raised.
    """
    waiter = notifier.expect(ticket)
    try:
        if not await waiter.within(UNWATCHED_S):
            trouble = await _trouble(waiter, receive, answer_s - UNWATCHED_S)
            if trouble is not None and ticket.leave():
                return Unavailable(trouble)
            if not await waiter.within(answer_s):
                return Unavailable(Trouble.STUCK)
    finally:
        ticket.leave()
        notifier.forget(ticket)
    if isinstance(ticket.error, StoreUnavailable):
        return Unavailable(Trouble.STORE)
    if ticket.answer is None:
        raise ticket.error or RuntimeError("a ticket was called that has neither answer nor error")
    return ticket.answer


async def _trouble(waiter: Waiter, receive: Receive, timeout_s: float) -> Trouble | None:
    """Why there is no answer, or None once there is one."""
    left = asyncio.ensure_future(_disconnected(receive))
    left.add_done_callback(lambda _: waiter.wake())
    try:
        if await waiter.within(timeout_s):
            return None
        return Trouble.CLIENT_LEFT if left.done() else Trouble.LATE
    finally:
        left.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
