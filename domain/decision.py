"""What may be decided of an event: a closed union of values, each saying all that is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from domain.control import Command, NearMiss, Verb
from domain.model import Outcome, UnhandledReason
from domain.phase import Folded


class Need(StrEnum):
    """A fact from outside that a decision lacks; no answer is never a no."""

    ITEM = "item"
    """The item as it stands now: does it exist, is it open, which labels, whose head."""


class Effect(StrEnum):
    """What a command changes, as it was decided."""

    STARTED = "started"
    REARMED = "re-armed"
    RESUMED = "resumed"
    ALREADY_RUNNING = "already-running"
    PAUSED = "paused"
    STOPPED = "stopped"
    CLEANED = "cleaned"
    CLOSED = "closed"
    ANSWERED = "answered"
    NOTHING_TO_DO = "nothing-to-do"
    SUPERSEDED = "superseded"
    """It arrived late, and what came after it on the thread says otherwise."""
    BOUND_PULL_CLOSED = "bound-pull-closed"
    """A pull request that belongs to another work item closed: that ends nothing."""


class RejectReason(StrEnum):
    """Why a command is refused."""

    SPAWN_POLICY = "spawn-policy"
    NOTHING_TO_RESUME = "nothing-to-resume"
    NEAR_MISS = "near-miss"
    OTHER_INSTANCE = "other-instance"
    NO_SUCH_ITEM = "no-such-item"


@dataclass(frozen=True, slots=True)
class Queue:
    """Hand it to the session when its turn comes. `rearm`: a start that gave up is tried once more for it."""

    as_edit: bool = False
    rearm: bool = False
    commands_ignored: bool = False
    """It holds a command that does not run because its editor is unknown: a short reply says so."""


@dataclass(frozen=True, slots=True)
class Suppress:
    """Refuse a comment on purpose; it is never replayed."""

    outcome: Outcome
    commands_ignored: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """Let it go without finishing with it: a new arrival may claim it."""

    reason: UnhandledReason


@dataclass(frozen=True, slots=True)
class Settle:
    """Be finished with it: there was nothing to carry out."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for a fact first, then decide again."""

    need: Need


@dataclass(frozen=True, slots=True)
class Behind:
    """Wait: a command before it on its item is undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """Carry out a command. `newest`: it stands behind all that was folded, so `folded` is the phase after it; else the
    commands are to be folded again with it in its place, and `effect` is read off the result."""

    command: Command
    effect: Effect
    folded: Folded
    newest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """The item closed: a stop by nobody in the fold. `removes`: a named authorised person closed it, so its clone goes."""

    effect: Effect
    folded: Folded
    newest: bool
    removes: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """Say something about the item, nothing moves."""

    verb: Verb


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse a command with a short reply."""

    reason: RejectReason
    verb: Verb
    near_miss: NearMiss | None = None
    stands: bool = False
    """Whether it stays in the fold all the same: a pause that arrives late may give it its sense."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Two different commands: nothing runs, nothing is forwarded."""

    verbs: tuple[Verb, ...]


@dataclass(frozen=True, slots=True)
class Replace:
    """The edited text takes the place of the one that waits."""

    commands_ignored: bool = False


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The text was deleted: what waits of it is taken back."""


@dataclass(frozen=True, slots=True)
class Note:
    """Only the item's snapshot is taken from it."""


Decision = (
    Queue
    | Suppress
    | Leave
    | Settle
    | Ask
    | Behind
    | Apply
    | Close
    | Answer
    | Reject
    | Ambiguous
    | Replace
    | Withdraw
    | Note
)
