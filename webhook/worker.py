"""Carries out: makes the session of each item agree with what people asked for, one act at a time.

`attend` asks `domain.turns.next_act` what to do, does it, and asks again until there is nothing to do; what it needs to
know stands in the store, so that a killed service goes on where it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from domain.control import Verb
from domain.model import EventKey, ItemId, Outcome
from domain.phase import may_precede, precedes
from domain.policy import ItemView
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
    Overdue,
    Recover,
    RefuseWaiting,
    RemoveClone,
    Repeat,
    Rest,
    TakeBack,
    TurnState,
    Waiting,
    Work,
    next_act,
)
from statedb import session_rows, turn_rows, work
from statedb.database import StoreUnavailable
from statedb.reading import item_by_id
from statedb.rows import ItemRow, Removal, Step
from statedb.session_rows import SessionRow
from statedb.work import WaitingRow
from webhook.event_deeds import EventDeeds
from webhook.ground import Ground
from webhook.means import Means
from webhook.session_deeds import SessionDeeds
from webhook.turn_deeds import TurnDeeds

STORE_PAUSE_MS = 5_000
"""Before an item is attended again whose writing the store did not take."""
FAULT_PAUSE_MS = 30_000
"""Before an item is attended again at which a fault of ours showed."""
ACTS_MAX = 200
"""How many acts one attendance takes at most: a bound on a fault, not on work."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Known:
    """An item as it stands in the store, and what waits on it."""

    item: ItemRow
    view: ItemView
    work: Work
    rows: dict[EventKey, WaitingRow]
    session: SessionRow | None


