"""The rows that a decision writes: frozen values, one class a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from domain.control import Verb
from domain.model import (
    Event,
    EventKey,
    Fact,
    Fate,
    ItemId,
    Label,
    Outcome,
    Place,
    Road,
    Snapshot,
    Thread,
    TurnId,
    UnhandledReason,
)
from domain.phase import Folded, PhaseCommand


class Step(StrEnum):
    """Where an inflight row stands; a row with any other fate has none."""

    NONE = ""
    NEED = "need"
    """A command whose decision lacks a fact from outside."""
    BEHIND = "behind"
    """A comment behind a command that is undecided."""
    QUEUED = "queued"
    """It waits for its turn."""
    FROZEN = "frozen"
    """A turn carries it; no receipt yet."""
    ENDING = "ending"
    """A stop, cleanup or closing whose session has not ended yet."""


class Removal(StrEnum):
    """What shall become of an item's clone once its session has ended."""

    KEEP = ""
    ASKED = "asked"
    """By `cleanup`, or by a named authorised person who closed the item: refused where work would be lost."""
    FORCED = "forced"
    """By `cleanup --force`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """A work item, with the folded phase standing on it."""

    item_id: ItemId
    home: Thread
    repository: str
    folded: Folded = field(default_factory=Folded)
    failed_generation: EventKey | None = None
    refused: int = 0
    """How often a comment was refused since a session last heard how many; some may be gone from the thread."""
    refused_since_ms: int | None = None
    snapshot: Snapshot | None = None
    other_instance: str | None = None
    other_instance_at_ms: int | None = None
    newest_ms: int = 0
    """The newest time of anything known of this item: an operator's command stands behind it."""
    removal: Removal = Removal.KEEP
    created_at_ms: int
    changed_at_ms: int

    @property
    def label(self) -> Label:
        """How people name the item."""
        return Label(host=self.home.host, repository=self.repository, number=self.home.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class FateRow:
    """What became of an event for one item."""

    event_key: EventKey
    item_id: ItemId
    fate: Fate
    step: Step = Step.NONE
    outcome: Outcome | None = None
    reason: UnhandledReason | None = None
    verb: Verb | None = None
    effect: str = ""
    place: Place
    attempts: int = 0
    next_at_ms: int = 0
    turn_id: TurnId | None = None
    decision: str = "{}"
    decided_at_ms: int
    changed_at_ms: int

    @property
    def gave_up(self) -> bool:
        """Whether a budget of attempts ended: no new arrival claims it again."""
        return self.reason is UnhandledReason.GIVEN_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One more arrival; repeated ones count up in the same row."""

    road: Road
    delivery_id: str
    event_key: EventKey
    at_ms: int
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """The newest version that we know of a comment or review, and the event under which its text is carried."""

    host: str
    fact: Fact
    object_id: int
    item_id: ItemId
    event_key: EventKey
    updated_at_ms: int
    body_sha256: str
    verbs: tuple[Verb, ...]
    deleted_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedEvent:
    """An event and its text, never the payload."""

    event: Event
    key: EventKey
    accepted_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedAccount:
    """A listed login and the numeric id that it had when it was first seen."""

    host: str
    login: str
    account_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRow:
    """Something to say, recorded before it is sent. `(origin, kind, number)` is its identity: recording twice is harmless."""

    reply_id: str
    origin: str
    kind: str
    number: int = 0
    item_id: ItemId
    turn_id: TurnId | None = None
    channel: str
    target: str
    """JSON that the channel reads: thread and, for a reaction, the object it is for."""
    whole: str
    """All of the text, even where the part that is sent was cut."""
    body: str
    marker: str
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoRow:
    """Our own comment came back to us: that is the receipt of its part."""

    reply_id: str
    part: int
    provider_id: int
    url: str


@dataclass(slots=True)
class Rows:
    """All that one decision, or a batch of them, writes. Later rows of the same identity win."""

    items: dict[ItemId, ItemRow] = field(default_factory=dict)
    threads: list[tuple[Thread, ItemId]] = field(default_factory=list)
    events: list[AcceptedEvent] = field(default_factory=list)
    fates: list[FateRow] = field(default_factory=list)
    deliveries: list[DeliveryRow] = field(default_factory=list)
    texts: list[TextRow] = field(default_factory=list)
    commands: list[tuple[ItemId, PhaseCommand]] = field(default_factory=list)
    accounts: list[PinnedAccount] = field(default_factory=list)
    replies: list[ReplyRow] = field(default_factory=list)
    echoes: list[EchoRow] = field(default_factory=list)
    cancelled_turns: list[TurnId] = field(default_factory=list)
    """Frozen turns that a withdrawal or an edit takes back before their hand-over."""
    new_bodies: list[tuple[EventKey, str]] = field(default_factory=list)
    """Texts that an edit replaces while they wait."""


def derived_fate(rows: Sequence[FateRow]) -> Fate:
    """An event's own fate: any done → done, else any inflight → inflight, else any unhandled → unhandled, else settled."""
    fates = {row.fate for row in rows}
    for fate in (Fate.DONE, Fate.INFLIGHT, Fate.UNHANDLED, Fate.SETTLED):
        if fate in fates:
            return fate
    return Fate.UNHANDLED


def derived_outcome(rows: Sequence[FateRow]) -> str:
    """An event's outcome: empty unless every row is settled, then the newest."""
    if not rows or any(row.fate is not Fate.SETTLED for row in rows):
        return ""
    newest = max(rows, key=lambda row: row.changed_at_ms)
    return newest.outcome.value if newest.outcome else ""
