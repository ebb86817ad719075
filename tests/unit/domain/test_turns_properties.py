"""The choice of the next act over whatever may stand in the store, and in a small world in which acts are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.model import EventKey, Fact, ItemId, Outcome, Phase, SessionId, TurnId
from domain.turns import (
    Act,
    AskFact,
    CancelTurn,
    ConfirmEnd,
    DecideAgain,
    EndSession,
    FailInterrupted,
    Freeze,
    FreezeResumption,
    Hand,
    LetIdle,
    OpenSession,
    OpenTurn,
    Overdue,
    Recover,
    RefuseWaiting,
    RemoveClone,
    Repeat,
    Rest,
    SessionState,
    TakeBack,
    TurnState,
    Waiting,
    Work,
    next_act,
)
from tests.fakes.core import THREAD, place

NOW = 1_000_000
ACTS_MAX = 60
"""How many acts a small item may need before it rests."""
LUCK = ["well", "dies", "trouble", "works-on"]
TIMES = st.sampled_from([0, NOW - 200_000, NOW - 1_000, NOW, NOW + 1_000])


@st.composite
def waitings(draw: st.DrawFn, prefix: str) -> tuple[Waiting, ...]:
    return tuple(
        Waiting(
            key=EventKey(f"{prefix}{number}"), place=place(number, number), thread=THREAD,
            body_bytes=draw(st.integers(0, 40_000)), accepted_at_ms=draw(TIMES), is_command=draw(st.booleans()),
            review_id=draw(st.sampled_from([None, 7])), attempts=draw(st.integers(0, 5)), next_at_ms=draw(TIMES),
        )
        for number in range(draw(st.integers(0, 3)))
    )  # fmt: skip


OWED = OpenTurn(turn_id=TurnId("owed"), state=TurnState.ENDED, keys=(), interruptions=1, handed_at_ms=0)


@st.composite
def turns(draw: st.DrawFn, queued: tuple[Waiting, ...]) -> OpenTurn | None:
    state = draw(st.sampled_from([None, TurnState.FROZEN, TurnState.HANDED, TurnState.TAKEN, TurnState.INTERRUPTED]))
    if state is None:
        return None
    frozen = tuple(waiting.key for waiting in queued[:1])
    return OpenTurn(
        turn_id=TurnId("t"), state=state, keys=frozen if state is TurnState.FROZEN else (EventKey("carried"),),
        interruptions=draw(st.integers(0, 3)), handed_at_ms=draw(st.none() | TIMES),
        cancelling_at_ms=draw(st.none() | TIMES), not_before_ms=draw(TIMES), must_repeat=draw(st.booleans()),
    )  # fmt: skip


@st.composite
def works(draw: st.DrawFn) -> Work:
    session = draw(st.sampled_from([None, SessionState.OPENING, SessionState.IDLE, *[SessionState.LIVE] * 3]))
    queued = draw(waitings("q"))
    return Work(
        item_id=ItemId(1), phase=draw(st.sampled_from(Phase)),
        ended_by=draw(st.sampled_from([None, Fact.COMMENT, Fact.CLOSURE, Fact.OPERATOR])),
        session_id=SessionId("s") if session else None, session=session,
        is_reachable=session is SessionState.LIVE and draw(st.sampled_from([True, True, False])), turn=draw(turns(queued)),
        needs=draw(waitings("n")), behind=draw(waitings("b")), queued=queued,
        ending=draw(st.sampled_from([(), (EventKey("stop"),)])), removes=draw(st.booleans()),
        yields=draw(st.booleans()), owed=draw(st.none() | st.just(OWED)),
    )  # fmt: skip


def judge(waiting: Waiting) -> Outcome | None:
    """Every second one is refused."""
    return Outcome.SESSION_PAUSED if waiting.place.number % 2 else None


@given(works())
def test_there_is_a_next_act_for_whatever_stands_in_the_store(work: Work) -> None:
    act = next_act(work, judge, NOW)
    assert next_act(work, judge, NOW) == act
    assert not isinstance(act, Rest) or act.until_ms is None or act.until_ms > NOW


@settings(max_examples=800)
@given(works(), st.sampled_from(LUCK).map(lambda one: [one]) | st.lists(st.sampled_from(LUCK), min_size=1, max_size=4))
def test_doing_the_acts_one_after_the_other_comes_to_rest(work: Work, lucks: list[str]) -> None:
    """The world's luck goes round and round."""
    luck = cycle(lucks)
    for _ in range(ACTS_MAX):
        act = next_act(work, judge, NOW)
        if isinstance(act, Rest):
            return
        work = done(work, act, luck)
    raise AssertionError(f"no rest after {ACTS_MAX} acts: {work}")


