"""What workers read and write of an item: what waits, its session, its turns; each write inside the committer's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.model import (
    Event,
    EventKey,
    Fate,
    ItemId,
    Outcome,
    SessionId,
    Thread,
    TurnId,
    UnhandledReason,
)
from domain.turns import OpenTurn, SessionState, TurnState
from statedb import codec
from statedb.database import Connection
from statedb.reading import FATE_COLUMNS, read_fate
from statedb.rows import FateRow, Step


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One prompt, exactly as it was frozen."""

    turn_id: TurnId
    item_id: ItemId
    session_id: SessionId
    state: TurnState
    kind: str
    prompt: str
    thread: Thread
    tells_refused: int
    follows: TurnId | None
    frozen_at_ms: int
    taken_at_ms: int | None
    interruptions: int
    written_by_host: bool = False
    """Some host wrote it down: its agent may have had it."""


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """An inflight row with its event."""

    fate: FateRow
    event: Event
    accepted_at_ms: int


def waiting_rows(connection: Connection, item_id: ItemId) -> list[WaitingRow]:
    """All inflight rows of an item with their events, by place."""
    columns = ", ".join(f"f.{name.strip()}" for name in FATE_COLUMNS.split(","))
    rows = connection.execute(
        f"SELECT {columns}, e.document, e.body, e.url, e.accepted_at FROM fates f JOIN events e USING (event_key)"  # noqa: S608
        " WHERE f.item_id = ? AND f.fate = 'inflight' ORDER BY f.place_at, f.place_number",
        (item_id,),
    )
    return [_waiting(row) for row in rows]


def events_of_turn(connection: Connection, turn_id: TurnId) -> list[WaitingRow]:
    """The events that a turn carries, in its order."""
    columns = ", ".join(f"f.{name.strip()}" for name in FATE_COLUMNS.split(","))
    rows = connection.execute(
        f"SELECT {columns}, e.document, e.body, e.url, e.accepted_at FROM turn_events t"  # noqa: S608 constant
        " JOIN events e USING (event_key) JOIN turns u USING (turn_id)"
        " JOIN fates f ON f.event_key = t.event_key AND f.item_id = u.item_id WHERE t.turn_id = ? ORDER BY t.position",
        (turn_id,),
    )
    return [_waiting(row) for row in rows]


def items_with_work(connection: Connection) -> list[ItemId]:
    """Items on which something is not finished, in order of acceptance."""
    rows = connection.execute(
        "SELECT item_id, min(since) AS first FROM ("
        " SELECT item_id, decided_at AS since FROM fates WHERE fate = 'inflight'"
        " UNION ALL SELECT item_id, last_turn_at FROM sessions WHERE state IN ('opening', 'live')"
        " UNION ALL SELECT item_id, frozen_at FROM turns WHERE state IN ('frozen', 'handed', 'taken', 'interrupted'))"
        " GROUP BY item_id ORDER BY first"
    )
    return [ItemId(row[0]) for row in rows]


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


def open_turn(connection: Connection, item_id: ItemId) -> OpenTurn | None:
    """The item's turn that has not ended."""
    row = connection.execute(
        "SELECT turn_id, state, interruptions, handed_at, cancelling_at, not_before, must_repeat FROM turns"
        " WHERE item_id = ? AND state IN ('frozen', 'handed', 'taken', 'interrupted') ORDER BY frozen_at LIMIT 1",
        (item_id,),
    ).fetchone()
    if row is None:
        return None
    keys = connection.execute("SELECT event_key FROM turn_events WHERE turn_id = ? ORDER BY position", (row[0],))
    return OpenTurn(
        turn_id=TurnId(row[0]),
        state=TurnState(row[1]),
        keys=tuple(EventKey(key) for (key,) in keys),
        interruptions=row[2],
        handed_at_ms=row[3],
        cancelling_at_ms=row[4],
        not_before_ms=row[5],
        must_repeat=bool(row[6]),
    )


