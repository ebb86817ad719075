"""Undecided commands are found without a look at the comments that wait beside them."""

from __future__ import annotations

from pathlib import Path

import apsw

from domain.model import ItemId
from statedb import reading
from statedb.database import Database
from statedb.rows import ItemRow, Rows
from statedb.writing import write_rows
from tests.fakes.core import comment


def test_a_batch_finds_undecided_commands_by_an_index_of_their_own(tmp_path: Path) -> None:
    connection = Database(tmp_path / "state.db", lambda: 0).writer()
    event = comment(1)
    item = ItemRow(
        item_id=ItemId(1), home=event.thread, repository=event.label.repository, created_at_ms=0, changed_at_ms=0
    )
    write_rows(connection, Rows(items={item.item_id: item}, threads=[(event.thread, item.item_id)]), 0)
    asked: list[tuple[str, apsw.Bindings | None]] = []

    def note(_: apsw.Cursor, statement: str, values: apsw.Bindings | None) -> bool:
        asked.append((statement, values))
        return True

    connection.exec_trace = note
    reading.see(connection, [event], [])
    connection.exec_trace = None
    plans = [
        str(step[3])
        for statement, values in asked
        for step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
    ]
    assert "SEARCH f USING COVERING INDEX fates_undecided (item_id=?)" in plans
