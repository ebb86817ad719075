"""What a batch of decisions looks at, read set-based: one statement a table, however many events are in the batch."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from domain.control import Verb
from domain.model import (
    Event,
    EventKey,
    Fact,
    Fate,
    ItemId,
    Outcome,
    Place,
    Thread,
    TurnId,
    UnhandledReason,
)
from domain.phase import PhaseCommand
from statedb import codec
from statedb.rows import FateRow, ItemRow, Removal, Step, TextRow

ObjectKey = tuple[str, str, int]
"""Host, kind and id of a comment or review."""

REFUSED = (Outcome.AWAITING_START, Outcome.SESSION_PAUSED, Outcome.SESSION_STOPPED, Outcome.NOT_AUTHORIZED)
"""How a comment ends that the next session is told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfOurs:
    """A reply's part that a comment of our own account may be."""

    reply_id: str
    part: int
    is_open: bool
    """Its sending is open or in doubt."""
    provider_id: int | None


@dataclass(slots=True)
class Seen:
    """The store as a batch finds it."""

    fates: dict[EventKey, list[FateRow]] = field(default_factory=dict)
    threads: dict[Thread, ItemId] = field(default_factory=dict)
    items: dict[ItemId, ItemRow] = field(default_factory=dict)
    texts: dict[ObjectKey, TextRow] = field(default_factory=dict)
    waiting: set[EventKey] = field(default_factory=set)
    """Of the texts' events, those that no session has and whose turn has not been handed over."""
    turns: dict[EventKey, TurnId] = field(default_factory=dict)
    """Of those, the frozen turn that carries them."""
    undecided: dict[ItemId, list[Place]] = field(default_factory=dict)
    live: set[ItemId] = field(default_factory=set)
    """Items that have a session."""
    next_item_id: int = 1
    """For the first new item; looked up where there is a thread whose item we do not know."""


def see(connection: apsw.Connection, events: Sequence[Event], keys: Iterable[EventKey]) -> Seen:
    """All that deciding these events may look at."""
    seen = Seen()
    threads = {event.thread for event in events}
    for thread, item in _items_of_threads(connection, threads):
        seen.threads[thread] = item.item_id
        seen.items[item.item_id] = item
    seen.texts = _texts(connection, {(e.thread.host, e.fact.value, e.object_id) for e in events})
    seen.fates = fates_of(connection, {*keys, *(text.event_key for text in seen.texts.values())})
    if seen.texts:
        _see_waiting(connection, seen)
    if seen.items:
        _see_items(connection, seen, list(seen.items))
    if len(seen.threads) < len(threads):
        ((seen.next_item_id,),) = connection.execute("SELECT coalesce(max(item_id), 0) + 1 FROM items")
    return seen


def fates_of(connection: apsw.Connection, keys: Iterable[EventKey]) -> dict[EventKey, list[FateRow]]:
    """The rows of each event that has any."""
    found: dict[EventKey, list[FateRow]] = defaultdict(list)
    rows = connection.execute(
        f"SELECT {FATE_COLUMNS} FROM fates WHERE event_key IN (SELECT value FROM json_each(?))",  # noqa: S608 constant
        (json.dumps(list(keys)),),
    )
    for row in rows:
        fate = read_fate(row)
        found[fate.event_key].append(fate)
    return dict(found)


def item_by_id(connection: apsw.Connection, item_id: ItemId) -> ItemRow | None:
    """The item of that id."""
    row = connection.execute(f"SELECT {ITEM_COLUMNS} FROM items WHERE item_id = ?", (item_id,)).fetchone()  # noqa: S608
    return read_item(row) if row else None


def label_of(connection: apsw.Connection, item_id: ItemId) -> str:
    """How the log names an item."""
    item = item_by_id(connection, item_id)
    return str(item.label) if item is not None else ""


def commands_of(connection: apsw.Connection, item_id: ItemId) -> list[PhaseCommand]:
    """Every command of an item that the fold reads, in no order."""
    rows = connection.execute(
        "SELECT event_key, verb, place_at, place_fact, place_number FROM commands WHERE item_id = ?", (item_id,)
    )
    return [
        PhaseCommand(key=EventKey(key), verb=Verb(verb), place=Place(at_ms=at, fact=Fact(fact), number=number))
        for key, verb, at, fact, number in rows
    ]


def still_refused(connection: apsw.Connection, item: ItemRow, newest: int) -> set[tuple[Fact, int]]:
    """Of an item's `newest` refusals the comments that stand on the thread, by kind and id; an edited one is one.

    The item counts the refusals that no session was told of, and those are its newest.
    """
    if newest <= 0:
        return set()
    rows = connection.execute(
        "SELECT f.place_fact, f.place_number FROM (SELECT place_fact, place_number FROM fates WHERE item_id = ?"
        " AND outcome IN (SELECT value FROM json_each(?)) ORDER BY changed_at DESC, place_at DESC LIMIT ?) f"
        " LEFT JOIN texts t ON t.host = ? AND t.fact = f.place_fact AND t.object_id = f.place_number"
        " WHERE t.deleted_at IS NULL",
        (item.item_id, json.dumps(REFUSED), newest, item.home.host),
    )
    return {(Fact(fact), number) for fact, number in rows}


def part_of_ours(connection: apsw.Connection, object_id: int, reply_id: str | None, part: int) -> PartOfOurs | None:
    """The part that has this comment's id on record, or that its marker names."""
    row = connection.execute(
        "SELECT reply_id, part, state, provider_id FROM reply_parts WHERE provider_id = ?", (object_id,)
    ).fetchone()
    if row is None and reply_id is not None:
        row = connection.execute(
            "SELECT reply_id, part, state, provider_id FROM reply_parts WHERE reply_id = ? AND part = ?",
            (reply_id, part),
        ).fetchone()
    if row is None:
        return None
    return PartOfOurs(
        reply_id=row[0], part=row[1], is_open=row[2] not in ("delivered", "dead", "abandoned"), provider_id=row[3]
    )


