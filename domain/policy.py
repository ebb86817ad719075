"""What to do about an event: one total, pure decision that never raises, and the same judgement again at hand-over."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from domain.control import Command, Verb
from domain.decision import (
    Ambiguous,
    Answer,
    Apply,
    Ask,
    Behind,
    Close,
    Decision,
    Effect,
    Leave,
    Need,
    Note,
    Queue,
    Reject,
    RejectReason,
    Replace,
    Settle,
    Suppress,
    Withdraw,
)
from domain.model import (
    Account,
    Actor,
    Change,
    Event,
    EventKey,
    Fact,
    Operator,
    Outcome,
    Phase,
    Place,
    Snapshot,
    Thread,
    UnhandledReason,
)
from domain.phase import MOVES, Folded, PhaseCommand, is_newest, may_precede, precedes, step


class Spawn(StrEnum):
    """Which items may be started (`routing.spawn`)."""

    LABELED = "labeled"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorities:
    """Who may: logins compared without case and pinned to the numeric id once seen; listed bots count, others never."""

    logins: frozenset[str]
    """In lower case."""
    pinned: dict[str, int]
    """Lower-case login → the numeric id that it had when it was first seen."""

    def may(self, actor: Actor | None) -> bool:
        """Whether the actor may move anything; nobody named may not."""
        match actor:
            case None:
                return False
            case Operator():
                return True
            case Account():
                return self._may_account(actor)
            case _:
                assert_never(actor)

    def _may_account(self, account: Account) -> bool:
        login = account.login.lower()
        pinned = self.pinned.get(login)
        if pinned is not None:
            return login in self.logins and pinned == account.id
        if account.id in self.pinned.values():
            return any(name in self.logins and number == account.id for name, number in self.pinned.items())
        return login in self.logins


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The operator's rules as they stood at the decision; `digest` names them in what is stored."""

    spawn: Spawn
    label: str
    authorities: Authorities
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """What is known of a work item at the decision: the folded phase, never the history.

    `undecided` are the places of commands that still lack a fact; `refused` counts comments refused since a session last
    heard of it; `home` is the thread that the item began with; `other_instance` names another instance whose marker
    stands on the thread and is younger than a week.
    """

    folded: Folded = field(default_factory=Folded)
    failed: bool = False
    undecided: tuple[Place, ...] = ()
    refused: int = 0
    has_session: bool = False
    home: Thread | None = None
    other_instance: str | None = None
    snapshot: Snapshot | None = None
    """Asked of GitHub for this very decision; what an arrival carried stands in the event."""
    is_gone: bool = False
    """GitHub said that the item does not exist."""

    @property
    def phase(self) -> Phase:
        """The phase with a start's giving up in it."""
        return Phase.FAILED if self.failed and self.folded.phase is Phase.RUNNING else self.folded.phase


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """The newest version that we know of the comment or review that an event is about."""

    updated_at_ms: int
    body_sha256: str
    verbs: tuple[Verb, ...]
    """The commands of the version last parsed."""
    is_deleted: bool
    is_waiting: bool
    """Whether the text still waits for its turn, so that an edit can replace it and a deletion withdraw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that a decision looks at beside the event."""

    item: ItemView
    text: TextView | None = None


def decide(event: Event, view: View, policy: Policy) -> Decision:
    """What to do about an event that the Router let through. Total, pure, and it never raises."""
    if event.fact is Fact.SNAPSHOT:
        return Note()
    if event.fact is Fact.CLOSURE:
        return _close(event, view.item, policy)
    if event.change is Change.DELETED:
        return Withdraw()
    if event.before_watch and view.text is None:
        return Settle(Outcome.BASELINED)
    if view.text is not None and view.text.is_deleted:
        return Settle(Outcome.WITHDRAWN)
    if event.change is Change.EDITED:
        return _edit(event, view, policy)
    return _created(event, view, policy)


def judge_again(event: Event, item: ItemView, policy: Policy) -> Outcome | None:
    """Whether what was queued may still be handed over, by its own place and the commands known now.

    None: hand it over. The item's lease is held, so what is answered stays true until the hand-over is recorded.
    """
    if event.actor is not None and not policy.authorities.may(event.actor):
        return Outcome.NOT_AUTHORIZED
    match _judge(event.place, item):
        case None:
            return None
        case Outcome.SESSION_PAUSED:
            return Outcome.SESSION_PAUSED
        case _:
            return Outcome.SESSION_STOPPED


def effect_of(command: PhaseCommand, before: Folded, after: Folded, newest: bool) -> Effect:
    """What a command changed, given the fold without it and the fold with it."""
    if not newest and before.says_the_same_as(after):
        return Effect.SUPERSEDED
    if command.place.fact is Fact.CLOSURE:
        return Effect.CLOSED
    match command.verb:
        case Verb.START:
            return _effect_of_start(before, after)
        case Verb.RESUME:
            return Effect.RESUMED if before.phase is Phase.PAUSED else Effect.NOTHING_TO_DO
        case Verb.PAUSE:
            return Effect.PAUSED if before.phase is Phase.RUNNING else Effect.NOTHING_TO_DO
        case Verb.STOP:
            return Effect.STOPPED
        case Verb.CLEANUP:
            return Effect.CLEANED
        case Verb.STATUS | Verb.HELP:
            return Effect.ANSWERED
        case _:
            assert_never(command.verb)