def turn(connection: Connection, turn_id: TurnId) -> TurnRow | None:
    """A turn."""
    row = connection.execute(
        "SELECT turn_id, item_id, session_id, state, kind, prompt, host, repository_id, number, tells_refused, follows,"
        " frozen_at, taken_at, interruptions, written_by_host FROM turns WHERE turn_id = ?",
        (turn_id,),
    ).fetchone()
    if row is None:
        return None
    return TurnRow(
        turn_id=TurnId(row[0]),
        item_id=ItemId(row[1]),
        session_id=SessionId(row[2]),
        state=TurnState(row[3]),
        kind=row[4],
        prompt=row[5],
        thread=Thread(host=row[6], repository_id=row[7], number=row[8]),
        tells_refused=row[9],
        follows=TurnId(row[10]) if row[10] else None,
        frozen_at_ms=row[11],
        taken_at_ms=row[12],
        interruptions=row[13],
        written_by_host=bool(row[14]),
    )


def said_in_turn(connection: Connection, turn_id: TurnId) -> list[str]:
    """What the agent said through the seat during a turn."""
    rows = connection.execute(
        "SELECT whole FROM replies WHERE origin = ? AND kind IN ('reply', 'question') ORDER BY kind, number", (turn_id,)
    )
    return [row[0] for row in rows]


def owed_resumption(connection: Connection, item_id: ItemId) -> TurnRow | None:
    """A turn that the agent was found to have when its host died, and that nobody has told it to go on with."""
    row = connection.execute(
        "SELECT t.turn_id FROM turns t WHERE t.item_id = ? AND t.owes_resumption = 1 ORDER BY t.frozen_at DESC LIMIT 1",
        (item_id,),
    ).fetchone()
    return turn(connection, TurnId(row[0])) if row else None


# Writes, inside the committer's transaction


def note_written(connection: Connection, turn_id: TurnId) -> None:
    """A host wrote the turn down."""
    connection.execute("UPDATE turns SET written_by_host = 1 WHERE turn_id = ?", (turn_id,))


def has_heard(connection: Connection, session_id: SessionId) -> bool:
    """Whether the session's agent had a turn before."""
    found = connection.execute(
        "SELECT 1 FROM turns WHERE session_id = ? AND taken_at IS NOT NULL LIMIT 1", (session_id,)
    )
    return found.fetchone() is not None


def idle_longest(connection: Connection) -> list[ItemId]:
    """Items whose session lives and is in no turn, the one idle longest first."""
    rows = connection.execute(
        "SELECT s.item_id FROM sessions s WHERE s.state = 'live' AND NOT EXISTS (SELECT 1 FROM turns t"
        " WHERE t.item_id = s.item_id AND t.state IN ('frozen', 'handed', 'taken', 'interrupted')) ORDER BY s.last_turn_at"
    )
    return [ItemId(row[0]) for row in rows]


def count_refused(connection: Connection, item_id: ItemId, refused: int, since_ms: int) -> None:
    """More comments that the next session must be told of."""
    connection.execute(
        "UPDATE items SET refused = refused + ?1, refused_since = min(coalesce(refused_since, ?2), ?2) WHERE item_id = ?3",
        (refused, since_ms, item_id),
    )


def owe_resumption(connection: Connection, turn_id: TurnId) -> None:
    """The agent had this turn when its host died: it is to be told to go on."""
    connection.execute("UPDATE turns SET owes_resumption = 1 WHERE turn_id = ?", (turn_id,))


def pay_resumption(connection: Connection, item_id: ItemId) -> None:
    """The agent is told, or need not be any more."""
    connection.execute("UPDATE turns SET owes_resumption = 0 WHERE item_id = ? AND owes_resumption = 1", (item_id,))


def note_conversation(connection: Connection, session_id: SessionId, conversation_id: str) -> None:
    """The agent's own name of the conversation, by which it is loaded again."""
    connection.execute("UPDATE sessions SET conversation_id = ? WHERE session_id = ?", (conversation_id, session_id))


def forget_conversation(connection: Connection, session_id: SessionId) -> None:
    """The conversation is gone: the session goes on with a new one, which gets the open turn as a repeat."""
    connection.execute("UPDATE sessions SET conversation_id = NULL WHERE session_id = ?", (session_id,))
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


