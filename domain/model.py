"""The nouns that every room shares: work items and their threads, events, deliveries, fates and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from domain.control import Reading

EventKey = NewType("EventKey", str)
ItemId = NewType("ItemId", int)
TurnId = NewType("TurnId", str)
SessionId = NewType("SessionId", str)
ReplyId = NewType("ReplyId", str)

ID_MAX = 2**53
"""The largest id that we take from outside: what every JSON reader keeps exact."""


class Road(StrEnum):
    """How a delivery came to us."""

    WEBHOOK = "webhook"
    """Pushed by GitHub; its delivery id is X-GitHub-Delivery."""
    POLL = "poll"
    """Read by the poller; its delivery id is the event key."""
    CATCHUP = "catchup"
    """Read again after a gap; its delivery id is the event key."""
    CLI = "cli"
    """Asked for by the operator on this machine; its delivery id is the id that the client made."""
    TELEGRAM = "telegram"
    """Asked for by the operator in Telegram."""


class Fate(StrEnum):
    """What became of an event for one work item."""

    UNHANDLED = "unhandled"
    """Nothing holds it: it was let go, and a new arrival may claim it unless it gave up."""
    INFLIGHT = "inflight"
    """It is on its way: waiting for a fact, for its turn, for a receipt or for a retry."""
    DONE = "done"
    """A session has it, proven by a receipt."""
    SETTLED = "settled"
    """We are finished with it although no session got it; the outcome says why."""


class Outcome(StrEnum):
    """Why a settled event is settled. No outside text enters here."""

    AWAITING_START = "awaiting-start"
    """A comment on an item that nobody started, or older than the start that opened the phase."""
    SESSION_PAUSED = "session-paused"
    """A comment while the item was paused."""
    CONTROL_EXECUTED = "control-executed"
    """A command whose effect is confirmed."""
    CONTROL_REJECTED = "control-rejected"
    """A command that was refused; a short reply says why."""
    CONTROL_AMBIGUOUS = "control-ambiguous"
    """Two different commands in one comment: nothing ran and nothing was forwarded."""
    NOT_AUTHORIZED = "not-authorized"
    """Its author had lost the right by the time it was carried out."""
    SESSION_STOPPED = "session-stopped"
    """A stop, a cleanup or a closing came between its acceptance and its hand-over."""
    WITHDRAWN = "withdrawn"
    """Its author deleted it before a session had it."""
    SUPERSEDED = "superseded"
    """A newer version of the same text is known, or another arrival already said it all."""
    BASELINED = "baselined"
    """It stood on the thread before we watched it."""


class PassReason(StrEnum):
    """Why the Router lets something pass without making it an event."""

    NOT_FOR_US = "not-for-us"
    """Another event, another action or a repository that is not ours to watch."""
    NO_WORK_ITEM = "no-work-item"
    """It names no issue and no pull request."""
    SELF_AUTHORED = "self-authored"
    """We wrote it."""
    UNAUTHORIZED_ACTOR = "unauthorized-actor"
    """Its author may not move anything here."""
    MALFORMED = "malformed"
    """It has not the shape that we read."""


class UnhandledReason(StrEnum):
    """Why an event is unhandled."""

    SPAWN_POLICY = "spawn-policy"
    """`routing.spawn` forbids a start here."""
    SESSION_OCCUPIED = "session-occupied"
    """Somebody else holds the item's clone."""
    GIVEN_UP = "given-up"
    """The budget of attempts is used up; one notice said so."""


class Phase(StrEnum):
    """What people asked of a work item, apart from what runs."""

    NONE = "none"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FAILED = "failed"
    """Running was asked for, and the start gave up; the next comment re-arms it."""


class Fact(StrEnum):
    """What kind of fact an event states; it is the `kind` in event keys and in places."""

    COMMENT = "comment"
    REVIEW = "review"
    INLINE = "inline"
    CLOSURE = "closure"
    OPERATOR = "operator"
    """A command by CLI or Telegram."""
    SNAPSHOT = "snapshot"
    """The item's own state (labels, title, open or closed): it has no key and starts nothing."""


TEXT_FACTS = (Fact.COMMENT, Fact.REVIEW, Fact.INLINE)
"""The facts that are texts of people's."""


class Change(StrEnum):
    """What happened to the object of a fact."""

    CREATED = "created"
    EDITED = "edited"
    DELETED = "deleted"


class ItemKind(StrEnum):
    """The two kinds of thread that GitHub numbers together."""

    ISSUE = "issue"
    PULL = "pull"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Thread:
    """A numbered issue or pull request; the repository's numeric id survives renames and transfers of its name."""

    host: str
    repository_id: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """How people name a work item; it may change, so nothing is looked up by it but an operator's question."""

    host: str
    repository: str
    """owner/repo"""
    number: int

    def __str__(self) -> str:
        host = "" if self.host == "github.com" else f"{self.host}/"
        return f"github:{host}{self.repository}#{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A GitHub account as an event names it."""

    login: str
    id: int
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Operator:
    """The person at this machine, or at the operator's chat: may do anything here."""

    name: str


Actor = Account | Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event stands in the order of its work item.

    `at_ms` is GitHub's time of creation (whole seconds on GitHub, in milliseconds), `fact` its kind and `number` its id
    within that kind. Two places of one second and of two kinds have no order of their own: see `domain.phase.precedes`.
    """

    at_ms: int
    fact: Fact
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of an issue or pull request that an arrival carried; the newest `updated_at_ms` wins."""

    kind: ItemKind
    title: str
    is_open: bool
    labels: tuple[str, ...]
    updated_at_ms: int
    head_branch: str | None = None
    """A pull request's branch; None for an issue or where it was not said."""
    from_fork: bool | None = None
    """Whether a pull request's head lies in another repository; None where it was not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Where an inline comment stands."""

    path: str
    line: int | None
    review_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact about a work item that may concern an agent, the same whichever road brought it.

    `key` is None only for an event built by hand: it is carried out and logged, and nothing remembers it.
    `updated_at_ms` is the version of the text; `actor` its author, or who closed the item (None: nobody is named);
    `editor` who made an edit (None: unknown, as on the polled road); `reading` what the commands in the body say (None:
    the body does not name us). `edited_unseen` is true for a text that had been edited before we first read it.
    """

    key: EventKey | None
    fact: Fact
    change: Change
    thread: Thread
    label: Label
    object_id: int
    place: Place
    updated_at_ms: int
    actor: Actor | None
    editor: Actor | None = None
    body: str = ""
    body_sha256: str = ""
    url: str = ""
    title: str = ""
    snapshot: Snapshot | None = None
    anchor: Anchor | None = None
    reading: Reading | None = None
    review_state: str = ""
    edited_unseen: bool = False
    before_watch: bool = False
    """It was written before we began to watch this thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One arrival of an event by one road."""

    road: Road
    delivery_id: str
    arrived_at_ms: int
