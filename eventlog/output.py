"""Entries as people and programs want them: a table, one JSON array, JSON lines, or rows as they come."""

import re
from collections.abc import Iterable, Iterator
from io import StringIO

from eventlog.event import Level
from eventlog.plain import Json
from eventlog.query import Entry

NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that move a terminal's cursor, hide text or turn its direction; names from outside may hold them."""

OWN_COLUMNS = frozenset({"work_item", "pid", "source"})
COLUMNS = ("time (UTC)", "level", "event", "work item", "details")


def as_jsonl(entries: Iterable[Entry]) -> Iterator[str]:
    """Each entry as it stands in the file, without a newline."""
    for entry in entries:
        yield entry.text


def as_json(entries: Iterable[Entry]) -> Iterator[str]:
    """One JSON array in pieces to be joined, so that a long one is never held whole."""
    yield "["
    for number, entry in enumerate(entries):
        yield f"{',' if number else ''}\n{entry.text}"
    yield "\n]\n"


def as_rows(entries: Iterable[Entry]) -> Iterator[str]:
    """One line of text for each entry, at once, for a log that is followed."""
    for entry in entries:
        yield "  ".join(cell for cell in cells(entry) if cell)


def as_table(entries: Iterable[Entry], width: int) -> str:
    """A table of that many columns of text; holds all of it, so give it a limited number of entries."""
    from rich.console import Console  # loaded by the one output that needs it: agents call the CLI often
    from rich.table import Table
    from rich.text import Text

    table = Table(*COLUMNS, box=None, pad_edge=False)
    for entry in entries:
        table.add_row(*(Text(cell) for cell in cells(entry)))
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return out.getvalue()


def cells(entry: Entry) -> tuple[str, str, str, str, str]:
    """What an entry shows in each column."""
    details = (f"{key}={shown(value)}" for key, value in entry.fields.items() if key not in OWN_COLUMNS)
    return (
        entry.at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
        level_name(entry.level),
        visible(entry.event),
        visible(entry.named("work_item")),
        visible(" ".join(details)),
    )


def level_name(level: int) -> str:
    """The name of the highest level that a number reaches."""
    return max((known for known in Level if known <= level), default=Level.DEBUG).name.lower()


def shown(value: Json) -> str:
    """A value in few characters; of an error its name and message, for the rest is for programs."""
    if isinstance(value, dict) and value.get("_type") == "error":
        return f"{value.get('name')}: {value.get('message')}"
    if isinstance(value, list):
        return ",".join(map(shown, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return str(value)


def visible(text: str) -> str:
    """A text with a question mark in place of what a terminal would obey."""
    return NOT_SHOWN.sub("?", text)
