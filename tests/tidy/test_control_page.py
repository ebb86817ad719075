"""The documented commands are those that there are."""

from __future__ import annotations

from domain.control import docs_table
from tests.tidy import tree


def test_the_documented_commands_are_the_table_that_the_grammar_renders() -> None:
    assert f"{docs_table()}\n<!-- end -->" in tree.read("docs/capabilities/control.md")