def done(work: Work, act: Act, luck: Iterator[str]) -> Work:
    """The item after an act, in a world that does what was asked or fails."""
    match act:
        case AskFact(key=key):
            return replace(work, needs=_without(work.needs, key))
        case DecideAgain():
            return replace(work, behind=(), queued=(*work.queued, *work.behind))
        case RefuseWaiting(refused=refused):
            return replace(work, queued=_without(work.queued, *(key for key, _ in refused)))
        case RemoveClone():
            return replace(work, removes=False)
        case ConfirmEnd():
            return replace(work, ending=())
        case Recover() | OpenSession() | EndSession() | LetIdle():
            return _session(work, act, next(luck))
        case _:
            return _turn(work, act, next(luck))


def _session(work: Work, act: Act, luck: str) -> Work:
    if isinstance(act, EndSession):
        return replace(work, session=None, session_id=None, is_reachable=False, turn=None, owed=None)
    if isinstance(act, LetIdle):
        return replace(work, session=SessionState.IDLE, is_reachable=False, yields=False)
    if luck in ("well", "works-on"):
        return replace(work, session=SessionState.LIVE, session_id=SessionId("s"), is_reachable=True)
    return _put_off(replace(work, session=SessionState.IDLE, session_id=SessionId("s"), is_reachable=False))


def _put_off(work: Work) -> Work:
    """A start failed: whoever wanted it waits, comments of a frozen turn wait again."""
    later, turn = NOW + 2_000, work.turn
    queued = tuple(replace(waiting, next_at_ms=later) for waiting in work.queued)
    if turn is not None and turn.state is TurnState.FROZEN and turn.keys:
        turn = None
    if turn is not None:
        return replace(work, turn=replace(turn, not_before_ms=later), queued=queued)
    owed = replace(work.owed, not_before_ms=later) if work.owed is not None else None
    return replace(work, turn=None, owed=owed, queued=queued)


def _turn(work: Work, act: Act, luck: str) -> Work:
    turn = work.turn
    match act:
        case Freeze(keys=keys):
            return replace(work, turn=_fresh(keys))
        case FreezeResumption():
            return replace(work, turn=_fresh(()), owed=None)
        case TakeBack():
            return replace(work, turn=None)
        case Repeat():
            assert turn is not None
            return replace(work, turn=replace(turn, state=TurnState.FROZEN, must_repeat=False))
        case CancelTurn():
            assert turn is not None
            return replace(work, turn=replace(turn, cancelling_at_ms=NOW) if luck == "works-on" else None)
        case Overdue():
            return replace(work, turn=None, session=SessionState.IDLE, is_reachable=False)
        case FailInterrupted():
            return replace(work, turn=None, owed=None, phase=Phase.FAILED)
        case Hand():
            return _handed(work, luck)
    raise AssertionError(f"{act} is not known here")


def _handed(work: Work, luck: str) -> Work:
    assert work.turn is not None
    handed = replace(work.turn, state=TurnState.HANDED, handed_at_ms=NOW)
    work = replace(work, turn=handed, queued=_without(work.queued, *handed.keys))
    match luck:
        case "works-on":
            return replace(work, turn=replace(handed, state=TurnState.TAKEN))
        case "trouble":
            return _interrupted(work)
        case "dies":
            return _interrupted(replace(work, session=SessionState.IDLE, is_reachable=False))
        case _:
            return replace(work, turn=None)


def _interrupted(work: Work) -> Work:
    """The host died at the turn, or the agent failed at it."""
    assert work.turn is not None
    more = replace(work.turn, state=TurnState.INTERRUPTED, interruptions=work.turn.interruptions + 1)
    return replace(work, turn=more)


def _fresh(keys: tuple[EventKey, ...]) -> OpenTurn:
    return OpenTurn(turn_id=TurnId("fresh"), state=TurnState.FROZEN, keys=keys, interruptions=0, handed_at_ms=None)


def _without(waiting: tuple[Waiting, ...], *keys: EventKey) -> tuple[Waiting, ...]:
    return tuple(one for one in waiting if one.key not in keys)
