"""What goes to the committer and what comes back: a submission, and what became of it, true on disk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from domain.model import Delivery, Event, EventKey, Fate, ItemId
from eventlog.event import LogEvent


class Status(StrEnum):
    """What is said to whoever brought a delivery."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What became of a delivery, true on disk."""

    status: Status
    event_key: EventKey | None = None
    fate: Fate | None = None
    outcome: str = ""
    reason: str = ""
    item_id: ItemId | None = None
    marks: tuple[tuple[EventKey, str | None], ...] = ()
    """What the Deduper learns of it: key and outcome, None for a released mark."""
    log: tuple[LogEvent, ...] = ()
    pinned: tuple[str, int] | None = None
    """A listed login, in lower case, and the numeric id that counts for it from now on."""
    says: bool = False
    """Something to say was recorded with it."""


@dataclass(frozen=True, slots=True)
class Submission:
    """An event and the delivery that brought it, on their way to the committer."""

    event: Event
    delivery: Delivery
