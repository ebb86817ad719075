"""What a worker does next for a work item: one pure choice over what waits, what runs and what people asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.model import EventKey, Fact, ItemId, Outcome, Phase, Place, SessionId, Thread, TurnId

EVENTS_MAX = 20
BODY_BYTES_MAX = 32 * 1024
REVIEW_SETTLES_MS = 2_000
"""A review and its inline comments are one thing said: they wait this long for the last of them."""
INTERRUPTIONS_MAX = 2
RECEIPT_MS = 120_000
"""How long a turn that was handed over may go without a receipt."""
CANCEL_MS = 15_000
"""How long a host has to end a turn by itself; then its session is ended from outside."""


class TurnState(StrEnum):
    """How far a turn has come."""

    FROZEN = "frozen"
    """Its keys and its exact text are on disk; nobody was told."""
    HANDED = "handed"
    """A host was told, or may have been."""
    TAKEN = "taken"
    """There is a receipt: the agent has it."""
    ENDED = "ended"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """Its host died without a recorded answer."""


class SessionState(StrEnum):
    """How a session stands in the store."""

    OPENING = "opening"
    """Its clone or its host is being made."""
    LIVE = "live"
    """Its host runs, as far as we know."""
    IDLE = "idle"
    """Nothing runs; its conversation is loaded again when needed."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An event that waits for its turn; `is_command`: a start or resume that owes a prompt."""

    key: EventKey
    place: Place
    thread: Thread
    body_bytes: int
    accepted_at_ms: int
    is_command: bool
    review_id: int | None
    attempts: int
    next_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """The item's turn that has not ended."""

    turn_id: TurnId
    state: TurnState
    keys: tuple[EventKey, ...]
    interruptions: int
    handed_at_ms: int | None
    cancelling_at_ms: int | None = None
    """When the service asked for its end."""
    not_before_ms: int = 0
    """A provider's trouble: it is handed over again then."""
    start_failures: int = 0
    """How often no session could be opened to look it up."""
    must_repeat: bool = False
    """The conversation that may have had it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """All that the choice looks at. `is_reachable`: this process holds a link to the session's host."""

    item_id: ItemId
    phase: Phase
    ended_by: Fact | None
    session_id: SessionId | None
    session: SessionState | None
    is_reachable: bool
    turn: OpenTurn | None
    needs: tuple[Waiting, ...]
    behind: tuple[Waiting, ...]
    queued: tuple[Waiting, ...]
    """By their places."""
    ending: tuple[EventKey, ...]
    removes: bool
    yields: bool = False
    """Another item waits for this one's place."""
    owed: OpenTurn | None = None
    """A turn that the agent was found to have when its host died: it is to be told to go on."""


@dataclass(frozen=True, slots=True)
class AskFact:
    """A command lacks a fact: ask, then decide again."""

    key: EventKey


@dataclass(frozen=True, slots=True)
class DecideAgain:
    """Comments that waited behind an undecided command."""

    keys: tuple[EventKey, ...]


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Cancel a frozen turn; what remains of it is frozen anew."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class RefuseWaiting:
    """What was judged again and may not be handed over."""

    refused: tuple[tuple[EventKey, Outcome], ...]


@dataclass(frozen=True, slots=True)
class CancelTurn:
    """Interrupt the running turn."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class Recover:
    """The store says that a host runs, and this process holds no link: attach, or read what a dead one left."""


@dataclass(frozen=True, slots=True)
class EndSession:
    """End the session with its whole process tree."""


@dataclass(frozen=True, slots=True)
class RemoveClone:
    """The clone shall go."""


@dataclass(frozen=True, slots=True)
class ConfirmEnd:
    """Nothing is left to end: these commands are executed."""

    keys: tuple[EventKey, ...]


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A prompt waits and no session can take it: start one, or load its conversation."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """Write down a turn of these events."""

    keys: tuple[EventKey, ...]
    thread: Thread


@dataclass(frozen=True, slots=True)
class Hand:
    """Hand the frozen turn over, or hand it again after an interruption."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class Repeat:
    """Write the turn anew for a conversation that never heard of it."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class FreezeResumption:
    """Write a turn that tells the agent to go on where it was interrupted."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """The turn was handed over and there is no sign of it: an attempt that failed."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class LetIdle:
    """Give the place to another item: the conversation is kept and loaded when needed."""


