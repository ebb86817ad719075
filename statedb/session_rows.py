"""Sessions in the store; each write runs inside the committer's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from domain.model import (
    ItemId,
    SessionId,
)
from domain.turns import SessionState
from statedb.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """An agent's session on an item. `folder` is its host's, `clone` its own; neither name has outside text in it."""

    session_id: SessionId
    item_id: ItemId
    harness: str
    state: SessionState
    conversation_id: str | None
    folder: str
    clone: str
    branch: str
    base_sha: str
    token_sha256: str
    journal_offset: int
    created_at_ms: int
    last_turn_at_ms: int


def session_of(connection: Connection, item_id: ItemId) -> SessionRow | None:
    """The item's session that has not ended."""
    return _session(connection, "item_id = ? AND state <> 'ended'", item_id)


def session_by_id(connection: Connection, session_id: SessionId) -> SessionRow | None:
    """A session, ended or not."""
    return _session(connection, "session_id = ?", session_id)


def live_sessions(connection: Connection) -> list[SessionRow]:
    """Sessions whose host runs, as far as the store knows."""
    rows = connection.execute(f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE state IN ('opening', 'live')")  # noqa: S608
    return [_read_session(row) for row in rows]


def is_live(connection: Connection, session_id: SessionId) -> bool:
    """Whether the session's host runs, as far as the store knows."""
    row = connection.execute("SELECT state FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return row is not None and row[0] == SessionState.LIVE


def has_heard(connection: Connection, session_id: SessionId) -> bool:
    """Whether the session's conversation had a turn before, and so knows our rules."""
    row = connection.execute("SELECT heard FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return bool(row and row[0])


def idle_longest(connection: Connection) -> list[ItemId]:
    """Items whose session lives and is in no turn, the one idle longest first."""
    rows = connection.execute(
        "SELECT s.item_id FROM sessions s WHERE s.state = 'live' AND NOT EXISTS (SELECT 1 FROM turns t"
        " WHERE t.item_id = s.item_id AND t.state IN ('frozen', 'handed', 'taken', 'interrupted')) ORDER BY s.last_turn_at"
    )
    return [ItemId(row[0]) for row in rows]


def note_conversation(connection: Connection, session_id: SessionId, conversation_id: str) -> None:
    """The agent's own name of the conversation, by which it is loaded again."""
    connection.execute("UPDATE sessions SET conversation_id = ? WHERE session_id = ?", (conversation_id, session_id))


def forget_conversation(connection: Connection, session_id: SessionId) -> None:
    """The conversation is gone: the session goes on with a new one, which gets the open turn as a repeat."""
    connection.execute("UPDATE sessions SET conversation_id = NULL, heard = 0 WHERE session_id = ?", (session_id,))
    connection.execute(
        "UPDATE turns SET must_repeat = 1 WHERE session_id = ? AND state IN ('handed', 'taken', 'interrupted')",
        (session_id,),
    )


def write_session(connection: Connection, row: SessionRow) -> None:
    """Keep a session; its state, conversation, offset and times follow."""
    connection.execute(
        "INSERT INTO sessions (session_id, item_id, harness, state, conversation_id, folder, clone, branch, base_sha,"
        " token_sha256, journal_offset, created_at, last_turn_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT (session_id) DO UPDATE SET state = excluded.state, conversation_id = excluded.conversation_id,"
        " clone = excluded.clone, branch = excluded.branch, base_sha = excluded.base_sha,"
        " token_sha256 = excluded.token_sha256, last_turn_at = excluded.last_turn_at",
        (
            row.session_id, row.item_id, row.harness, row.state, row.conversation_id, row.folder, row.clone, row.branch,
            row.base_sha, row.token_sha256, row.journal_offset, row.created_at_ms, row.last_turn_at_ms,
        ),
    )  # fmt: skip


def set_session_state(
    connection: Connection, session_id: SessionId, state: SessionState, now_ms: int, why: str = ""
) -> None:
    """Move a session; an ended one stays ended."""
    ended_at = now_ms if state is SessionState.ENDED else None
    connection.execute(
        "UPDATE sessions SET state = ?, ended_at = ?, end_reason = ? WHERE session_id = ? AND state <> 'ended'",
        (state, ended_at, why, session_id),
    )


def note_offset(connection: Connection, session_id: SessionId, offset: int) -> None:
    """How far the session's journal has been read; written with what was read."""
    connection.execute("UPDATE sessions SET journal_offset = ? WHERE session_id = ?", (offset, session_id))


_SESSION_COLUMNS = (
    "session_id, item_id, harness, state, conversation_id, folder, clone, branch, base_sha, token_sha256, journal_offset,"
    " created_at, last_turn_at"
)


def _session(connection: Connection, where: str, value: object) -> SessionRow | None:
    row = connection.execute(f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE {where}", (value,)).fetchone()  # noqa: S608
    return _read_session(row) if row else None


def _read_session(row: tuple[Any, ...]) -> SessionRow:
    return SessionRow(
        session_id=SessionId(row[0]),
        item_id=ItemId(row[1]),
        harness=row[2],
        state=SessionState(row[3]),
        conversation_id=row[4],
        folder=row[5],
        clone=row[6],
        branch=row[7],
        base_sha=row[8],
        token_sha256=row[9],
        journal_offset=row[10],
        created_at_ms=row[11],
        last_turn_at_ms=row[12],
    )