def freeze(connection: Connection, row: TurnRow, keys: Sequence[EventKey]) -> None:
    """Write a turn and tie its events to it."""
    connection.execute(
        "INSERT INTO turns (turn_id, item_id, session_id, state, kind, prompt, host, repository_id, number, tells_refused,"
        " follows, frozen_at, interruptions) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            row.turn_id, row.item_id, row.session_id, TurnState.FROZEN, row.kind, row.prompt, row.thread.host,
            row.thread.repository_id, row.thread.number, row.tells_refused, row.follows, row.frozen_at_ms,
            row.interruptions,
        ),
    )  # fmt: skip
    connection.executemany(
        "INSERT INTO turn_events (turn_id, event_key, position) VALUES (?,?,?)",
        ((row.turn_id, key, position) for position, key in enumerate(keys)),
    )
    connection.executemany(
        "UPDATE fates SET step = 'frozen', turn_id = ?, changed_at = ? WHERE event_key = ? AND item_id = ?",
        ((row.turn_id, row.frozen_at_ms, key, row.item_id) for key in keys),
    )


def take_back(connection: Connection, turn_id: TurnId, now_ms: int) -> None:
    """Cancel a frozen turn: its events wait again. Nothing where it was handed over meanwhile."""
    connection.execute(
        "UPDATE turns SET state = 'cancelled', ended_at = ? WHERE turn_id = ? AND state = 'frozen'", (now_ms, turn_id)
    )
    if connection.changes():
        _wait_again(connection, turn_id, now_ms)


def let_go(connection: Connection, turn_id: TurnId, now_ms: int) -> None:
    """Close a turn that no agent took, whatever its state: its events wait again."""
    connection.execute("UPDATE turns SET state = 'cancelled', ended_at = ? WHERE turn_id = ?", (now_ms, turn_id))
    _wait_again(connection, turn_id, now_ms)


def repeat(connection: Connection, old: TurnRow, new: TurnRow, keys: Sequence[EventKey]) -> None:
    """A new turn takes over an old one's events, for a conversation that never heard of it."""
    connection.execute(
        "UPDATE turns SET state = 'cancelled', stop_reason = 'repeated', ended_at = ? WHERE turn_id = ?",
        (new.frozen_at_ms, old.turn_id),
    )
    freeze(connection, new, ())
    connection.executemany(
        "INSERT INTO turn_events (turn_id, event_key, position) VALUES (?,?,?)",
        ((new.turn_id, key, position) for position, key in enumerate(keys)),
    )
    connection.execute("UPDATE fates SET turn_id = ? WHERE turn_id = ?", (new.turn_id, old.turn_id))


def mark_handed(connection: Connection, turn_id: TurnId, now_ms: int) -> bool:
    """From now on a host may have it; False where it was taken back meanwhile."""
    connection.execute(
        "UPDATE turns SET state = 'handed', handed_at = ? WHERE turn_id = ? AND state IN ('frozen', 'interrupted')",
        (now_ms, turn_id),
    )
    return bool(connection.changes())


def mark_taken(connection: Connection, turn_id: TurnId, receipt: str, now_ms: int) -> list[FateRow]:
    """The agent has it: done, for all its comments at once. Returns the rows as they were, empty on a repetition."""
    connection.execute(
        "UPDATE turns SET state = 'taken', receipt = ?, taken_at = ? WHERE turn_id = ?"
        " AND state IN ('frozen', 'handed', 'interrupted') AND taken_at IS NULL",
        (receipt, now_ms, turn_id),
    )
    if not connection.changes():
        connection.execute(
            "UPDATE turns SET state = 'taken' WHERE turn_id = ? AND state IN ('handed', 'interrupted')", (turn_id,)
        )
        return []
    rows = connection.execute(f"SELECT {FATE_COLUMNS} FROM fates WHERE turn_id = ? AND fate = 'inflight'", (turn_id,))  # noqa: S608
    return [read_fate(row) for row in rows]


