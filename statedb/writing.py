"""Writes the rows of decisions: each table by a statement that takes many rows of a batch at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import apsw

from domain.model import ItemId
from domain.phase import PhaseCommand
from statedb import codec
from statedb.rows import AcceptedEvent, DeliveryRow, EchoRow, FateRow, ItemRow, ReplyRow, Rows, TextRow

REPLY_LIFE_MS = 24 * 3600 * 1000
"""How long a reply is tried before it is abandoned."""

ROWS_MAX = 64
"""How many rows one statement takes; a power of two."""


@dataclass(frozen=True, slots=True)
class Insert:
    """A statement for one row or for many.

    Every run of a statement gives the interpreter away and waits for it again, half a millisecond where another thread
    is busy: what takes one run a row lets a batch stand in line hundreds of times.
    """

    into: str
    columns: str
    ending: str = ""

    def run(self, connection: apsw.Connection, rows: Sequence[tuple[object, ...]]) -> list[tuple[Any, ...]]:
        """Insert the rows in order, by few statements of few different lengths, so that all stay prepared.

        Returns what the ending says of them, in no order.
        """
        returned: list[tuple[Any, ...]] = []
        start = 0
        while start < len(rows):
            count = min(ROWS_MAX, 1 << (len(rows) - start).bit_length() - 1)
            values = tuple(chain.from_iterable(rows[start : start + count]))
            returned += connection.execute(self._statement(count), values)
            start += count
        return returned

    @cache  # noqa: B019 - the few inserts are constants and each has seven lengths
    def _statement(self, count: int) -> str:
        row = f"({','.join('?' * (self.columns.count(',') + 1))})"
        return f"INSERT {self.into} ({self.columns}) VALUES {','.join([row] * count)} {self.ending}"  # noqa: S608 constants


def write_rows(connection: apsw.Connection, rows: Rows, now_ms: int) -> None:
    """Write all of it inside the open transaction. Later rows of one identity win."""
    _THREAD.run(connection, [(t.host, t.repository_id, t.number, item) for t, item in rows.threads])
    _ITEM.run(connection, [_item(item, now_ms) for item in rows.items.values()])
    _EVENT.run(connection, [_event(accepted) for accepted in rows.events])
    _FATE.run(connection, [_fate(fate) for fate in rows.fates])
    _DELIVERY.run(connection, [_delivery(delivery) for delivery in rows.deliveries])
    _TEXT.run(connection, [_text(text) for text in rows.texts])
    _COMMAND.run(connection, [_command(item, command) for item, command in rows.commands])
    _ACCOUNT.run(connection, [(a.host, a.login, a.account_id, now_ms) for a in rows.accounts])
    connection.executemany("UPDATE events SET body = ? WHERE event_key = ?", ((b, key) for key, b in rows.new_bodies))
    _write_replies(connection, rows.replies)
    for echo in rows.echoes:
        _write_echo(connection, echo, now_ms)
    for turn_id in rows.cancelled_turns:
        connection.execute(
            "UPDATE turns SET state = 'cancelled', ended_at = ? WHERE turn_id = ? AND state = 'frozen'",
            (now_ms, turn_id),
        )
        connection.execute(
            "UPDATE fates SET step = 'queued', turn_id = NULL, changed_at = ? WHERE turn_id = ? AND step = 'frozen'",
            (now_ms, turn_id),
        )


def write_reply(connection: apsw.Connection, reply: ReplyRow) -> bool:
    """Record something to say; False where the same (origin, kind, number) is recorded already."""
    return _write_replies(connection, [reply]) > 0


_THREAD = Insert("OR IGNORE INTO threads", "host, repository_id, number, item_id")
_ITEM = Insert(
    "INTO items",
    "item_id, host, repository_id, number, repository, phase, folded, failed_generation, refused, refused_since,"
    " snapshot, snapshot_updated_at, other_instance, other_instance_at, newest_at, removal, created_at, changed_at",
    "ON CONFLICT (item_id) DO UPDATE SET"
    " repository = excluded.repository, phase = excluded.phase, folded = excluded.folded,"
    " failed_generation = excluded.failed_generation, refused = excluded.refused, refused_since = excluded.refused_since,"
    " snapshot = excluded.snapshot, snapshot_updated_at = excluded.snapshot_updated_at,"
    " other_instance = excluded.other_instance, other_instance_at = excluded.other_instance_at,"
    " newest_at = excluded.newest_at, removal = excluded.removal, changed_at = excluded.changed_at",
)
_EVENT = Insert("OR IGNORE INTO events", "event_key, document, body, url, accepted_at")
_FATE = Insert(
    "INTO fates",
    "event_key, item_id, fate, step, outcome, reason, verb, effect, place_at, place_fact, place_number,"
    " attempts, next_at, turn_id, decision, decided_at, changed_at",
    "ON CONFLICT (event_key, item_id) DO UPDATE SET fate = excluded.fate, step = excluded.step,"
    " outcome = excluded.outcome, reason = excluded.reason, verb = excluded.verb, effect = excluded.effect,"
    " attempts = excluded.attempts, next_at = excluded.next_at, turn_id = excluded.turn_id,"
    " decision = excluded.decision, decided_at = excluded.decided_at, changed_at = excluded.changed_at, fence = fence + 1",
)
_DELIVERY = Insert(
    "INTO deliveries",
    "road, delivery_id, event_key, first_at, last_at, arrivals, resolved_at",
    "ON CONFLICT (road, delivery_id) DO UPDATE SET"
    " last_at = excluded.last_at, arrivals = arrivals + 1, resolved_at = coalesce(resolved_at, excluded.resolved_at)",
)
_TEXT = Insert(
    "INTO texts",
    "host, fact, object_id, item_id, event_key, updated_at, body_sha256, verbs, deleted_at",
    "ON CONFLICT (host, fact, object_id) DO UPDATE SET event_key = excluded.event_key,"
    " updated_at = excluded.updated_at, body_sha256 = excluded.body_sha256, verbs = excluded.verbs,"
    " deleted_at = coalesce(deleted_at, excluded.deleted_at)",
)
_COMMAND = Insert("OR IGNORE INTO commands", "event_key, item_id, verb, place_at, place_fact, place_number")
_ACCOUNT = Insert("OR IGNORE INTO accounts", "host, login, account_id, pinned_at")
_REPLY = Insert(
    "OR IGNORE INTO replies",
    "reply_id, origin, kind, number, item_id, turn_id, channel, target, whole, parts_total, state, created_at, expires_at",
    "RETURNING reply_id",
)
_REPLY_PART = Insert("INTO reply_parts", "reply_id, part, body, body_sha256, marker, state, wire, retry_at, updated_at")


def _item(row: ItemRow, now_ms: int) -> tuple[object, ...]:
    return (
        row.item_id, row.home.host, row.home.repository_id, row.home.number, row.repository,
        row.folded.phase, codec.write_folded(row.folded), row.failed_generation, row.refused, row.refused_since_ms,
        codec.write_snapshot(row.snapshot) if row.snapshot else None,
        row.snapshot.updated_at_ms if row.snapshot else 0,
        row.other_instance, row.other_instance_at_ms, row.newest_ms, row.removal, row.created_at_ms, now_ms,
    )  # fmt: skip


def _fate(row: FateRow) -> tuple[object, ...]:
    return (
        row.event_key, row.item_id, row.fate, row.step, row.outcome or "", row.reason or "", row.verb or "", row.effect,
        row.place.at_ms, row.place.fact, row.place.number, row.attempts, row.next_at_ms, row.turn_id, row.decision,
        row.decided_at_ms, row.changed_at_ms,
    )  # fmt: skip


def _delivery(row: DeliveryRow) -> tuple[object, ...]:
    return (row.road, row.delivery_id, row.event_key, row.at_ms, row.at_ms, 1, row.at_ms if row.resolved else None)


def _event(accepted: AcceptedEvent) -> tuple[object, ...]:
    event = accepted.event
    return (accepted.key, codec.write_event(event), event.body, event.url, accepted.accepted_at_ms)


def _command(item_id: ItemId, command: PhaseCommand) -> tuple[object, ...]:
    place = command.place
    return (command.key, item_id, command.verb, place.at_ms, place.fact, place.number)


def _text(row: TextRow) -> tuple[object, ...]:
    return (
        row.host, row.fact, row.object_id, row.item_id, row.event_key, row.updated_at_ms, row.body_sha256,
        codec.write_verbs(row.verbs), row.deleted_at_ms,
    )  # fmt: skip


def _write_replies(connection: apsw.Connection, replies: Sequence[ReplyRow]) -> int:
    """Record things to say; how many are new."""
    new = {reply_id for (reply_id,) in _REPLY.run(connection, [_reply(reply) for reply in replies])}
    _REPLY_PART.run(connection, [_first_part(reply) for reply in replies if reply.reply_id in new])
    return len(new)


def _reply(reply: ReplyRow) -> tuple[object, ...]:
    return (
        reply.reply_id, reply.origin, reply.kind, reply.number, reply.item_id, reply.turn_id, reply.channel, reply.target,
        reply.whole, 1, "open", reply.created_at_ms, reply.created_at_ms + REPLY_LIFE_MS,
    )  # fmt: skip


def _first_part(reply: ReplyRow) -> tuple[object, ...]:
    at_ms = reply.created_at_ms
    return (reply.reply_id, 0, reply.body, "", reply.marker, "queued", "never", at_ms, at_ms)


def _write_echo(connection: apsw.Connection, echo: EchoRow, now_ms: int) -> None:
    connection.execute(
        "UPDATE reply_parts SET state = 'delivered', wire = 'yes', provider_id = ?, provider_url = ?, updated_at = ?"
        " WHERE reply_id = ? AND part = ? AND state <> 'delivered'",
        (echo.provider_id, echo.url, now_ms, echo.reply_id, echo.part),
    )
    if connection.changes():
        connection.execute("UPDATE replies SET state = 'delivered' WHERE reply_id = ?", (echo.reply_id,))
