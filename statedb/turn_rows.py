"""Turns in the store, from frozen to ended; each write runs inside the committer's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.model import (
    EventKey,
    ItemId,
    SessionId,
    Thread,
    TurnId,
)
from domain.turns import OpenTurn, TurnState
from statedb.database import Connection
from statedb.reading import FATE_COLUMNS, read_fate
from statedb.rows import FateRow, Step


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
    is_overdue: bool = False
    """It is being ended because the agent shows no sign of it."""


def open_turn(connection: Connection, item_id: ItemId) -> OpenTurn | None:
    """The item's turn that has not ended."""
    return _open_turn(connection, "state IN ('frozen', 'handed', 'taken', 'interrupted')", item_id)


def had_turn(connection: Connection, item_id: ItemId) -> OpenTurn | None:
    """The item's turn that some host had, or that makes up for one: it is looked up, repeated or gone on with."""
    is_open = "state IN ('frozen', 'handed', 'taken', 'interrupted') AND (written_by_host = 1 OR kind <> 'events')"
    return _open_turn(connection, f"({is_open}) OR owes_resumption = 1", item_id)


def owed_turn(connection: Connection, item_id: ItemId) -> OpenTurn | None:
    """A turn that the agent was found to have when its host died, and that nobody has told it to go on with."""
    return _open_turn(connection, "owes_resumption = 1", item_id)


def turn(connection: Connection, turn_id: TurnId) -> TurnRow | None:
    """A turn."""
    row = connection.execute(
        "SELECT turn_id, item_id, session_id, state, kind, prompt, host, repository_id, number, tells_refused, follows,"
        " frozen_at, taken_at, interruptions, written_by_host, overdue FROM turns WHERE turn_id = ?",
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
        is_overdue=bool(row[15]),
    )


def said_in_turn(connection: Connection, turn_id: TurnId) -> list[str]:
    """What the agent said through the seat during a turn."""
    rows = connection.execute(
        "SELECT whole FROM replies WHERE origin = ? AND kind IN ('reply', 'question') ORDER BY kind, number", (turn_id,)
    )
    return [row[0] for row in rows]


def note_written(connection: Connection, turn_id: TurnId) -> None:
    """A host wrote the turn down."""
    connection.execute("UPDATE turns SET written_by_host = 1 WHERE turn_id = ?", (turn_id,))


def owe_resumption(connection: Connection, turn_id: TurnId) -> None:
    """The agent had this turn when its host died: it is to be told to go on."""
    connection.execute("UPDATE turns SET owes_resumption = 1 WHERE turn_id = ?", (turn_id,))


def pay_resumption(connection: Connection, item_id: ItemId) -> None:
    """The agent is told, or need not be any more."""
    connection.execute("UPDATE turns SET owes_resumption = 0 WHERE item_id = ? AND owes_resumption = 1", (item_id,))


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
    """From now on a host may have it; False where it was taken back meanwhile, or its session's host has ended."""
    connection.execute(
        "UPDATE turns SET state = 'handed', overdue = 0, handed_at = ?"
        " WHERE turn_id = ? AND state IN ('frozen', 'interrupted')"
        " AND (SELECT state FROM sessions WHERE sessions.session_id = turns.session_id) = 'live'",
        (now_ms, turn_id),
    )
    handed = bool(connection.changes())
    connection.execute(
        "UPDATE sessions SET waits_for_person = 0 WHERE session_id = (SELECT session_id FROM turns WHERE turn_id = ?)",
        (turn_id,),
    )
    return handed


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
    connection.execute(
        "UPDATE sessions SET heard = 1 WHERE session_id = (SELECT session_id FROM turns WHERE turn_id = ?)", (turn_id,)
    )
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
    """The turn is looked up or handed over again, not before that time; no interruption is counted."""
    connection.execute(
        "UPDATE turns SET not_before = ?, state = CASE WHEN state IN ('handed', 'taken') THEN 'interrupted' ELSE state END"
        " WHERE turn_id = ?",
        (not_before_ms, turn_id),
    )


def count_start_failure(connection: Connection, turn_id: TurnId, failures: int, interruptions: int) -> None:
    """How often no session could be opened to look the turn up."""
    connection.execute(
        "UPDATE turns SET start_failures = ?, interruptions = ? WHERE turn_id = ?", (failures, interruptions, turn_id)
    )


def write_anew(connection: Connection, turn_id: TurnId) -> None:
    """The turn's text is to be handed over under another id."""
    connection.execute("UPDATE turns SET must_repeat = 1, state = 'interrupted' WHERE turn_id = ?", (turn_id,))


def mark_overdue(connection: Connection, turn_id: TurnId) -> None:
    """The turn is ended because the agent shows no sign of it: that is no stop by anybody."""
    connection.execute("UPDATE turns SET overdue = 1 WHERE turn_id = ?", (turn_id,))


def _open_turn(connection: Connection, which: str, item_id: ItemId) -> OpenTurn | None:
    row = connection.execute(
        "SELECT turn_id, state, interruptions, handed_at, cancelling_at, not_before, must_repeat, start_failures FROM turns"  # noqa: S608
        f" WHERE item_id = ? AND ({which}) ORDER BY frozen_at LIMIT 1",
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
        start_failures=row[7],
    )


def _wait_again(connection: Connection, turn_id: TurnId, now_ms: int) -> None:
    connection.execute(
        "UPDATE fates SET step = ?, turn_id = NULL, changed_at = ? WHERE turn_id = ? AND fate = 'inflight'",
        (Step.QUEUED, now_ms, turn_id),
    )