def mark_ended(connection: Connection, turn_id: TurnId, state: TurnState, stop_reason: str, answer: str, before: str,
               used: str, now_ms: int) -> bool:  # fmt: skip
    """The turn is over; False where that was known."""
    connection.execute(
        "UPDATE turns SET state = ?, stop_reason = ?, answer = ?, before_tools = ?, used = ?, ended_at = ?"
        " WHERE turn_id = ? AND state IN ('frozen', 'handed', 'taken', 'interrupted')",
        (state, stop_reason, answer, before, used, now_ms, turn_id),
    )
    changed = bool(connection.changes())
    connection.execute(
        "UPDATE sessions SET last_turn_at = ? WHERE session_id = (SELECT session_id FROM turns WHERE turn_id = ?)",
        (now_ms, turn_id),
    )
    return changed


def mark_interrupted(connection: Connection, item_id: ItemId) -> TurnId | None:
    """The host of the item's turn died, or would not start for it; counted once each."""
    row = connection.execute(
        "UPDATE turns SET state = 'interrupted', interruptions = interruptions + 1"
        " WHERE item_id = ? AND state IN ('handed', 'taken', 'interrupted') RETURNING turn_id",
        (item_id,),
    ).fetchone()
    return TurnId(row[0]) if row else None


def mark_cancelling(connection: Connection, turn_id: TurnId, now_ms: int) -> None:
    """The turn's end was asked for."""
    connection.execute(
        "UPDATE turns SET cancelling_at = coalesce(cancelling_at, ?) WHERE turn_id = ?", (now_ms, turn_id)
    )


def put_off(connection: Connection, turn_id: TurnId, not_before_ms: int) -> None:
    """The turn is to be handed over again, later, at no charge."""
    connection.execute(
        "UPDATE turns SET state = 'interrupted', not_before = ? WHERE turn_id = ? AND state IN ('handed', 'taken')",
        (not_before_ms, turn_id),
    )


def set_fates(connection: Connection, item_id: ItemId, keys: Sequence[EventKey], fate: Fate, now_ms: int,
              outcome: Outcome | None = None, reason: UnhandledReason | None = None) -> None:  # fmt: skip
    """End rows of an item; a row that is done stays done."""
    connection.executemany(
        "UPDATE fates SET fate = ?, step = '', outcome = ?, reason = ?, changed_at = ?, fence = fence + 1"
        " WHERE event_key = ? AND item_id = ? AND fate <> 'done'",
        ((fate, outcome or "", reason or "", now_ms, key, item_id) for key in keys),
    )


def set_attempts(connection: Connection, item_id: ItemId, keys: Sequence[EventKey], attempts: int, next_at_ms: int,
                 now_ms: int) -> None:  # fmt: skip
    """When rows are tried again."""
    connection.executemany(
        "UPDATE fates SET attempts = ?, next_at = ?, changed_at = ? WHERE event_key = ? AND item_id = ?",
        ((attempts, next_at_ms, now_ms, key, item_id) for key in keys),
    )


def told_refused(connection: Connection, item_id: ItemId, told: int) -> None:
    """A session heard of that many refused comments."""
    connection.execute(
        "UPDATE items SET refused = max(0, refused - ?), refused_since = CASE WHEN refused <= ? THEN NULL ELSE refused_since"
        " END WHERE item_id = ?",
        (told, told, item_id),
    )


def set_removal(connection: Connection, item_id: ItemId, removal: str) -> None:
    """What shall become of the clone."""
    connection.execute("UPDATE items SET removal = ? WHERE item_id = ?", (removal, item_id))


def set_failed(connection: Connection, item_id: ItemId, generation: str | None) -> None:
    """The start of this generation gave up; None: it is tried again."""
    connection.execute("UPDATE items SET failed_generation = ? WHERE item_id = ?", (generation, item_id))


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


def _waiting(row: tuple[Any, ...]) -> WaitingRow:
    width = len(FATE_COLUMNS.split(","))
    fate = read_fate(row[:width])
    document, body, url, accepted_at = row[width:]
    event = codec.read_event(fate.event_key, document, body, url)
    if fate.verb is not None or fate.step in (Step.NEED, Step.BEHIND):
        event = codec.with_reading(event)
    return WaitingRow(fate, event, accepted_at)


def _wait_again(connection: Connection, turn_id: TurnId, now_ms: int) -> None:
    connection.execute(
        "UPDATE fates SET step = ?, turn_id = NULL, changed_at = ? WHERE turn_id = ? AND fate = 'inflight'",
        (Step.QUEUED, now_ms, turn_id),
    )