@dataclass(frozen=True, slots=True)
class FailInterrupted:
    """The turn was interrupted too often."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do before that time; None: before something happens."""

    until_ms: int | None = None


Act = (
    AskFact
    | DecideAgain
    | TakeBack
    | RefuseWaiting
    | CancelTurn
    | Recover
    | EndSession
    | RemoveClone
    | ConfirmEnd
    | OpenSession
    | Freeze
    | Hand
    | Repeat
    | FreezeResumption
    | Overdue
    | LetIdle
    | FailInterrupted
    | Rest
)

Judge = Callable[[Waiting], Outcome | None]
"""Whether a waiting comment may still be handed over."""


def next_act(work: Work, judge: Judge, now_ms: int) -> Act:
    """The one thing to do next. Total and pure; doing it and asking again ends in a Rest."""
    due = [waiting for waiting in work.needs if waiting.next_at_ms <= now_ms]
    if due:
        return AskFact(due[0].key)
    if work.behind and not work.needs:
        return DecideAgain(tuple(waiting.key for waiting in work.behind))
    if work.session is SessionState.LIVE and not work.is_reachable:
        return Recover()
    refused = _refused(work, judge)
    if refused:
        return refused
    if work.ending:
        return _end(work, now_ms)
    match work.phase:
        case Phase.RUNNING:
            act = _run(work, now_ms)
        case Phase.PAUSED:
            act = _pause(work, now_ms)
        case Phase.NONE | Phase.STOPPED | Phase.FAILED:
            act = _end(work, now_ms)
    return _no_later_than(act, work.needs) if isinstance(act, Rest) else act


def _refused(work: Work, judge: Judge) -> TakeBack | RefuseWaiting | None:
    """What waits is judged once more; a frozen turn that carries something refused is taken back first."""
    refused = [(w.key, outcome) for w in work.queued if (outcome := judge(w)) is not None]
    if not refused:
        return None
    turn = work.turn
    if turn is not None and turn.state is TurnState.FROZEN and {key for key, _ in refused} & set(turn.keys):
        return TakeBack(turn.turn_id)
    return RefuseWaiting(tuple(refused))


def _end(work: Work, now_ms: int) -> Act:
    """What was asked to end does, also where a start has followed meanwhile: that one gets a session of its own."""
    turn = work.turn
    if turn is not None and turn.state is TurnState.FROZEN:
        return TakeBack(turn.turn_id)
    if turn is not None and work.is_reachable:
        if turn.cancelling_at_ms is not None:
            overdue_at = turn.cancelling_at_ms + CANCEL_MS
            return EndSession() if overdue_at <= now_ms else Rest(overdue_at)
        return _await_receipt(turn, now_ms) if work.ended_by is Fact.CLOSURE else CancelTurn(turn.turn_id)
    if work.session is not None:
        return EndSession()
    if work.removes:
        return RemoveClone()
    if work.ending:
        return ConfirmEnd(work.ending)
    return Rest()


def _pause(work: Work, now_ms: int) -> Act:
    """The running turn, or an interrupted one, ends and is posted; nothing new is handed over."""
    turn = work.turn
    if turn is None and work.owed is not None:
        return _tell_to_go_on(work, work.owed, now_ms)
    if turn is None:
        return LetIdle() if work.yields and work.is_reachable else Rest()
    if turn.state is TurnState.FROZEN and turn.keys:
        return TakeBack(turn.turn_id)
    return _go_on(work, turn, now_ms)


