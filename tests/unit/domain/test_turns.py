"""What a worker does next: every branch of the choice as whole values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.model import EventKey, Fact, ItemId, Outcome, Phase, SessionId, TurnId
from domain.turns import (
    CANCEL_MS,
    RECEIPT_MS,
    REVIEW_SETTLES_MS,
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
TURN = TurnId("turn")
A, B, STOP = EventKey("a"), EventKey("b"), EventKey("stop")


A_COMMENT = Waiting(
    key=A, place=place(1, 1), thread=THREAD, body_bytes=10, accepted_at_ms=NOW - 60_000, is_command=False,
    review_id=None, attempts=0, next_at_ms=0,
)  # fmt: skip
A_TURN = OpenTurn(turn_id=TURN, state=TurnState.TAKEN, keys=(A,), interruptions=0, handed_at_ms=NOW - 1_000)
LIVE = Work(
    item_id=ItemId(1), phase=Phase.RUNNING, ended_by=None, session_id=SessionId("s"), session=SessionState.LIVE,
    is_reachable=True, turn=None, needs=(), behind=(), queued=(), ending=(), removes=False,
)  # fmt: skip


def waiting(key: EventKey = A, **about) -> Waiting:
    return replace(A_COMMENT, key=key, **about)


def turn(state: TurnState = TurnState.TAKEN, **about) -> OpenTurn:
    return replace(A_TURN, state=state, **about)


IDLE = replace(LIVE, session=SessionState.IDLE, is_reachable=False)
BARE = replace(LIVE, session_id=None, session=None, is_reachable=False)
LOST = replace(LIVE, is_reachable=False)
PAUSED = replace(LIVE, phase=Phase.PAUSED)
STOPPED = replace(LIVE, phase=Phase.STOPPED, ended_by=Fact.COMMENT)
CLOSED = replace(STOPPED, ended_by=Fact.CLOSURE)
FROZEN, HANDED, TAKEN, INTERRUPTED = (
    turn(state) for state in (TurnState.FROZEN, TurnState.HANDED, TurnState.TAKEN, TurnState.INTERRUPTED)
)
OWED = turn(TurnState.ENDED)


def hand_over_all(_: Waiting) -> Outcome | None:
    return None


def refuse_all(_: Waiting) -> Outcome | None:
    return Outcome.SESSION_STOPPED


def act(given: Work) -> Act:
    return next_act(given, hand_over_all, NOW)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(replace(LIVE, needs=(waiting(A),), behind=(waiting(B),)), AskFact(A), id="a-fact-is-asked-for"),
        pytest.param(replace(STOPPED, needs=(waiting(A),)), AskFact(A), id="asked-for-in-any-phase"),
        pytest.param(
            replace(LIVE, needs=(waiting(A, next_at_ms=NOW + 5),), behind=(waiting(B),)),
            Rest(NOW + 5),
            id="asked-again-when-it-is-time",
        ),
        pytest.param(
            replace(LIVE, needs=(waiting(B, next_at_ms=NOW + 5),), queued=(waiting(A),)),
            Freeze((A,), THREAD),
            id="what-stood-before-an-undecided-command-goes-on",
        ),
        pytest.param(
            replace(LIVE, behind=(waiting(A), waiting(B))), DecideAgain((A, B)), id="what-waited-behind-is-decided"
        ),
        pytest.param(replace(LOST, turn=TAKEN), Recover(), id="a-session-of-an-earlier-run-is-reached"),
        pytest.param(replace(LOST, phase=Phase.STOPPED), Recover(), id="reached-before-it-is-ended"),
        pytest.param(BARE, Rest(), id="running-with-nothing-to-say"),
        pytest.param(replace(BARE, queued=(waiting(),)), OpenSession(), id="a-session-is-opened-for-what-waits"),
        pytest.param(replace(IDLE, queued=(waiting(),)), OpenSession(), id="an-idle-session-is-opened-again"),
        pytest.param(
            replace(IDLE, session=SessionState.OPENING, queued=(waiting(),)), OpenSession(), id="an-opening-goes-on"
        ),
        pytest.param(
            replace(LIVE, queued=(waiting(A), waiting(B))), Freeze((A, B), THREAD), id="what-waits-is-one-turn"
        ),
        pytest.param(
            replace(LIVE, queued=(waiting(next_at_ms=NOW + 7),)), Rest(NOW + 7), id="a-failed-attempt-is-not-early"
        ),
        pytest.param(replace(BARE, queued=(waiting(next_at_ms=NOW + 7),)), Rest(NOW + 7), id="nor-is-a-failed-start"),
        pytest.param(
            replace(LIVE, queued=(waiting(review_id=9, accepted_at_ms=NOW - 1),)),
            Rest(NOW - 1 + REVIEW_SETTLES_MS),
            id="a-review-is-still-being-said",
        ),
        pytest.param(replace(LIVE, turn=FROZEN), Hand(TURN), id="a-frozen-turn-is-handed-over"),
        pytest.param(replace(IDLE, turn=FROZEN), OpenSession(), id="a-frozen-turn-wants-a-session"),
        pytest.param(
            replace(LIVE, turn=HANDED, queued=(waiting(B),)),
            Rest(NOW - 1_000 + RECEIPT_MS),
            id="one-prompt-at-a-time-until-the-receipt",
        ),
        pytest.param(replace(LIVE, turn=TAKEN, queued=(waiting(B),)), Rest(), id="one-prompt-at-a-time-until-the-end"),
        pytest.param(
            replace(LIVE, turn=turn(TurnState.HANDED, handed_at_ms=NOW - RECEIPT_MS)),
            Overdue(TURN),
            id="no-sign-for-too-long",
        ),
        pytest.param(replace(LIVE, turn=INTERRUPTED), Hand(TURN), id="an-interrupted-turn-is-handed-again"),
        pytest.param(replace(IDLE, turn=INTERRUPTED), OpenSession(), id="an-interrupted-turn-is-looked-up"),
        pytest.param(
            replace(LIVE, turn=replace(INTERRUPTED, must_repeat=True)), Repeat(TURN), id="a-lost-conversation-is-told"
        ),
        pytest.param(
            replace(LIVE, turn=replace(INTERRUPTED, not_before_ms=NOW + 9)), Rest(NOW + 9), id="put-off-at-no-charge"
        ),
        pytest.param(
            replace(IDLE, turn=replace(INTERRUPTED, not_before_ms=NOW + 9)), Rest(NOW + 9), id="put-off-without-a-host"
        ),
        pytest.param(
            replace(IDLE, turn=replace(INTERRUPTED, interruptions=2)), FailInterrupted(TURN), id="interrupted-twice"
        ),
        pytest.param(
            replace(LIVE, turn=replace(INTERRUPTED, interruptions=2)),
            FailInterrupted(TURN),
            id="interrupted-twice-under-a-host-that-lives",
        ),
        pytest.param(replace(LIVE, owed=OWED), FreezeResumption(), id="told-to-go-on"),
        pytest.param(replace(IDLE, owed=OWED), OpenSession(), id="told-to-go-on-once-there-is-a-session"),
        pytest.param(
            replace(IDLE, owed=replace(OWED, not_before_ms=NOW + 1)), Rest(NOW + 1), id="told-to-go-on-after-a-pause"
        ),
        pytest.param(replace(IDLE, owed=replace(OWED, interruptions=2)), FailInterrupted(TURN), id="told-in-vain"),
        pytest.param(replace(LIVE, yields=True), LetIdle(), id="an-idle-session-gives-its-place"),
        pytest.param(replace(LIVE, yields=True, turn=TAKEN), Rest(), id="a-running-turn-keeps-its-place"),
        pytest.param(replace(IDLE, yields=True), Rest(), id="nothing-to-give"),
    ],
)
def test_an_item_that_runs_gets_its_next_act(given: Work, wanted: Act) -> None:
    assert act(given) == wanted


def test_a_frozen_turn_opens_no_session_before_the_next_attempt_of_its_comments() -> None:
    """The host ended while the turn was written down: a start failed, and its pause holds."""
    later = replace(IDLE, turn=FROZEN, queued=(waiting(next_at_ms=NOW + 7),))
    assert act(later) in (TakeBack(TURN), Rest(NOW + 7))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(PAUSED, Rest(), id="nothing"),
        pytest.param(replace(PAUSED, turn=TAKEN), Rest(), id="the-running-turn-ends"),
        pytest.param(replace(PAUSED, turn=HANDED), Rest(NOW - 1_000 + RECEIPT_MS), id="a-handed-turn-is-waited-for"),
        pytest.param(replace(PAUSED, turn=FROZEN), TakeBack(TURN), id="a-frozen-turn-is-taken-back"),
        pytest.param(
            replace(PAUSED, turn=turn(TurnState.FROZEN, keys=())), Hand(TURN), id="going-on-is-still-handed-over"
        ),
        pytest.param(replace(PAUSED, turn=INTERRUPTED), Hand(TURN), id="an-interrupted-turn-ends-too"),
        pytest.param(
            replace(PAUSED, session=SessionState.IDLE, is_reachable=False, turn=INTERRUPTED),
            OpenSession(),
            id="an-interrupted-turn-is-looked-up",
        ),
        pytest.param(replace(PAUSED, owed=OWED), FreezeResumption(), id="told-to-go-on"),
        pytest.param(
            replace(PAUSED, queued=(waiting(is_command=True),)), Rest(), id="a-command-that-owes-a-prompt-waits"
        ),
        pytest.param(replace(PAUSED, yields=True), LetIdle(), id="a-paused-session-is-idle"),
    ],
)
def test_a_paused_item_lets_its_turn_end_and_hands_nothing_over(given: Work, wanted: Act) -> None:
    assert act(given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(replace(STOPPED, turn=FROZEN), TakeBack(TURN), id="a-frozen-turn-is-taken-back"),
        pytest.param(replace(STOPPED, turn=TAKEN), CancelTurn(TURN), id="a-running-turn-is-cancelled"),
        pytest.param(replace(STOPPED, turn=HANDED), CancelTurn(TURN), id="a-handed-turn-is-cancelled"),
        pytest.param(
            replace(STOPPED, turn=turn(cancelling_at_ms=NOW - 1)), Rest(NOW - 1 + CANCEL_MS), id="its-end-is-waited-for"
        ),
        pytest.param(
            replace(STOPPED, turn=turn(cancelling_at_ms=NOW - CANCEL_MS)), EndSession(), id="but-not-for-ever"
        ),
        pytest.param(replace(STOPPED, ending=(STOP,), removes=True), EndSession(), id="the-session-ends-first"),
        pytest.param(
            replace(BARE, phase=Phase.STOPPED, ending=(STOP,), removes=True), RemoveClone(), id="then-the-clone-goes"
        ),
        pytest.param(
            replace(BARE, phase=Phase.STOPPED, ending=(STOP,)), ConfirmEnd((STOP,)), id="then-the-stop-is-executed"
        ),
        pytest.param(replace(BARE, phase=Phase.STOPPED), Rest(), id="nothing-left"),
        pytest.param(replace(IDLE, phase=Phase.STOPPED), EndSession(), id="an-idle-session-ends"),
        pytest.param(
            replace(IDLE, phase=Phase.STOPPED, turn=INTERRUPTED), EndSession(), id="an-interrupted-turn-is-not-repeated"
        ),
        pytest.param(replace(STOPPED, turn=INTERRUPTED, owed=OWED), CancelTurn(TURN), id="nor-is-it-told-to-go-on"),
        pytest.param(replace(CLOSED, turn=TAKEN), Rest(), id="closing-lets-the-running-turn-end"),
        pytest.param(
            replace(CLOSED, turn=HANDED), Rest(NOW - 1_000 + RECEIPT_MS), id="closing-waits-for-a-receipt-with-a-bound"
        ),
        pytest.param(replace(CLOSED, turn=FROZEN), TakeBack(TURN), id="closing-hands-nothing-more-over"),
        pytest.param(CLOSED, EndSession(), id="after-its-turn-a-closed-item-ends"),
        pytest.param(replace(LIVE, phase=Phase.FAILED), EndSession(), id="a-failed-item-has-no-session"),
        pytest.param(BARE, Rest(), id="never-started"),
        pytest.param(
            replace(LIVE, ending=(STOP,), queued=(waiting(),)),
            EndSession(),
            id="a-start-after-a-stop-waits-for-its-end",
        ),
        pytest.param(
            replace(BARE, ending=(STOP,), removes=True, queued=(waiting(),)), RemoveClone(), id="and-for-the-removal"
        ),
        pytest.param(
            replace(LIVE, ending=(STOP,), turn=TAKEN), CancelTurn(TURN), id="a-start-after-a-stop-saves-no-turn"
        ),
    ],
)
def test_an_item_that_nobody_wants_run_comes_to_its_end(given: Work, wanted: Act) -> None:
    assert act(given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(
            replace(LIVE, queued=(waiting(A), waiting(B))),
            RefuseWaiting(((A, Outcome.SESSION_STOPPED), (B, Outcome.SESSION_STOPPED))),
            id="what-may-not-be-handed-over-is-settled",
        ),
        pytest.param(replace(LIVE, turn=FROZEN, queued=(waiting(A),)), TakeBack(TURN), id="out-of-a-frozen-turn-first"),
        pytest.param(
            replace(LIVE, turn=FROZEN, queued=(waiting(B),)),
            RefuseWaiting(((B, Outcome.SESSION_STOPPED),)),
            id="beside-a-frozen-turn-at-once",
        ),
        pytest.param(
            replace(LIVE, turn=TAKEN, queued=(waiting(B),)),
            RefuseWaiting(((B, Outcome.SESSION_STOPPED),)),
            id="behind-a-running-turn-at-once",
        ),
    ],
)
def test_what_waits_is_judged_again_before_anything_is_handed_over(given: Work, wanted: Act) -> None:
    assert next_act(given, refuse_all, NOW) == wanted
