"""How far each source of the polled road was read, and which of its arrivals are still open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.model import EventKey, Label, Road
from statedb.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A source of a repository: everything on it up to `since_ms` is on disk.

    `address` is the request, query and all, whose answer `etag` stands for (empty: none is known), asked with the token
    that `token_id` names. `watch_began_at_ms`: what was created before it is not delivered. `complete_at_ms`: when the
    listing was last fetched whole, by our clock (None: never); an answer that it is unchanged is not written down.
    """

    host: str
    repository_id: int
    source: str
    address: str
    etag: str
    token_id: str
    since_ms: int
    watch_began_at_ms: int
    complete_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenArrival:
    """An arrival by the polled road whose event was in play when we last looked."""

    delivery_id: str
    event_key: EventKey
    object_id: int
    actor: str | None
    label: Label


def cursor_of(connection: Connection, host: str, repository_id: int, source: str) -> Cursor | None:
    """The cursor of a source; None where it is not watched yet."""
    row = connection.execute(
        "SELECT address, etag, token_id, since, watch_began_at, complete_at FROM cursors"
        " WHERE host = ? AND repository_id = ? AND source = ?",
        (host, repository_id, source),
    ).fetchone()
    if row is None:
        return None
    return Cursor(
        host=host,
        repository_id=repository_id,
        source=source,
        address=row[0],
        etag=row[1],
        token_id=row[2],
        since_ms=row[3],
        watch_began_at_ms=row[4],
        complete_at_ms=row[5],
    )


def write_cursor(connection: Connection, cursor: Cursor) -> None:
    """Put the cursor of a source down, in place of what stood there; when the watch began never changes."""
    connection.execute(
        "INSERT INTO cursors (host, repository_id, source, address, etag, token_id, since, watch_began_at, complete_at)"
        " VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (host, repository_id, source) DO UPDATE SET address = excluded.address,"
        " etag = excluded.etag, token_id = excluded.token_id, since = excluded.since, complete_at = excluded.complete_at",
        (
            cursor.host, cursor.repository_id, cursor.source, cursor.address, cursor.etag, cursor.token_id,
            cursor.since_ms, cursor.watch_began_at_ms, cursor.complete_at_ms,
        ),
    )  # fmt: skip


def open_arrivals(connection: Connection, road: Road) -> list[OpenArrival]:
    """The arrivals by a road that nothing has resolved yet, the earliest first."""
    rows = connection.execute(
        "SELECT d.delivery_id, d.event_key, e.document ->> '$.object', e.document ->> '$.actor.login',"
        " e.document ->> '$.thread[0]', e.document ->> '$.repository', e.document ->> '$.thread[2]'"
        " FROM deliveries d JOIN events e ON e.event_key = d.event_key"
        " WHERE d.road = ? AND d.resolved_at IS NULL ORDER BY d.first_at",
        (road,),
    )
    return [
        OpenArrival(
            delivery_id=row[0],
            event_key=EventKey(row[1]),
            object_id=row[2],
            actor=row[3],
            label=Label(host=row[4], repository=row[5], number=row[6]),
        )
        for row in rows
    ]


def resolve(connection: Connection, road: Road, delivery_ids: Sequence[str], now_ms: int) -> None:
    """Write down that nothing more will come of these arrivals. Safe to repeat."""
    connection.executemany(
        "UPDATE deliveries SET resolved_at = coalesce(resolved_at, ?) WHERE road = ? AND delivery_id = ?",
        ((now_ms, road, delivery_id) for delivery_id in delivery_ids),
    )
