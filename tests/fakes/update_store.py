"""A store of updates in memory that keeps the contract by a list and plain conditions, and can be made to fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from telegrambot.attempts import ATTEMPTS_MAX, LEASE_S, Abandoned, Completed, Failed, Settlement
from telegrambot.update_store import Claimed, UpdateStore
from telegrambot.updates import Update

ENDED = ("completed", "abandoned")


@dataclass(slots=True)
class Row:
    """An update, and where it stands; `due_at` is when it may be claimed."""

    update: Update
    state: str
    due_at: float
    attempt: int = 0
    claim_id: str = ""
    why: str = ""
    ended_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self.state not in ENDED


class UpdatesInMemory(UpdateStore):
    """`rows` are in the order of their arrival. What `fail` raises, the named method raises before it does anything."""

    def __init__(self, now: Callable[[], float], claim_id: Callable[[], str] | None = None) -> None:
        self.rows: list[Row] = []
        self.fail: Callable[[str], None] = lambda method: None
        self.renewed: list[int] = []
        self._now = now
        self._claim_id = claim_id or self._next_claim_id
        self._claims = 0

    def states(self) -> dict[int, str]:
        return {row.update.update_id: row.state for row in self.rows}

    async def record(self, updates: Sequence[Update]) -> int:
        self.fail("record")
        before = len(self.rows)
        for update in updates:
            if self._find(update.update_id) is None:
                self.rows.append(Row(update, "pending", self._now()))
        return len(self.rows) - before

    async def claim(self, limit: int) -> Sequence[Claimed]:
        self.fail("claim")
        heads: dict[str, Row] = {}
        for row in self.rows:
            if row.is_open:
                heads.setdefault(row.update.line, row)
        due = [row for row in heads.values() if row.due_at <= self._now() and row.attempt < ATTEMPTS_MAX]
        claim_id = self._claim_id()
        return [self._take(row, claim_id) for row in due[:limit]]

    async def renew(self, claimed: Claimed) -> bool:
        self.fail("renew")
        row = self._held(claimed)
        if row is None:
            return False
        row.due_at = self._now() + LEASE_S
        self.renewed.append(claimed.update.update_id)
        return True

    async def settle(self, claimed: Claimed, settlement: Settlement) -> bool:
        self.fail("settle")
        row = self._held(claimed)
        if row is None:
            return False
        match settlement:
            case Completed():
                row.state, row.why, row.ended_at = "completed", "", self._now()
            case Abandoned(why=why):
                row.state, row.why, row.ended_at = "abandoned", why, self._now()
            case Failed(why=why, retry_in_s=retry_in_s):
                row.state, row.why, row.due_at = "failed", why, self._now() + retry_in_s
        return True

    async def sweep(self) -> Sequence[Update]:
        self.fail("sweep")
        now = self._now()
        lost = [row for row in self.rows if _is_lost(row, now)]
        for row in lost:
            row.state, row.why, row.ended_at = "abandoned", "no attempt came to its end", now
        return [row.update for row in lost]

    def _take(self, row: Row, claim_id: str) -> Claimed:
        row.state, row.claim_id, row.due_at = "processing", claim_id, self._now() + LEASE_S
        row.attempt += 1
        return Claimed(update=row.update, attempt=row.attempt, claim_id=claim_id)

    def _held(self, claimed: Claimed) -> Row | None:
        row = self._find(claimed.update.update_id)
        if row is None or (row.state, row.attempt, row.claim_id) != ("processing", claimed.attempt, claimed.claim_id):
            return None
        return row

    def _find(self, update_id: int) -> Row | None:
        return next((row for row in self.rows if row.update.update_id == update_id), None)

    def _next_claim_id(self) -> str:
        self._claims += 1
        return f"claim-{self._claims}"


def _is_lost(row: Row, now: float) -> bool:
    return row.state == "processing" and row.due_at <= now and row.attempt >= ATTEMPTS_MAX
