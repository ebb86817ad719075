"""The catalogue and the product agree: every event type is written by somebody, every reason of a closed list is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum

import pytest

from domain.decision import RejectReason
from domain.model import Outcome, PassReason, UnhandledReason
from eventlog import catalogue
from tests.tidy import tree
from webhook.refusals import Fault, Trouble
from webhook.signature import SignatureFault

# Event type -> why nothing writes it.
WRITTEN_BY_NOBODY_WITH_REASON: dict[str, str] = {}

# Word of a closed list -> why nothing gives it.
GIVEN_BY_NOBODY_WITH_REASON: dict[str, str] = {}

WORDS_FOR_PEOPLE = ("service/meanings.py", "domain/texts.py", "service/demo/telling.py")
"""Tables that put every word into a sentence: standing there, a word is explained and not given."""

CLOSED_LISTS: tuple[type[StrEnum], ...] = (
    PassReason, UnhandledReason, Outcome, RejectReason, Fault, Trouble, SignatureFault,
)  # fmt: skip

each_list = pytest.mark.parametrize("words", CLOSED_LISTS, ids=lambda words: words.__name__)


def names_of_types(file: tree.PythonFile) -> Iterator[str]:
    """The classes of the catalogue that a file imports from its shelf and names again, to write one."""
    syntax = file.tree()
    imported = {
        alias.asname or alias.name
        for node in ast.walk(syntax)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eventlog.events")
        for alias in node.names
    }
    used = {node.id for node in ast.walk(syntax) if isinstance(node, ast.Name)}
    yield from imported & used


def members_named(file: tree.PythonFile) -> Iterator[str]:
    """`Enum.MEMBER` wherever a file says it outside of the enum itself and of a `case` that only looks at it."""
    syntax = file.tree()
    looked_at = {
        inner
        for node in ast.walk(syntax)
        if isinstance(node, ast.match_case)
        for inner in ast.walk(node.pattern)
        if isinstance(inner, ast.Attribute)
    }
    for node in ast.walk(syntax):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node not in looked_at:
            yield f"{node.value.id}.{node.attr}"


def test_every_event_type_is_written_by_the_product() -> None:
    writers = [file for file in tree.product_files() if not file.path.startswith("eventlog/events/")]
    written = {name for file in writers for name in names_of_types(file)}
    unwritten = {name for name, declared in catalogue.EVENT_TYPES.items() if declared.__name__ not in written}
    assert unwritten == set(WRITTEN_BY_NOBODY_WITH_REASON)


@each_list
def test_every_reason_of_a_closed_list_is_given_by_the_product(words: type[StrEnum]) -> None:
    givers = [file for file in tree.product_files() if file.path not in WORDS_FOR_PEOPLE]
    given = {name for file in givers for name in members_named(file)}
    ungiven = {word.value for word in words if f"{words.__name__}.{word.name}" not in given}
    assert ungiven == {word.value for word in words} & set(GIVEN_BY_NOBODY_WITH_REASON)


def test_a_type_that_is_only_imported_counts_as_written_by_nobody() -> None:
    file = tree.PythonFile(
        "webhook/x.py", "from eventlog.events.turn import TurnEnded, TurnTaken\nline = TurnTaken()\n"
    )
    assert list(names_of_types(file)) == ["TurnTaken"]


def test_a_word_that_is_only_looked_at_counts_as_given_by_nobody() -> None:
    text = "match word:\n    case Outcome.WITHDRAWN:\n        word = Outcome.SUPERSEDED\n"
    assert list(members_named(tree.PythonFile("webhook/x.py", text))) == ["Outcome.SUPERSEDED"]