def _effect_of_start(before: Folded, after: Folded) -> Effect:
    if before.phase is Phase.PAUSED:
        return Effect.RESUMED
    if before.phase is Phase.RUNNING and before.opening == after.opening:
        return Effect.ALREADY_RUNNING
    return Effect.STARTED


def _close(event: Event, item: ItemView, policy: Policy) -> Decision:
    if item.home is not None and item.home != event.thread:
        return Close(effect=Effect.BOUND_PULL_CLOSED, folded=item.folded, newest=False, removes=False)
    stop = PhaseCommand(key=event.key or EventKey(""), place=event.place, verb=Verb.STOP)
    newest = is_newest(item.folded, stop)
    after = step(item.folded, stop)
    removes = event.actor is not None and policy.authorities.may(event.actor)
    return Close(effect=Effect.CLOSED, folded=after, newest=newest, removes=removes)


def _created(event: Event, view: View, policy: Policy) -> Decision:
    reading = event.reading
    if reading is None or not (reading.commands or reading.near_misses):
        return _comment(event, view.item, policy)
    if event.edited_unseen:
        return _comment(event, view.item, policy, commands_ignored=bool(reading.commands))
    if len(reading.commands) > 1:
        return Ambiguous(tuple(command.verb for command in reading.commands))
    if reading.commands:
        return _command(event, reading.commands[0], view.item, policy)
    miss = reading.near_misses[0]
    return Reject(RejectReason.NEAR_MISS, miss.meant, near_miss=miss)


def _edit(event: Event, view: View, policy: Policy) -> Decision:
    """An edit runs only commands that the version last parsed did not have, and only if we know who edited."""
    text = view.text
    if text is not None and (event.updated_at_ms < text.updated_at_ms or event.body_sha256 == text.body_sha256):
        return Settle(Outcome.SUPERSEDED)
    known = set(text.verbs) if text is not None else set()
    fresh = [c for c in (event.reading.commands if event.reading else ()) if c.verb not in known]
    if fresh and policy.authorities.may(event.editor):
        if len(fresh) > 1:
            return Ambiguous(tuple(command.verb for command in fresh))
        return _command(event, fresh[0], view.item, policy)
    if text is not None and text.is_waiting:
        return Replace(commands_ignored=bool(fresh))
    return _comment(event, view.item, policy, as_edit=True, commands_ignored=bool(fresh))


def _comment(
    event: Event, item: ItemView, policy: Policy, *, as_edit: bool = False, commands_ignored: bool = False
) -> Decision:
    if any(may_precede(place, event.place) for place in item.undecided):
        return Behind()
    if policy.spawn is Spawn.NEVER and item.phase is Phase.NONE:
        return Leave(UnhandledReason.SPAWN_POLICY)
    refusal = _judge(event.place, item)
    if refusal is not None:
        return Suppress(refusal, commands_ignored)
    return Queue(as_edit=as_edit, rearm=item.phase is Phase.FAILED, commands_ignored=commands_ignored)


def _judge(place: Place, item: ItemView) -> Outcome | None:
    """A comment's judgement by the phase at its place, never by whether a session exists."""
    opening = item.folded.opening
    if opening is None or precedes(place, opening):
        return Outcome.AWAITING_START
    if item.phase is Phase.PAUSED:
        return Outcome.SESSION_PAUSED
    return None


def _command(event: Event, command: Command, item: ItemView, policy: Policy) -> Decision:
    if command.verb not in MOVES:
        return Answer(command.verb)
    if command.verb is Verb.START:
        refusal = _refuse_start(event, command, item, policy)
        if refusal is not None:
            return refusal
    moved = PhaseCommand(key=event.key or EventKey(""), place=event.place, verb=command.verb)
    newest = is_newest(item.folded, moved)
    after = step(item.folded, moved)
    if command.verb is Verb.RESUME and newest and item.phase not in (Phase.PAUSED, Phase.FAILED):
        return Reject(RejectReason.NOTHING_TO_RESUME, Verb.RESUME, stands=True)
    effect = effect_of(moved, item.folded, after, newest)
    if item.failed and command.verb in (Verb.START, Verb.RESUME):
        effect = Effect.REARMED
    return Apply(command=command, effect=effect, folded=after, newest=newest)


def _refuse_start(event: Event, command: Command, item: ItemView, policy: Policy) -> Decision | None:
    """A start needs an item that may start; refused, it leaves nothing standing."""
    if policy.spawn is Spawn.NEVER:
        return Reject(RejectReason.SPAWN_POLICY, Verb.START)
    if item.is_gone:
        return Reject(RejectReason.NO_SUCH_ITEM, Verb.START)
    if item.other_instance is not None and "--take-over" not in command.flags:
        return Reject(RejectReason.OTHER_INSTANCE, Verb.START)
    snapshot = item.snapshot or event.snapshot
    if snapshot is None:
        return Ask(Need.ITEM)
    if policy.spawn is Spawn.LABELED and policy.label.lower() not in (label.lower() for label in snapshot.labels):
        return Reject(RejectReason.SPAWN_POLICY, Verb.START)
    return None
