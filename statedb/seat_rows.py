"""What the seat keeps in the store: questions to people, the threads of an item, pull requests that are being opened."""

from __future__ import annotations

import json

from domain.model import ItemId, SessionId, Thread
from statedb.database import Connection


def mark_waiting(connection: Connection, session_id: SessionId) -> None:
    """The session has asked a person something."""
    connection.execute("UPDATE sessions SET waits_for_person = 1 WHERE session_id = ?", (session_id,))


def threads_of(connection: Connection, item_id: ItemId, home: Thread) -> list[Thread]:
    """The threads of an item, the one it began with first."""
    rows = connection.execute(
        "SELECT host, repository_id, number FROM threads WHERE item_id = ? ORDER BY number", (item_id,)
    )
    found = [Thread(host=row[0], repository_id=row[1], number=row[2]) for row in rows]
    return [home, *(thread for thread in found if thread != home)]


def bind_thread(connection: Connection, thread: Thread, item_id: ItemId) -> bool:
    """Make a thread one of the item's; safe to repeat. False where another item on which something was done or waits has it.

    A pull request's first webhooks may come before its number is known here, and make an item of their own.
    """
    connection.execute(
        "INSERT INTO threads (host, repository_id, number, item_id) VALUES (?,?,?,?)"
        " ON CONFLICT (host, repository_id, number) DO UPDATE SET item_id = excluded.item_id"
        " WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.item_id = threads.item_id AND i.phase <> 'none')"
        " AND NOT EXISTS (SELECT 1 FROM fates f WHERE f.item_id = threads.item_id AND f.fate = 'inflight')",
        (thread.host, thread.repository_id, thread.number, item_id),
    )
    return _owner(connection, thread) == item_id


def note_opening(connection: Connection, item_id: ItemId, branch: str) -> None:
    """A pull request from this branch may be opened from now on: until it is bound, somebody has to look for it."""
    connection.execute(
        "INSERT INTO facts_of_ours (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (f"{_OPENING}{item_id}", json.dumps(branch)),
    )


def forget_opening(connection: Connection, item_id: ItemId) -> None:
    """It is known what became of it."""
    connection.execute("DELETE FROM facts_of_ours WHERE name = ?", (f"{_OPENING}{item_id}",))


def openings(connection: Connection) -> list[tuple[ItemId, str]]:
    """Items whose pull request may have been opened and is not bound, with its branch."""
    rows = connection.execute("SELECT name, value FROM facts_of_ours WHERE name GLOB ?", (f"{_OPENING}*",))
    return [(ItemId(int(name.removeprefix(_OPENING))), json.loads(value)) for name, value in rows]


_OPENING = "opening-pull:"


def _owner(connection: Connection, thread: Thread) -> int | None:
    row = connection.execute(
        "SELECT item_id FROM threads WHERE host = ? AND repository_id = ? AND number = ?",
        (thread.host, thread.repository_id, thread.number),
    ).fetchone()
    return row[0] if row else None
