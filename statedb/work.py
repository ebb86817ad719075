"""What waits on an item, and how its rows go on; each write runs inside the committer's transaction."""

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
    TurnId,
    UnhandledReason,
)
from statedb import codec
from statedb.database import Connection
from statedb.reading import FATE_COLUMNS, read_fate
from statedb.rows import FateRow, Step


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


def given_up_rows(connection: Connection, item_id: ItemId) -> list[FateRow]:
    """Rows of an item whose budget of attempts is used up."""
    rows = connection.execute(
        f"SELECT {FATE_COLUMNS} FROM fates WHERE item_id = ? AND reason IN (?, ?)",  # noqa: S608 constant
        (item_id, UnhandledReason.GIVEN_UP, UnhandledReason.SESSION_OCCUPIED),
    )
    return [read_fate(row) for row in rows]


def load_of(connection: Connection, item_id: ItemId) -> tuple[int, bool]:
    """How many rows of an item wait for their turn, and whether an agent is at one."""
    ((waiting, in_turn),) = connection.execute(
        "SELECT (SELECT count(*) FROM fates WHERE item_id = ?1 AND fate = 'inflight' AND step IN ('queued', 'behind')),"
        " (SELECT count(*) FROM turns WHERE item_id = ?1 AND state IN ('handed', 'taken'))",
        (item_id,),
    )
    return waiting, bool(in_turn)


def count_refused(connection: Connection, item_id: ItemId, refused: int, since_ms: int) -> None:
    """More comments that the next session must be told of."""
    connection.execute(
        "UPDATE items SET refused = refused + ?1, refused_since = min(coalesce(refused_since, ?2), ?2) WHERE item_id = ?3",
        (refused, since_ms, item_id),
    )


def set_fates(connection: Connection, item_id: ItemId, keys: Sequence[EventKey], fate: Fate, now_ms: int,
              outcome: Outcome | None = None, reason: UnhandledReason | None = None) -> None:  # fmt: skip
    """End rows of an item; a row that is done stays done."""
    connection.executemany(
        "UPDATE fates SET fate = ?, step = '', outcome = ?, reason = ?, changed_at = ?, fence = fence + 1"
        " WHERE event_key = ? AND item_id = ? AND fate <> 'done'",
        ((fate, outcome or "", reason or "", now_ms, key, item_id) for key in keys),
    )


def only_polled(connection: Connection, keys: Sequence[EventKey]) -> set[EventKey]:
    """Of these events, those that no webhook brought: nobody would tell us of their deletion."""
    found = set()
    for key in keys:
        row = connection.execute("SELECT min(road = 'poll') FROM deliveries WHERE event_key = ?", (key,)).fetchone()
        if row is not None and row[0]:
            found.add(key)
    return found


def set_effect(connection: Connection, item_id: ItemId, key: EventKey, effect: str) -> None:
    """What a command came to after all."""
    connection.execute("UPDATE fates SET effect = ? WHERE event_key = ? AND item_id = ?", (effect, key, item_id))


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


def _waiting(row: tuple[Any, ...]) -> WaitingRow:
    width = len(FATE_COLUMNS.split(","))
    fate = read_fate(row[:width])
    document, body, url, accepted_at = row[width:]
    event = codec.read_event(fate.event_key, document, body, url)
    if fate.verb is not None or fate.step in (Step.NEED, Step.BEHIND):
        event = codec.with_reading(event)
    return WaitingRow(fate, event, accepted_at)
