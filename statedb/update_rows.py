"""Telegram's updates in the store, from recorded to ended; each write runs inside the committer's transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from statedb.database import Connection

KEPT_MS = 24 * 3600 * 1000
"""How long an update that has ended is known: as long as Telegram may bring it again."""
KIND_CHARACTERS_MAX = 64


class UpdateState(StrEnum):
    """Where an update stands."""

    PENDING = "pending"
    """Nobody has tried it yet."""
    PROCESSING = "processing"
    """It is claimed; once the lease has run out, somebody else may claim it."""
    FAILED = "failed"
    """An attempt failed, and the next one waits."""
    COMPLETED = "completed"
    """It was handled."""
    ABANDONED = "abandoned"
    """It will not be handled."""


ENDED = frozenset({UpdateState.COMPLETED, UpdateState.ABANDONED})


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRow:
    """An update as it arrived; those of one `line` are handled one after another."""

    update_id: int
    line: str
    kind: str
    content: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One attempt at an update: no other has the same three, besides the bot."""

    bot_id: int
    update_id: int
    attempt: int
    claim_id: str


@dataclass(frozen=True, slots=True)
class ClaimedRow:
    """An update in the hands of one attempt."""

    row: UpdateRow
    fence: Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On which terms updates are claimed: under which name, until when, and how often at most."""

    claim_id: str
    lease_until_ms: int
    attempts_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of an attempt; `due_at_ms` counts for a failed one."""

    state: UpdateState
    failure: str = ""
    due_at_ms: int = 0


def record(connection: Connection, bot_id: int, rows: Sequence[UpdateRow], now_ms: int) -> int:
    """Write down those that are not there yet, in their order, and return how many. Safe to repeat."""
    before = connection.total_changes()
    connection.executemany(
        "INSERT OR IGNORE INTO telegram_updates (bot_id, update_id, line, kind, document, state, due_at, created_at)"
        " VALUES (?,?,?,?,?,'pending',?,?)",
        ((bot_id, row.update_id, row.line, _plain(row.kind), _document(row), now_ms, now_ms) for row in rows),
    )
    return connection.total_changes() - before


_CLAIM = """
    UPDATE telegram_updates
    SET state = 'processing', attempt = attempt + 1, claim_id = :claim_id, due_at = :lease_until
    WHERE arrival IN (
        SELECT arrival FROM (
            SELECT min(arrival) AS arrival FROM telegram_updates
            WHERE bot_id = :bot_id AND finished_at IS NULL GROUP BY line)
        CROSS JOIN telegram_updates USING (arrival)
        WHERE due_at <= :now AND attempt < :attempts_max ORDER BY arrival LIMIT :limit)
    RETURNING arrival, update_id, line, document, attempt"""


def claim(connection: Connection, bot_id: int, limit: int, terms: Terms, now_ms: int) -> list[ClaimedRow]:
    """Take at most so many that are due, the earliest first; of each line only the first that has not ended."""
    claimed: list[Any] = connection.execute(
        _CLAIM,
        {
            "bot_id": bot_id,
            "limit": limit,
            "claim_id": terms.claim_id,
            "lease_until": terms.lease_until_ms,
            "attempts_max": terms.attempts_max,
            "now": now_ms,
        },
    ).fetchall()
    return [
        ClaimedRow(
            _row(update_id, line, document),
            Fence(bot_id=bot_id, update_id=update_id, attempt=attempt, claim_id=terms.claim_id),
        )
        for _, update_id, line, document, attempt in sorted(claimed)
    ]


_FENCE = "WHERE bot_id = ? AND update_id = ? AND attempt = ? AND claim_id = ? AND state = 'processing'"


def renew(connection: Connection, fence: Fence, lease_until_ms: int) -> bool:
    """Hold a claim for longer. False: it does not stand any more."""
    connection.execute(
        f"UPDATE telegram_updates SET due_at = ? {_FENCE}",  # noqa: S608 constants
        (lease_until_ms, fence.bot_id, fence.update_id, fence.attempt, fence.claim_id),
    )
    return connection.changes() > 0


def settle(connection: Connection, fence: Fence, settled: Settled, now_ms: int) -> bool:
    """Write down what became of an attempt. False, and nothing written, where its claim does not stand any more."""
    connection.execute(
        f"UPDATE telegram_updates SET state = ?, failure = ?, due_at = ?, finished_at = ? {_FENCE}",  # noqa: S608 constants
        (
            settled.state, settled.failure, settled.due_at_ms, now_ms if settled.state in ENDED else None,
            fence.bot_id, fence.update_id, fence.attempt, fence.claim_id,
        ),
    )  # fmt: skip
    return connection.changes() > 0


def release(connection: Connection, bot_id: int, now_ms: int) -> None:
    """End every claim at once: for a process that knows that nobody else has the store. Safe to repeat."""
    connection.execute(
        "UPDATE telegram_updates SET due_at = ? WHERE bot_id = ? AND finished_at IS NULL AND state = 'processing'",
        (now_ms, bot_id),
    )


def give_up(connection: Connection, bot_id: int, attempts_max: int, now_ms: int) -> list[UpdateRow]:
    """Abandon those whose last attempt's lease has run out, and return them, the earliest first."""
    given_up: list[Any] = connection.execute(
        "UPDATE telegram_updates SET state = 'abandoned', finished_at = :now, failure = 'no attempt came to its end'"
        " WHERE bot_id = :bot_id AND finished_at IS NULL AND state = 'processing' AND attempt >= :attempts_max"
        " AND due_at <= :now RETURNING arrival, update_id, line, document",
        {"bot_id": bot_id, "attempts_max": attempts_max, "now": now_ms},
    ).fetchall()
    return [_row(update_id, line, document) for _, update_id, line, document in sorted(given_up)]


def forget(connection: Connection, now_ms: int, most: int) -> int:
    """Forget at most so many that ended long enough ago, of whichever bot, and return how many. Safe to repeat."""
    connection.execute(
        "DELETE FROM telegram_updates WHERE arrival IN ("
        " SELECT arrival FROM telegram_updates WHERE finished_at IS NOT NULL AND finished_at <= ? LIMIT ?)",
        (now_ms - KEPT_MS, most),
    )
    return connection.changes()


def newest_messages(connection: Connection, bot_id: int, most: int) -> list[UpdateRow]:
    """The messages that arrived last, in their order; handled or not."""
    rows: list[Any] = connection.execute(
        "SELECT update_id, line, document FROM telegram_updates WHERE bot_id = ? AND kind = 'message'"
        " ORDER BY arrival DESC LIMIT ?",
        (bot_id, most),
    ).fetchall()
    return [_row(*row) for row in reversed(rows)]


def _document(row: UpdateRow) -> str:
    """ASCII, because outside text may hold halves of characters, which the store does not take."""
    return json.dumps({row.kind: row.content}, separators=(",", ":"))


def _row(update_id: int, line: str, document: str) -> UpdateRow:
    ((kind, content),) = json.loads(document).items()
    return UpdateRow(update_id=update_id, line=line, kind=kind, content=content)


def _plain(kind: str) -> str:
    """For looking it up; the document has it as it came."""
    return kind.encode("ascii", "backslashreplace").decode()[:KIND_CHARACTERS_MAX]
