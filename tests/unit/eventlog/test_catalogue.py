"""The catalogue: what every event type has, and that the documentation names each."""

from dataclasses import fields
from pathlib import Path

import pytest

from eventlog import catalogue
from eventlog.event import ENVELOPE_FIELDS, Level, LogEvent
from eventlog.events.poll import PollCommentSettled
from eventlog.masking import is_secret_key

ROOT = Path(__file__).resolve().parents[3]
OBSERVABILITY = ROOT / "skills/the-loop/reference/observability.md"
TABLE_BEGINS, TABLE_ENDS = "<!-- table begins -->\n", "<!-- table ends -->\n"
LINE_KEYS = {"level", "time", "msg", "event", "pid", "source", "logger", "preview", "_truncated", "_originalBytes"}
NAMED_LIKE_A_SECRET = {"session_id", "input_tokens", "output_tokens"}


def declared_classes() -> list[type[LogEvent]]:
    return [declared for module in catalogue.SHELF for declared in catalogue.event_types_of(module)]


each_type = pytest.mark.parametrize("declared", declared_classes(), ids=lambda declared: declared.name)


def test_no_two_event_types_have_one_name() -> None:
    names = [declared.name for declared in declared_classes()]
    assert sorted(names) == sorted(set(names)) == sorted(catalogue.EVENT_TYPES)


def test_every_file_of_the_shelf_is_in_the_catalogue() -> None:
    files = {path.stem for path in (ROOT / "eventlog" / "events").glob("*.py")} - {"__init__"}
    assert files == {module.__name__.rpartition(".")[2] for module in catalogue.SHELF}


@each_type
def test_an_event_type_stands_in_the_file_of_its_first_word(declared: type[LogEvent]) -> None:
    first_word, _, rest = declared.name.partition(".")
    assert declared.__module__ == f"eventlog.events.{first_word}"
    assert declared.__name__ == (first_word + "_" + rest).title().replace("_", "")


@each_type
def test_an_event_type_says_in_one_sentence_when_it_is_true(declared: type[LogEvent]) -> None:
    assert declared.sentence
    assert declared.sentence.endswith(".")
    assert "\n" not in declared.sentence
    assert ". " not in declared.sentence


@each_type
def test_an_event_type_has_a_level_and_the_envelope(declared: type[LogEvent]) -> None:
    assert isinstance(declared.level, Level)
    assert {field.name for field in fields(declared)} >= set(ENVELOPE_FIELDS)


@each_type
def test_no_field_is_named_like_a_key_that_every_line_has(declared: type[LogEvent]) -> None:
    assert LINE_KEYS.isdisjoint(field.name for field in fields(declared))


@each_type
def test_a_field_is_named_like_a_secret_only_where_it_is_known_to_hold_none(declared: type[LogEvent]) -> None:
    assert {field.name for field in fields(declared) if is_secret_key(field.name)} <= NAMED_LIKE_A_SECRET


def test_a_settled_comment_is_never_retried() -> None:
    settled = PollCommentSettled(work_item="github:octo/repo#15", comment_id=7, outcome="awaiting-start")
    assert (settled.outcome, settled.will_retry) == ("awaiting-start", False)


def test_the_documented_table_is_the_one_that_the_catalogue_renders() -> None:
    text = OBSERVABILITY.read_text()
    assert text.partition(TABLE_BEGINS)[2].partition(TABLE_ENDS)[0] == catalogue.render_table()


def test_the_documentation_says_which_question_each_event_answers() -> None:
    questions = OBSERVABILITY.read_text().partition(TABLE_BEGINS)[0]
    assert [name for name in catalogue.EVENT_TYPES if f"`{name}`" not in questions] == []
