"""Lines of the log as entries, and the question which of them are wanted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TypeVar

from eventlog.event import Level
from eventlog.plain import Json

HEAD_KEYS = frozenset({"level", "time", "msg", "event"})
TIME_MS_MAX = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1000
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line that was read: its own text, and what every line has; `fields` holds the rest as it was written."""

    text: str
    event: str
    level: int
    time_ms: int
    msg: str
    fields: Mapping[str, Json]

    @property
    def at(self) -> datetime:
        """When it was true, in UTC."""
        return datetime.fromtimestamp(self.time_ms / 1000, UTC)

    def named(self, key: str) -> str:
        """A field as a text; empty where the line has none."""
        value = self.fields.get(key)
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which entries are wanted; what is not given restricts nothing."""

    types: tuple[str, ...] = ()
    """Shell patterns of event names (`poll.*`), of which one must match."""
    work_item: str | None = None
    """Compared without case, as GitHub compares names."""
    delivery_id: str | None = None
    event_key: str | None = None
    """Finds also the turns that carry the event."""
    level_min: Level = Level.DEBUG
    since: datetime | None = None
    """Aware; entries of this moment are wanted too."""

    def wants(self, entry: Entry) -> bool:
        """Whether an entry answers the question."""
        if entry.level < self.level_min:
            return False
        if self.since is not None and entry.at < self.since:
            return False
        if self.types and not any(fnmatchcase(entry.event, pattern) for pattern in self.types):
            return False
        if self.delivery_id is not None and entry.fields.get("delivery_id") != self.delivery_id:
            return False
        return self._is_about(entry)

    def _is_about(self, entry: Entry) -> bool:
        if self.work_item is not None and entry.named("work_item").casefold() != self.work_item.casefold():
            return False
        return self.event_key is None or self.event_key in keys_of(entry)


def keys_of(entry: Entry) -> tuple[Json, ...]:
    """The keys of the events that an entry is about: its own, and those that its turn carries."""
    carried = entry.fields.get("event_keys")
    return (entry.fields.get("event_key"), *(carried if isinstance(carried, list) else ()))


def read_entry(line: bytes) -> Entry | None:
    """The entry of a line, or None where the line is no record of this log."""
    try:
        text = line.decode()
        record = json.loads(text)
        return Entry(
            text=text,
            event=expect(record["event"], str),
            level=expect(record["level"], int),
            time_ms=time_in_calendar(expect(record["time"], int)),
            msg=expect(record.get("msg", ""), str),
            fields={key: value for key, value in record.items() if key not in HEAD_KEYS},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def time_in_calendar(time_ms: int) -> int:
    """The time itself; raises ValueError where no calendar has it."""
    if not 0 <= time_ms <= TIME_MS_MAX:
        raise ValueError(f"{time_ms} is no time of an event")
    return time_ms


def expect(value: object, kind: type[Kind]) -> Kind:
    """The value itself; raises TypeError where it is of another kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} where {kind.__name__} is expected")
    return value