FATE_COLUMNS = (
    "event_key, item_id, fate, step, outcome, reason, verb, effect, place_at, place_fact, place_number, attempts, next_at,"
    " turn_id, decision, decided_at, changed_at"
)
ITEM_COLUMNS = (
    "item_id, host, repository_id, number, repository, phase, folded, failed_generation, refused, refused_since, snapshot,"
    " other_instance, other_instance_at, newest_at, removal, created_at, changed_at"
)


def read_fate(row: tuple[Any, ...]) -> FateRow:
    """A row of FATE_COLUMNS."""
    return FateRow(
        event_key=EventKey(row[0]),
        item_id=ItemId(row[1]),
        fate=Fate(row[2]),
        step=Step(row[3]),
        outcome=Outcome(row[4]) if row[4] else None,
        reason=UnhandledReason(row[5]) if row[5] else None,
        verb=Verb(row[6]) if row[6] else None,
        effect=row[7],
        place=Place(at_ms=row[8], fact=Fact(row[9]), number=row[10]),
        attempts=row[11],
        next_at_ms=row[12],
        turn_id=TurnId(row[13]) if row[13] else None,
        decision=row[14],
        decided_at_ms=row[15],
        changed_at_ms=row[16],
    )


def read_item(row: tuple[Any, ...]) -> ItemRow:
    """A row of ITEM_COLUMNS."""
    return ItemRow(
        item_id=ItemId(row[0]),
        home=Thread(host=row[1], repository_id=row[2], number=row[3]),
        repository=row[4],
        folded=codec.read_folded(row[5], row[6]),
        failed_generation=EventKey(row[7]) if row[7] else None,
        refused=row[8],
        refused_since_ms=row[9],
        snapshot=codec.read_snapshot(row[10]) if row[10] else None,
        other_instance=row[11],
        other_instance_at_ms=row[12],
        newest_ms=row[13],
        removal=Removal(row[14]),
        created_at_ms=row[15],
        changed_at_ms=row[16],
    )


def _items_of_threads(connection: apsw.Connection, threads: set[Thread]) -> list[tuple[Thread, ItemRow]]:
    columns = ", ".join(f"i.{name.strip()}" for name in ITEM_COLUMNS.split(","))
    rows = connection.execute(
        f"SELECT t.host, t.repository_id, t.number, {columns}"  # noqa: S608 constant
        " FROM json_each(?) w JOIN threads t ON t.host = w.value ->> 0 AND t.repository_id = w.value ->> 1"
        " AND t.number = w.value ->> 2 JOIN items i ON i.item_id = t.item_id",
        (json.dumps([[t.host, t.repository_id, t.number] for t in threads]),),
    )
    return [(Thread(host=row[0], repository_id=row[1], number=row[2]), read_item(row[3:])) for row in rows]


def _texts(connection: apsw.Connection, objects: set[ObjectKey]) -> dict[ObjectKey, TextRow]:
    rows = connection.execute(
        "SELECT x.host, x.fact, x.object_id, x.item_id, x.event_key, x.updated_at, x.body_sha256, x.verbs, x.deleted_at"
        " FROM json_each(?) w JOIN texts x ON x.host = w.value ->> 0 AND x.fact = w.value ->> 1"
        " AND x.object_id = w.value ->> 2",
        (json.dumps([list(key) for key in objects]),),
    )
    return {
        (row[0], row[1], row[2]): TextRow(
            host=row[0],
            fact=Fact(row[1]),
            object_id=row[2],
            item_id=ItemId(row[3]),
            event_key=EventKey(row[4]),
            updated_at_ms=row[5],
            body_sha256=row[6],
            verbs=tuple(Verb(verb) for verb in json.loads(row[7])),
            deleted_at_ms=row[8],
        )
        for row in rows
    }


def _see_waiting(connection: apsw.Connection, seen: Seen) -> None:
    rows = connection.execute(
        "SELECT f.event_key, f.turn_id FROM json_each(?) w JOIN fates f ON f.event_key = w.value"
        " LEFT JOIN turns t ON t.turn_id = f.turn_id"
        " WHERE f.fate = 'inflight' AND (f.step IN ('queued', 'behind') OR (f.step = 'frozen' AND t.state = 'frozen'))",
        (json.dumps([text.event_key for text in seen.texts.values()]),),
    )
    for key, turn_id in rows:
        seen.waiting.add(EventKey(key))
        if turn_id:
            seen.turns[EventKey(key)] = TurnId(turn_id)


def _see_items(connection: apsw.Connection, seen: Seen, item_ids: list[ItemId]) -> None:
    wanted = json.dumps(item_ids)
    rows = connection.execute(
        "SELECT f.item_id, f.place_at, f.place_fact, f.place_number FROM json_each(?) w"
        " JOIN fates f ON f.item_id = w.value AND f.fate = 'inflight' AND f.step = 'need'",
        (wanted,),
    )
    for item_id, at, fact, number in rows:
        seen.undecided.setdefault(ItemId(item_id), []).append(Place(at_ms=at, fact=Fact(fact), number=number))
    rows = connection.execute(
        "SELECT s.item_id FROM json_each(?) w JOIN sessions s ON s.item_id = w.value AND s.state <> 'ended'", (wanted,)
    )
    seen.live = {ItemId(row[0]) for row in rows}
