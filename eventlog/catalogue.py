"""The catalogue: every type of event that the log knows, and the table of them for the documentation."""

from collections.abc import Iterator
from dataclasses import fields
from types import ModuleType

from eventlog.event import ENVELOPE_FIELDS, Level, LogEvent
from eventlog.events import (
    cleanup,
    control,
    dispatch,
    poll,
    reaction,
    reply,
    routing,
    service,
    session,
    telegram,
    turn,
    webhook,
)

SHELF: tuple[ModuleType, ...] = (
    webhook,
    routing,
    dispatch,
    control,
    session,
    turn,
    reply,
    reaction,
    poll,
    cleanup,
    service,
    telegram,
)


def event_types_of(module: ModuleType) -> Iterator[type[LogEvent]]:
    """The event types that one file of the shelf declares, in the order of their declaration."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, LogEvent) and value is not LogEvent:
            yield value


EVENT_TYPES: dict[str, type[LogEvent]] = {
    declared.name: declared for module in SHELF for declared in event_types_of(module)
}
"""Every event type by its name, in the order in which a delivery meets them."""


def own_fields(declared: type[LogEvent]) -> tuple[str, ...]:
    """The names of the fields that a type has beside the envelope."""
    return tuple(field.name for field in fields(declared) if field.name not in ENVELOPE_FIELDS)


def render_table() -> str:
    """The catalogue as a Markdown table, with a newline at its end."""
    rows = ["| event | level | true when | fields |", "|---|---|---|---|"]
    for name, declared in EVENT_TYPES.items():
        names = ", ".join(f"`{field}`" for field in own_fields(declared)) or "–"
        rows.append(f"| `{name}` | {Level(declared.level).name.lower()} | {declared.sentence} | {names} |")
    return "\n".join(rows) + "\n"
