"""What the operator asks of the store, read-only: works beside a running service, and without one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from domain.model import Event, EventKey, ItemId, Label, Thread, TurnId
from statedb import codec
from statedb.database import Connection
from statedb.reading import FATE_COLUMNS, ITEM_COLUMNS, read_fate, read_item, still_refused
from statedb.rows import FateRow, ItemRow

KEYS_MAX = 100
"""How many events one object or item shows at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An event as it was kept, with its own form for what only people read."""

    event: Event
    key: EventKey
    accepted_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """One delivery, however often it came."""

    road: str
    delivery_id: str
    first_at_ms: int
    last_at_ms: int
    count: int
    resolved_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFound:
    """A turn, without its prompt."""

    turn_id: TurnId
    session_id: str
    state: str
    kind: str
    frozen_at_ms: int
    handed_at_ms: int | None
    taken_at_ms: int | None
    ended_at_ms: int | None
    receipt: str
    stop_reason: str
    used: str
    """JSON: what the agent reported."""
    interruptions: int
    keys: tuple[EventKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFound:
    """One part of a reply, with what is known of its sending."""

    reply_id: str
    origin: str
    kind: str
    channel: str
    part: int
    state: str
    wire: str
    attempts: int
    retry_at_ms: int
    fail_text: str
    url: str
    whole: str
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFound:
    """A session of an item, ended or not."""

    session_id: str
    item_id: ItemId
    harness: str
    state: str
    branch: str
    clone: str
    waits_for_person: bool
    created_at_ms: int
    last_turn_at_ms: int
    ended_at_ms: int | None
    end_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStanding:
    """A work item with what stands on it."""

    item: ItemRow
    session: SessionFound | None
    waiting: int
    """Events whose fate is inflight."""
    gave_up: int
    in_turn: bool


def items_by_label(connection: Connection, label: Label) -> list[ItemRow]:
    """The items that a label may mean, the one heard of last first: names may pass from one repository to another.

    A thread that belongs to another item (a pull request that a session opened) is found by that repository's name.
    """
    columns = ", ".join(f"i.{name.strip()}" for name in ITEM_COLUMNS.split(","))
    rows = connection.execute(
        f"SELECT DISTINCT {columns} FROM items i JOIN threads t USING (item_id)"  # noqa: S608 constant
        " WHERE t.host = ?1 AND t.number = ?3 AND lower(i.repository) = lower(?2) ORDER BY i.changed_at DESC",
        (label.host, label.repository, label.number),
    )
    return [read_item(row) for row in rows]


def item_by_thread(connection: Connection, thread: Thread) -> ItemRow | None:
    """The item that a thread belongs to."""
    columns = ", ".join(f"i.{name.strip()}" for name in ITEM_COLUMNS.split(","))
    row = connection.execute(
        f"SELECT {columns} FROM threads t JOIN items i USING (item_id)"  # noqa: S608 constant
        " WHERE t.host = ? AND t.repository_id = ? AND t.number = ?",
        (thread.host, thread.repository_id, thread.number),
    ).fetchone()
    return read_item(row) if row else None


def keys_about(connection: Connection, key: EventKey) -> list[EventKey]:
    """The event of that key and what happened later to the same text (`<key>/edited/…`, `<key>/deleted`), oldest first."""
    rows = connection.execute(
        "SELECT event_key FROM events WHERE event_key = ?1 OR (event_key > ?1 || '/' AND event_key < ?1 || '0')"
        " ORDER BY accepted_at LIMIT ?2",
        (key, KEYS_MAX),
    )
    return [EventKey(row[0]) for row in rows]


def keys_at(connection: Connection, url: str) -> list[EventKey]:
    """The events of an address, exactly as GitHub gave it."""
    rows = connection.execute(
        "SELECT event_key FROM events WHERE url = ? ORDER BY accepted_at LIMIT ?", (url, KEYS_MAX)
    )
    return [EventKey(row[0]) for row in rows]


def keys_delivered(connection: Connection, delivery_id: str) -> list[EventKey]:
    """The event that a delivery brought, on any road."""
    rows = connection.execute("SELECT DISTINCT event_key FROM deliveries WHERE delivery_id = ?", (delivery_id,))
    return [EventKey(row[0]) for row in rows]


def keys_answered_by(connection: Connection, comment_id: int) -> list[EventKey]:
    """The events behind a comment of ours: what it says something about, or what its turn carries."""
    rows = list(
        connection.execute(
            "SELECT r.origin, r.turn_id FROM reply_parts p JOIN replies r USING (reply_id) WHERE p.provider_id = ?",
            (comment_id,),
        )
    )
    keys: list[EventKey] = []
    for origin, turn_id in rows:
        keys += keys_of_turn(connection, TurnId(turn_id or origin)) or [EventKey(origin)]
    return keys


def keys_of_turn(connection: Connection, turn_id: TurnId) -> list[EventKey]:
    """The events that a turn carries, in its order."""
    rows = connection.execute("SELECT event_key FROM turn_events WHERE turn_id = ? ORDER BY position", (turn_id,))
    return [EventKey(row[0]) for row in rows]


def newest_keys_of_item(connection: Connection, item_id: ItemId, limit: int) -> list[EventKey]:
    """The events of an item that were decided last, oldest of them first."""
    rows = connection.execute(
        "SELECT event_key FROM fates WHERE item_id = ? ORDER BY decided_at DESC, event_key DESC LIMIT ?",
        (item_id, limit),
    )
    return [EventKey(row[0]) for row in rows][::-1]


def kept(connection: Connection, key: EventKey) -> Kept | None:
    """An event with its commands read off its text again."""
    row = connection.execute(
        "SELECT document, body, url, accepted_at FROM events WHERE event_key = ?", (key,)
    ).fetchone()
    if row is None:
        return None
    event = codec.with_reading(codec.read_event(key, row[0], row[1], row[2]))
    return Kept(event=event, key=key, accepted_at_ms=row[3])


def fates(connection: Connection, key: EventKey) -> list[FateRow]:
    """What became of an event, for each item."""
    rows = connection.execute(f"SELECT {FATE_COLUMNS} FROM fates WHERE event_key = ? ORDER BY item_id", (key,))  # noqa: S608
    return [read_fate(row) for row in rows]


def arrivals(connection: Connection, key: EventKey) -> list[Arrivals]:
    """Every delivery that brought an event, the first one first."""
    rows = connection.execute(
        "SELECT road, delivery_id, first_at, last_at, arrivals, resolved_at FROM deliveries WHERE event_key = ?"
        " ORDER BY first_at, road, delivery_id",
        (key,),
    )
    return [
        Arrivals(
            road=row[0], delivery_id=row[1], first_at_ms=row[2], last_at_ms=row[3], count=row[4], resolved_at_ms=row[5]
        )
        for row in rows
    ]  # fmt: skip


def turns_of(connection: Connection, key: EventKey) -> list[TurnFound]:
    """The turns that carry or carried an event, oldest first."""
    rows = connection.execute(
        f"SELECT {_TURN} FROM turn_events e JOIN turns t USING (turn_id) WHERE e.event_key = ? ORDER BY t.frozen_at",  # noqa: S608
        (key,),
    ).fetchall()
    return [_turn(connection, row) for row in rows]


def parts_of(connection: Connection, origins: Iterable[str]) -> list[PartFound]:
    """The replies recorded for these origins (event keys and turn ids), each part, oldest first."""
    rows = connection.execute(
        "SELECT r.reply_id, r.origin, r.kind, r.channel, p.part, p.state, p.wire, p.attempts, p.retry_at, p.fail_text,"
        " p.provider_url, r.whole, r.created_at FROM json_each(?) w JOIN replies r ON r.origin = w.value"
        " JOIN reply_parts p USING (reply_id) ORDER BY r.created_at, r.kind, r.number, p.part",
        (json.dumps(list(origins)),),
    )
    return [
        PartFound(
            reply_id=row[0], origin=row[1], kind=row[2], channel=row[3], part=row[4], state=row[5], wire=row[6],
            attempts=row[7], retry_at_ms=row[8], fail_text=row[9], url=row[10], whole=row[11], created_at_ms=row[12],
        )
        for row in rows
    ]  # fmt: skip


def standings(connection: Connection, item_id: ItemId | None = None) -> list[ItemStanding]:
    """Every item that people asked something of, the one that changed last first; or the one item."""
    columns = ", ".join(f"i.{name.strip()}" for name in ITEM_COLUMNS.split(","))
    found = connection.execute(
        f"SELECT {columns},"  # noqa: S608 constant
        " (SELECT count(*) FROM fates f WHERE f.item_id = i.item_id AND f.fate = 'inflight'),"
        " (SELECT count(*) FROM fates f WHERE f.item_id = i.item_id AND f.reason = 'given-up'),"
        " (SELECT count(*) FROM turns t WHERE t.item_id = i.item_id AND t.state IN ('handed', 'taken')),"
        " i.item_id FROM items i"
        " WHERE CASE WHEN ?1 IS NULL THEN i.phase <> 'none' OR EXISTS"
        " (SELECT 1 FROM fates f WHERE f.item_id = i.item_id AND f.fate IN ('inflight', 'unhandled'))"
        " ELSE i.item_id = ?1 END ORDER BY i.changed_at DESC",
        (item_id,),
    )
    rows = list(found)
    return [
        ItemStanding(
            item=_as_told(connection, read_item(row[:-4])), session=newest_session(connection, ItemId(row[-1])),
            waiting=row[-4], gave_up=row[-3], in_turn=bool(row[-2]),
        )
        for row in rows
    ]  # fmt: skip


def newest_session(connection: Connection, item_id: ItemId) -> SessionFound | None:
    """The session that an item has, or had last."""
    row = connection.execute(
        "SELECT session_id, item_id, harness, state, branch, clone, waits_for_person, created_at, last_turn_at, ended_at,"
        " end_reason FROM sessions WHERE item_id = ? ORDER BY state = 'ended', created_at DESC LIMIT 1",
        (item_id,),
    ).fetchone()
    if row is None:
        return None
    return SessionFound(
        session_id=row[0], item_id=ItemId(row[1]), harness=row[2], state=row[3], branch=row[4], clone=row[5],
        waits_for_person=bool(row[6]), created_at_ms=row[7], last_turn_at_ms=row[8], ended_at_ms=row[9],
        end_reason=row[10],
    )  # fmt: skip


def count_by(connection: Connection, what: str) -> dict[str, int]:
    """How many rows there are of each kind; `what` is one of COUNTS."""
    return dict(connection.execute(COUNTS[what]))


def gave_up(connection: Connection, limit: int) -> list[tuple[EventKey, str, int]]:
    """The events that were given up last: key, address and when."""
    rows = connection.execute(
        "SELECT f.event_key, e.url, f.changed_at FROM fates f JOIN events e USING (event_key)"
        " WHERE f.reason = 'given-up' ORDER BY f.changed_at DESC LIMIT ?",
        (limit,),
    )
    return [(EventKey(key), url, at_ms) for key, url, at_ms in rows]


def library_version() -> tuple[int, ...]:
    """The version of the SQLite that we carry."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))


