"""Statements that take many rows at once: however many there are, each is written, in order."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from domain.model import ItemId
from statedb.database import Database
from statedb.rows import ReplyRow, Rows
from statedb.writing import ROWS_MAX, Insert, write_rows

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


def reply(reply_id: str, origin: str) -> ReplyRow:
    return ReplyRow(
        reply_id=reply_id, origin=origin, kind="answer", item_id=ItemId(1), channel="thread", target="{}", whole="Done.",
        body="Done.", marker="", created_at_ms=1,
    )  # fmt: skip


def test_of_several_replies_of_one_identity_the_first_is_recorded_with_its_part(connection: apsw.Connection) -> None:
    write_rows(connection, Rows(replies=[reply("r1", "turn-1"), reply("r2", "turn-2"), reply("r3", "turn-1")]), 1)
    write_rows(connection, Rows(replies=[reply("r4", "turn-2"), reply("r5", "turn-5")]), 1)
    assert list(connection.execute("SELECT reply_id FROM replies ORDER BY 1")) == [("r1",), ("r2",), ("r5",)]
    assert list(connection.execute("SELECT reply_id FROM reply_parts ORDER BY 1")) == [("r1",), ("r2",), ("r5",)]
