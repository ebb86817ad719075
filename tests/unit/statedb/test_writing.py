"""Statements that take many rows at once: however many there are, each is written, in order."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from statedb.database import Database
from statedb.writing import ROWS_MAX, Insert

FACTS = Insert("INTO facts_of_ours", "name, value", "ON CONFLICT (name) DO UPDATE SET value = excluded.value")


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    return Database(tmp_path / "state.db", lambda: 1).writer()


def facts(connection: apsw.Connection) -> list[tuple[str, str]]:
    return list(connection.execute("SELECT name, value FROM facts_of_ours ORDER BY name"))


@pytest.mark.parametrize("count", [0, 1, 2, 7, ROWS_MAX - 1, ROWS_MAX, ROWS_MAX + 1, 3 * ROWS_MAX + 5])
def test_every_row_is_written(connection: apsw.Connection, count: int) -> None:
    rows = [(f"{number:04}", f"value {number}") for number in range(count)]
    FACTS.run(connection, rows)
    assert facts(connection) == rows


def test_a_later_row_of_the_same_identity_wins_also_within_one_statement(connection: apsw.Connection) -> None:
    FACTS.run(connection, [("a", "1"), ("b", "1"), ("a", "2"), ("a", "3")])
    assert facts(connection) == [("a", "3"), ("b", "1")]