def _run(work: Work, now_ms: int) -> Act:
    turn = work.turn
    if turn is not None:
        return _go_on(work, turn, now_ms)
    if work.owed is not None:
        return _tell_to_go_on(work, work.owed, now_ms)
    if work.yields and work.is_reachable:
        return LetIdle()
    ready = ready_to_carry(work.queued, now_ms)
    if isinstance(ready, Rest):
        return ready
    if not work.is_reachable:
        return OpenSession()
    chosen = choose(ready)
    return Freeze(tuple(waiting.key for waiting in chosen), chosen[0].thread)


def _go_on(work: Work, turn: OpenTurn, now_ms: int) -> Act:
    if turn.not_before_ms > now_ms:
        return Rest(turn.not_before_ms)
    if not work.is_reachable and turn.state is TurnState.FROZEN and _waits(work, turn):
        return TakeBack(turn.turn_id)
    if not work.is_reachable:
        return _again(turn)
    if turn.state is TurnState.INTERRUPTED and turn.interruptions >= INTERRUPTIONS_MAX:
        return FailInterrupted(turn.turn_id)
    if turn.state is TurnState.INTERRUPTED and turn.must_repeat:
        return Repeat(turn.turn_id)
    if turn.state in (TurnState.FROZEN, TurnState.INTERRUPTED):
        return Hand(turn.turn_id)
    return _await_receipt(turn, now_ms)


def _waits(work: Work, turn: OpenTurn) -> bool:
    """Whether the turn carries what still waits: what may be frozen anew, and says itself when it is tried again."""
    return bool(set(turn.keys) & {waiting.key for waiting in work.queued})


def _await_receipt(turn: OpenTurn, now_ms: int) -> Act:
    """A turn that a host has runs on; one without a sign for too long has failed."""
    if turn.state is not TurnState.HANDED or turn.handed_at_ms is None:
        return Rest()
    overdue_at = turn.handed_at_ms + RECEIPT_MS
    return Overdue(turn.turn_id) if overdue_at <= now_ms else Rest(overdue_at)


def _tell_to_go_on(work: Work, owed: OpenTurn, now_ms: int) -> Act:
    if owed.not_before_ms > now_ms:
        return Rest(owed.not_before_ms)
    if owed.interruptions >= INTERRUPTIONS_MAX:
        return FailInterrupted(owed.turn_id)
    return FreezeResumption() if work.is_reachable else OpenSession()


def _again(turn: OpenTurn) -> Act:
    """The host is gone and the turn has no end: look it up in the loaded conversation, or hand it over again."""
    if turn.interruptions >= INTERRUPTIONS_MAX:
        return FailInterrupted(turn.turn_id)
    return OpenSession()


def ready_to_carry(queued: Sequence[Waiting], now_ms: int) -> Sequence[Waiting] | Rest:
    """What may be carried now, or until when to wait: a retry's time, or a review that is still being said."""
    if not queued:
        return Rest()
    retry_at = max(waiting.next_at_ms for waiting in queued)
    said_at = max((w.accepted_at_ms + REVIEW_SETTLES_MS for w in queued if w.review_id is not None), default=0)
    until = max(retry_at, said_at)
    return Rest(until) if until > now_ms else queued


def choose(queued: Sequence[Waiting]) -> Sequence[Waiting]:
    """The events of the next turn: in order, of one thread, within the bounds; the first one always."""
    chosen: list[Waiting] = []
    size = 0
    for waiting in queued:
        if waiting.thread != queued[0].thread:
            continue
        size += waiting.body_bytes
        if chosen and (size > BODY_BYTES_MAX or len(chosen) == EVENTS_MAX):
            break
        chosen.append(waiting)
    return chosen


def _no_later_than(rest: Rest, needs: Sequence[Waiting]) -> Rest:
    times = [waiting.next_at_ms for waiting in needs] + ([rest.until_ms] if rest.until_ms is not None else [])
    return Rest(min(times)) if times else rest