COUNTS = {
    "phases": (
        "SELECT CASE WHEN phase = 'running' AND failed_generation = folded ->> 'generation' THEN 'failed' ELSE phase END"
        " AS now, count(*) FROM items GROUP BY now"
    ),
    "sessions": "SELECT state, count(*) FROM sessions GROUP BY state",
    "waiting": "SELECT step, count(*) FROM fates WHERE fate = 'inflight' GROUP BY step",
    "unhandled": "SELECT reason, count(*) FROM fates WHERE fate = 'unhandled' GROUP BY reason",
    "replies": (
        "SELECT state, count(*) FROM reply_parts WHERE state NOT IN ('delivered', 'dead', 'abandoned') GROUP BY state"
    ),
    "lost_replies": "SELECT state, count(*) FROM reply_parts WHERE state IN ('dead', 'abandoned') GROUP BY state",
}

_TURN = (
    "t.turn_id, t.session_id, t.state, t.kind, t.frozen_at, t.handed_at, t.taken_at, t.ended_at, t.receipt,"
    " t.stop_reason, t.used, t.interruptions"
)


def _as_told(connection: Connection, item: ItemRow) -> ItemRow:
    """The item with as many refused comments as the next session is told of."""
    return replace(item, refused=len(still_refused(connection, item, item.refused)))


def _turn(connection: Connection, row: Sequence[Any]) -> TurnFound:
    return TurnFound(
        turn_id=TurnId(row[0]), session_id=row[1], state=row[2], kind=row[3], frozen_at_ms=row[4], handed_at_ms=row[5],
        taken_at_ms=row[6], ended_at_ms=row[7], receipt=row[8], stop_reason=row[9], used=row[10],
        interruptions=row[11], keys=tuple(keys_of_turn(connection, TurnId(row[0]))),
    )  # fmt: skip
