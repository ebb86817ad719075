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


class LoopNotifier:
    """Wakes those who wait on one event loop; all tickets of a batch cost one call into the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Ticket[Any], asyncio.Future[None]] = {}

    def wake(self, tickets: Sequence[Ticket[Any]]) -> None:
        """Called by the committer. A loop that is closed by then has no one to wake."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answered, tickets)

    def expect(self, ticket: Ticket[Any]) -> asyncio.Future[None]:
        """What is done once the ticket has its answer; asked for on the loop, before anything else runs there."""
        answered = self._waiting[ticket] = self._loop.create_future()
        return answered

    def forget(self, ticket: Ticket[Any]) -> None:
        """Nobody waits for the ticket any more. Safe to repeat."""
        self._waiting.pop(ticket, None)

    def _answered(self, tickets: Sequence[Ticket[Any]]) -> None:
        for ticket in tickets:
            answered = self._waiting.pop(ticket, None)
            if answered is not None and not answered.done():
                answered.set_result(None)


async def outcome_of(
    ticket: Ticket[Handled], notifier: LoopNotifier, receive: Receive, answer_s: float
) -> Handled | Unavailable:
    """What became of a delivery.

    Whose client leaves, and whose batch has not begun after `answer_s`, is taken back: nothing of it is recorded. What
    has begun is waited for once more, for its outcome is about to be known. Raises what the plan raised.
    """
    answered = notifier.expect(ticket)
    try:
        if not await _within(answered, UNWATCHED_S):
            trouble = await _trouble(answered, receive, answer_s - UNWATCHED_S)
            if trouble is not None and ticket.leave():
                return Unavailable(trouble)
            if not await _within(answered, answer_s):
                return Unavailable(Trouble.STUCK)
    finally:
        ticket.leave()
        notifier.forget(ticket)
    if isinstance(ticket.error, StoreUnavailable):
        return Unavailable(Trouble.STORE)
    if ticket.answer is None:
        raise ticket.error or RuntimeError("a ticket was called that has neither answer nor error")
    return ticket.answer


async def _within(answered: asyncio.Future[None], timeout_s: float) -> bool:
    done, _ = await asyncio.wait((answered,), timeout=timeout_s)
    return bool(done)


async def _trouble(answered: asyncio.Future[None], receive: Receive, timeout_s: float) -> Trouble | None:
    """Why there is no answer, or None once there is one."""
    left = asyncio.ensure_future(_disconnected(receive))
    try:
        done, _ = await asyncio.wait((answered, left), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left.cancel()
    if answered in done:
        return None
    return Trouble.CLIENT_LEFT if left in done else Trouble.LATE


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
