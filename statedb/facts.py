"""What this instance knows of itself: its name, its secret, whose account it posts with, and whom it has seen."""

from __future__ import annotations

from collections.abc import Callable

from domain.model import EventKey
from statedb.database import Connection


def fact(connection: Connection, name: str, make: Callable[[], str]) -> str:
    """A fact of ours, made when it is first asked for; inside the committer's transaction."""
    connection.execute("INSERT OR IGNORE INTO facts_of_ours (name, value) VALUES (?, ?)", (name, make()))
    ((value,),) = connection.execute("SELECT value FROM facts_of_ours WHERE name = ?", (name,))
    return str(value)


def keep_fact(connection: Connection, name: str, value: str) -> None:
    """Put a fact down, in place of what was known."""
    connection.execute(
        "INSERT INTO facts_of_ours (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def known_fact(connection: Connection, name: str) -> str | None:
    """A fact of ours, None where it is not known."""
    row = connection.execute("SELECT value FROM facts_of_ours WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def pins(connection: Connection, host: str) -> dict[str, int]:
    """Lower-case login → the numeric id that it had when it was first seen."""
    return dict(connection.execute("SELECT login, account_id FROM accounts WHERE host = ?", (host,)))


def newest_keys(connection: Connection, count: int) -> list[tuple[EventKey, str]]:
    """The newest events with their outcomes, the earliest seen first; unhandled ones that may be claimed left out."""
    rows = connection.execute(
        "SELECT event_key, outcome FROM (SELECT e.event_key, e.accepted_at,"
        " CASE WHEN min(f.fate = 'settled') THEN max(f.outcome) ELSE '' END AS outcome"
        " FROM (SELECT event_key, accepted_at FROM events ORDER BY accepted_at DESC LIMIT ?) e"
        " JOIN fates f USING (event_key) WHERE f.fate <> 'unhandled' OR f.reason = 'given-up'"
        " GROUP BY e.event_key, e.accepted_at) ORDER BY accepted_at",
        (count,),
    )
    return [(EventKey(key), outcome) for key, outcome in rows]
