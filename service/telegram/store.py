"""The service's store as the intake of a Telegram bot asks for one: each call a write of the committer, off the event loop."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, assert_never

from statedb import update_rows
from statedb.committer import Committer
from statedb.database import Connection
from statedb.update_rows import Fence, Settled, Terms, UpdateRow, UpdateState
from telegrambot.attempts import ATTEMPTS_MAX, LEASE_S, Abandoned, Completed, Failed, Settlement
from telegrambot.update_store import Claimed
from telegrambot.updates import Update

MESSAGES_SEEN = 500
"""How many of the newest messages are looked through for people."""

T = TypeVar("T")


def new_claim_id() -> str:
    """A name that no other claim has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteUpdates:
    """One bot's updates. Raises StoreUnavailable where the store does not take a write.

    A call that is cancelled may have been carried out.
    """

    committer: Committer[Any, Any]
    bot_id: int
    clock: Callable[[], int]
    """Milliseconds since the epoch."""
    claim_id: Callable[[], str] = new_claim_id

    def take_over(self) -> None:
        """Take what a process that is gone had in hand; before the committer runs, by who holds the state folder's lock."""
        self.committer.before_run(lambda c: update_rows.release(c, self.bot_id, self.clock()))

    async def record(self, updates: Sequence[Update]) -> int:
        """Of one transaction, so that all are on disk or none."""
        rows = [_row(update) for update in updates]
        return await self._write(lambda c: update_rows.record(c, self.bot_id, rows, self.clock()))

    async def claim(self, limit: int) -> Sequence[Claimed]:
        """The earliest that are due, one of each line."""
        terms = Terms(claim_id=self.claim_id(), lease_until_ms=self._lease_until_ms(), attempts_max=ATTEMPTS_MAX)
        taken = await self._write(lambda c: update_rows.claim(c, self.bot_id, limit, terms, self.clock()))
        return [
            Claimed(update=_update(claimed.row), attempt=claimed.fence.attempt, claim_id=claimed.fence.claim_id)
            for claimed in taken
        ]

    async def renew(self, claimed: Claimed) -> bool:
        """For another lease from now on."""
        return await self._write(lambda c: update_rows.renew(c, self._fence(claimed), self._lease_until_ms()))

    async def settle(self, claimed: Claimed, settlement: Settlement) -> bool:
        """By its own claim alone."""
        settled, fence = self._settled(settlement), self._fence(claimed)
        return await self._write(lambda c: update_rows.settle(c, fence, settled, self.clock()))

    async def sweep(self) -> Sequence[Update]:
        """Those that were given up; what ended long ago is forgotten with all else that the store need not keep."""

        rows = await self._write(lambda c: update_rows.give_up(c, self.bot_id, ATTEMPTS_MAX, self.clock()))
        return [_update(row) for row in rows]

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.to_thread(self.committer.write, work)

    def _lease_until_ms(self) -> int:
        return self.clock() + int(LEASE_S * 1000)

    def _fence(self, claimed: Claimed) -> Fence:
        return Fence(
            bot_id=self.bot_id,
            update_id=claimed.update.update_id,
            attempt=claimed.attempt,
            claim_id=claimed.claim_id,
        )

    def _settled(self, settlement: Settlement) -> Settled:
        match settlement:
            case Completed():
                return Settled(state=UpdateState.COMPLETED)
            case Failed(why=why, retry_in_s=retry_in_s):
                due_at_ms = self.clock() + int(retry_in_s * 1000)
                return Settled(state=UpdateState.FAILED, failure=why, due_at_ms=due_at_ms)
            case Abandoned(why=why):
                return Settled(state=UpdateState.ABANDONED, failure=why)
            case _:
                assert_never(settlement)


def newest_messages(connection: Connection, bot_id: int) -> list[Update]:
    """What people wrote to a bot lately, in the order of its arrival."""
    return [_update(row) for row in update_rows.newest_messages(connection, bot_id, MESSAGES_SEEN)]


def _row(update: Update) -> UpdateRow:
    return UpdateRow(update_id=update.update_id, line=update.line, kind=update.kind, content=update.content)


def _update(row: UpdateRow) -> Update:
    return Update(update_id=row.update_id, kind=row.kind, content=row.content)
