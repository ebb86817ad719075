"""What every event type of the log shares: a name, a level, and the envelope that says what a line is about."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, TypeVar, dataclass_transform


class Level(IntEnum):
    """How much a line matters; the numbers are pino's, and 50 and above is an error."""

    DEBUG = 20
    """Of use only while one fault is hunted."""
    INFO = 30
    """The ordinary course of things."""
    WARNING = 40
    """Something was refused or will be tried again; nobody has to act yet."""
    ERROR = 50
    """Something ended that should not have; somebody has to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """One fact worth counting or searching, written when it is true; a field that is None does not apply."""

    name: ClassVar[str]
    level: ClassVar[Level]
    sentence: ClassVar[str]

    delivery_id: str | None = None
    event_key: str | None = None
    work_item: str | None = None
    turn_id: str | None = None
    session_id: str | None = None


ENVELOPE_FIELDS: tuple[str, ...] = ("delivery_id", "event_key", "work_item", "turn_id", "session_id")

EventType = TypeVar("EventType", bound=LogEvent)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def event_type(name: str, level: Level) -> Callable[[type[EventType]], type[EventType]]:
    """Make a class an event type of that name and level; its docstring is one sentence that says when it is true."""

    def declare(declared: type[EventType]) -> type[EventType]:
        # Read before the dataclass is made, which would write a signature where a docstring is missing.
        sentence = (declared.__doc__ or "").strip()
        made = dataclass(frozen=True, slots=True, kw_only=True)(declared)
        made.name, made.level, made.sentence = name, level, sentence
        return made

    return declare