class Worker:
    """Attends items. Its `run` and `run_second_lane` are bodies of threads that the service starts."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._ground = Ground(means)
        self._events = EventDeeds(self._ground)
        self._sessions = SessionDeeds(self._ground)
        self._turns = TurnDeeds(self._ground)

    def run(self) -> None:
        """Attend items until the lanes stop."""
        lanes = self._means.lanes
        while (item_id := lanes.take()) is not None:
            try:
                self._attend_safely(item_id)
            finally:
                lanes.done(item_id)

    def run_second_lane(self) -> None:
        """Interrupt starts that nobody wants any more, or that take too long, while their thread is at them."""
        while not self._means.lanes.stopping:
            item_id = self._means.lanes.disturbed(timeout_s=1.0)
            if item_id is not None and not self._ground.is_wanted(item_id):
                self._sessions.interrupt(item_id)
            self._sessions.interrupt_overdue()

    def recover(self) -> None:
        """Wake every item on which something is not finished; once at start."""
        for item_id in work.items_with_work(self._means.database.reader()):
            self._means.lanes.wake(item_id)

    def let_go(self) -> None:
        """Detach from all sessions; they go on without us."""
        self._ground.sessions.drop_all()

    def attend(self, item_id: ItemId) -> None:
        """Do what there is to do for an item now. The caller holds the item's lane."""
        for _ in range(ACTS_MAX):
            if self._means.lanes.stopping:
                return
            # Before the look, so that a wait is never over for what arrived after it.
            now_ms = self._means.clock()
            known = self._look(item_id)
            if known is None or (known.session and self._ground.sessions.is_ending(known.session.session_id)):
                return
            act = next_act(known.work, self._judge(known), now_ms)
            if isinstance(act, Rest):
                self._rest(known, act)
                return
            if not self._do(known, act):
                return
        self._means.lanes.wake_at(item_id, self._means.clock() + FAULT_PAUSE_MS)
        log.error("item %d was attended %d times without an end", item_id, ACTS_MAX)

    def _attend_safely(self, item_id: ItemId) -> None:
        now_ms = self._means.clock()
        try:
            self.attend(item_id)
        except StoreUnavailable as error:
            self._means.lanes.wake_at(item_id, now_ms + STORE_PAUSE_MS)
            log.warning("the store did not take what item %d needs: %s", item_id, error)
        except Exception:  # one item's fault must not stop the others
            self._means.lanes.wake_at(item_id, now_ms + FAULT_PAUSE_MS)
            log.exception("item %d could not be attended", item_id)

    def _do(self, known: Known, act: Act) -> bool:
        """Do one act; False where nothing more can be done before something happens."""
        events, sessions, turns = self._events, self._sessions, self._turns
        item, session = known.item, known.session
        match act:
            case AskFact(key=key):
                return events.ask(item, known.rows[key])
            case DecideAgain(keys=keys):
                return events.decide_again([known.rows[key] for key in keys], known.view)
            case TakeBack(turn_id=turn_id):
                return turns.take_back(turn_id)
            case RefuseWaiting(refused=refused):
                return events.refuse(item, [(known.rows[key], outcome) for key, outcome in refused])
            case CancelTurn(turn_id=turn_id):
                return turns.cancel(item.item_id, turn_id)
            case Recover():
                return session is not None and sessions.recover(session)
            case EndSession():
                return session is not None and sessions.end(session)
            case RemoveClone():
                return sessions.remove_clone(item, [known.rows[key] for key in known.work.ending])
            case ConfirmEnd(keys=keys):
                return events.confirm([known.rows[key] for key in keys])
            case OpenSession():
                return sessions.open(item, self._to_carry(known))
            case Freeze(keys=keys, thread=thread):
                return session is not None and turns.freeze(item, session, [known.rows[key] for key in keys], thread)
            case FreezeResumption():
                return session is not None and turns.freeze_resumption(item, session)
            case Hand(turn_id=turn_id):
                return session is not None and turns.hand(item, session, turn_id, self._to_carry(known))
            case Repeat(turn_id=turn_id):
                return turns.repeat(turn_id)
            case Overdue(turn_id=turn_id):
                return session is not None and turns.overdue(session, turn_id)
            case LetIdle():
                return session is not None and sessions.let_idle(session)
            case FailInterrupted(turn_id=turn_id):
                return turns.fail_interrupted(item, turn_id)
            case Rest():
                return False
            case _:
                assert_never(act)

    def _rest(self, known: Known, rest: Rest) -> None:
        """Nothing is wanted before that time: slots and places that serve nothing go to those who stand in line."""
        means, item_id, turn = self._means, known.item.item_id, known.work.turn
        is_handing = turn is not None and turn.state is not TurnState.FROZEN
        for slots, holds in (
            (means.starts, is_handing),
            (means.hand_overs, is_handing),
            (means.places, known.work.is_reachable),
        ):
            if holds:
                slots.leave_line(item_id)
            else:
                slots.give_back(item_id)
        for waiting in means.places.line[:1]:
            means.lanes.wake(waiting)
        if rest.until_ms is not None:
            means.lanes.wake_at(item_id, rest.until_ms)

    def _look(self, item_id: ItemId) -> Known | None:
        """The item as it stands now."""
        connection = self._means.database.reader()
        item = item_by_id(connection, item_id)
        if item is None:
            return None
        rows = work.waiting_rows(connection, item_id)
        session = session_rows.session_of(connection, item_id)
        turn = turn_rows.open_turn(connection, item_id)
        view = item_view(item)
        live = self._ground.sessions.get(session.session_id) if session else None
        carried = set(turn.keys) if turn is not None and turn.state is TurnState.FROZEN else set()
        queued = [
            row
            for row in rows
            if row.fate.event_key in carried or (row.fate.step is Step.QUEUED and not _is_held(row, rows))
        ]
        known = Work(
            item_id=item_id,
            phase=view.phase,
            ended_by=item.folded.ended_by,
            session_id=session.session_id if session else None,
            session=session.state if session else None,
            is_reachable=live is not None,
            turn=turn,
            needs=_waiting(rows, Step.NEED),
            behind=_waiting(rows, Step.BEHIND),
            queued=tuple(as_waiting(row) for row in queued),
            ending=tuple(row.fate.event_key for row in rows if row.fate.step is Step.ENDING),
            removes=item.removal is not Removal.KEEP,
            yields=self._sessions.yields(item_id),
            owed=turn_rows.owed_turn(connection, item_id),
        )
        return Known(item, view, known, {row.fate.event_key: row for row in rows}, session)

    def _judge(self, known: Known) -> Callable[[Waiting], Outcome | None]:
        """Comments by the Dispatcher's judgement; a command waits until its stretch of running has ended."""

        def judge(waiting: Waiting) -> Outcome | None:
            row = known.rows[waiting.key]
            if not waiting.is_command:
                return self._means.dispatcher.judge(row.event, known.view)
            opening = known.view.folded.opening
            ended = opening is None or precedes(waiting.place, opening)
            return Outcome.CONTROL_EXECUTED if ended else None

        return judge

    def _to_carry(self, known: Known) -> Sequence[WaitingRow]:
        return [known.rows[waiting.key] for waiting in known.work.queued]


def item_view(item: ItemRow) -> ItemView:
    """The item as judging again sees it: what is queued needs no other fact."""
    failed = item.failed_generation is not None and item.failed_generation == item.folded.generation
    return ItemView(folded=item.folded, failed=failed, refused=item.refused, home=item.home)


def as_waiting(row: WaitingRow) -> Waiting:
    """A row as the choice of the next act sees it."""
    event, fate = row.event, row.fate
    review_id = event.anchor.review_id if event.anchor else event.object_id if event.fact == "review" else None
    return Waiting(
        key=fate.event_key,
        place=fate.place,
        thread=event.thread,
        body_bytes=len(event.body.encode("utf-8", "replace")),
        accepted_at_ms=row.accepted_at_ms,
        is_command=fate.verb in (Verb.START, Verb.RESUME),
        review_id=review_id,
        attempts=fate.attempts,
        next_at_ms=fate.next_at_ms,
    )


def _is_held(row: WaitingRow, rows: Sequence[WaitingRow]) -> bool:
    """Whether a command that may stand before a comment is undecided: until then nobody can judge the comment."""
    undecided = (other.fate.place for other in rows if other.fate.step is Step.NEED)
    return row.fate.verb is None and any(may_precede(place, row.fate.place) for place in undecided)


def _waiting(rows: Sequence[WaitingRow], step: Step) -> tuple[Waiting, ...]:
    return tuple(as_waiting(row) for row in rows if row.fate.step is step)
