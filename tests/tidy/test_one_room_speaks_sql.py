"""Only the store's room speaks SQL: whoever needs something of the store calls a function that says what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.tidy import tree
from tests.tidy.tree import PythonFile

STATEMENT_CALLS = frozenset({"execute", "executemany", "executescript"})


def statements_run(file: PythonFile) -> Iterator[str]:
    """Calls by which a connection or a cursor runs a statement."""
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STATEMENT_CALLS:
            yield f"{file.path}:{node.lineno}: .{node.func.attr}("


def test_no_statement_is_run_outside_the_stores_room() -> None:
    others = [file for file in tree.product_files() if file.room != "statedb"]
    assert [finding for file in others for finding in statements_run(file)] == []


@pytest.mark.parametrize("call", sorted(STATEMENT_CALLS))
def test_a_statement_is_found_however_it_is_run(call: str) -> None:
    file = PythonFile("webhook/x.py", f"def look(state):\n    return state.connection.{call}('SELECT 1')\n")
    assert list(statements_run(file)) == [f"webhook/x.py:2: .{call}("]
