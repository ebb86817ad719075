"""What follows when a session could not be opened, when its host has ended, and when a turn shows no sign of life."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain.model import ItemId
from domain.retry import PROVIDER_PAUSE_S, Again, after_failure
from domain.turns import INTERRUPTIONS_MAX, OpenTurn, SessionState, TurnState
from eventlog.events.session import SessionFailed
from eventlog.events.turn import TurnInterrupted
from replies.record import Recorder
from sessions.host.records import Exited, IdleEnded, Recorded, Started, Trouble, TroubleKind
from statedb import session_rows, turn_rows, work
from statedb.database import Connection
from statedb.reading import label_of
from statedb.rows import Step
from statedb.session_rows import SessionRow
from statedb.turn_rows import TurnRow
from webhook.giving_up import Failure, Written, note_failure


@dataclass(slots=True)
class Life:
    """What a host's own records say of its life."""

    opened: bool = False
    """Its conversation was opened."""
    idle: bool = False
    """It ended because nothing was asked of it."""
    exited: bool = False
    """It ended in order."""
    trouble: Trouble | None = None
    """The last trouble since the conversation was opened, or of a start that failed."""

    @property
    def died(self) -> bool:
        """Whether it went without a word."""
        return not self.exited

    def hear(self, records: Iterable[Recorded]) -> None:
        """Take in what it wrote."""
        for recorded in records:
            match recorded.record:
                case Started():
                    self.opened, self.trouble = True, None
                case Trouble() as trouble:
                    self.trouble = trouble
                case IdleEnded():
                    self.idle = True
                case Exited():
                    self.exited = True


@dataclass(frozen=True, slots=True)
class Aftermath:
    """Puts down what follows, inside the committer's transaction."""

    recorder: Recorder
    retries_max: int

    def start_failed(self, connection: Connection, item_id: ItemId, failure: Failure, now_ms: int) -> Written:
        """No session could be opened. A turn that some host had pays for its own looking up; else what waits pays."""
        had = turn_rows.had_turn(connection, item_id)
        if had is not None:
            self._put_off(connection, had, failure, now_ms)
            return Written()
        turn = turn_rows.open_turn(connection, item_id)
        if turn is not None and turn.keys:
            turn_rows.let_go(connection, turn.turn_id, now_ms)
        rows = [row for row in work.waiting_rows(connection, item_id) if row.fate.step is Step.QUEUED]
        return note_failure(connection, item_id, rows, failure, self.retries_max, self.recorder, now_ms)

    def host_ended(self, connection: Connection, session: SessionRow, life: Life, now_ms: int) -> Written:
        """The host is gone: the session is idle, and its turn is looked up by the next host, or tried again.

        Of one that died, what it should have taken pays: for a start that failed, or, where its conversation had been
        opened, for an interruption.
        """
        trouble = life.trouble
        session_rows.set_session_state(connection, session.session_id, SessionState.IDLE, now_ms)
        turn = turn_rows.open_turn(connection, session.item_id)
        row = turn_rows.turn(connection, turn.turn_id) if turn else None
        if trouble is not None and trouble.kind is TroubleKind.CONVERSATION_GONE:
            if turn is not None:
                _look_up_again(connection, turn, row, now_ms)
            return Written()
        if trouble is not None and trouble.turn_id is None:
            written = self.start_failed(connection, session.item_id, _failure(trouble), now_ms)
            written.log.append(_session_failed(connection, session, trouble))
            return written
        is_handed = row is not None and row.state in (TurnState.HANDED, TurnState.TAKEN)
        has_it = is_handed and row is not None and (row.written_by_host or (life.died and life.opened))
        if life.died and not has_it and not life.opened:
            return self.start_failed(connection, session.item_id, Failure(cause="the session host died"), now_ms)
        if turn is None or turn.state in (TurnState.FROZEN, TurnState.INTERRUPTED):
            return Written()
        if not has_it:
            turn_rows.put_off(connection, turn.turn_id, now_ms)
            return Written()
        turn_rows.mark_interrupted(connection, session.item_id)
        return Written(log=[_interrupted(connection, session, turn, trouble)])

    def no_sign(self, connection: Connection, turn: TurnRow, now_ms: int) -> Written:
        """A host had the turn and the agent showed no sign of it, so that we ended it: its host will not take it again.

        Its events have failed an attempt and wait for another turn; what makes up for an older turn is written anew.
        """
        failure = Failure(cause="the agent showed no sign of it")
        if turn.kind == "events":
            rows = work.events_of_turn(connection, turn.turn_id)
            written = note_failure(connection, turn.item_id, rows, failure, self.retries_max, self.recorder, now_ms)
            turn_rows.let_go(connection, turn.turn_id, now_ms)
            return written
        if turn.follows is not None and turn.kind == "resumption":
            turn_rows.mark_ended(connection, turn.turn_id, TurnState.CANCELLED, "no sign", "", "", "{}", now_ms)
            turn_rows.owe_resumption(connection, turn.follows)
        else:
            turn_rows.write_anew(connection, turn.turn_id)
        owing = turn_rows.had_turn(connection, turn.item_id)
        if owing is not None:
            self._put_off(connection, owing, failure, now_ms)
        return Written()

    def _put_off(self, connection: Connection, turn: OpenTurn, failure: Failure, now_ms: int) -> None:
        """Look the turn up later; a budget of failed starts ends like a second interruption."""
        if failure.free_pause_s is not None:
            turn_rows.put_off(connection, turn.turn_id, now_ms + round(failure.free_pause_s * 1000))
            return
        match after_failure(turn.start_failures, self.retries_max, now_ms):
            case Again(attempts=attempts, at_ms=at_ms):
                turn_rows.put_off(connection, turn.turn_id, at_ms)
                turn_rows.count_start_failure(connection, turn.turn_id, attempts, turn.interruptions)
            case _:
                turn_rows.put_off(connection, turn.turn_id, now_ms)
                turn_rows.count_start_failure(connection, turn.turn_id, turn.start_failures + 1, INTERRUPTIONS_MAX)


def _look_up_again(connection: Connection, turn: OpenTurn, row: TurnRow | None, now_ms: int) -> None:
    """The conversation is gone: what a host had is repeated to a new one, what none had waits again."""
    if row is not None and row.written_by_host:
        turn_rows.put_off(connection, turn.turn_id, now_ms)
    elif turn.keys:
        turn_rows.let_go(connection, turn.turn_id, now_ms)


def _failure(trouble: Trouble) -> Failure:
    """Why a start failed, in our own words: what an agent says is not repeated on a thread."""
    if trouble.kind is TroubleKind.PROVIDER:
        return Failure(cause="the agent's provider would not answer", free_pause_s=PROVIDER_PAUSE_S)
    return Failure(cause="the agent could not be started")


def _session_failed(connection: Connection, session: SessionRow, trouble: Trouble) -> SessionFailed:
    return SessionFailed(
        session_id=session.session_id,
        work_item=label_of(connection, session.item_id),
        harness=session.harness,
        will_retry=True,
        error=trouble.text,
    )


def _interrupted(
    connection: Connection, session: SessionRow, turn: OpenTurn, trouble: Trouble | None
) -> TurnInterrupted:
    cause = trouble.text if trouble else "the session host is gone"
    return TurnInterrupted(
        turn_id=turn.turn_id,
        session_id=session.session_id,
        work_item=label_of(connection, session.item_id),
        cause=cause,
        interruptions=turn.interruptions + 1,
    )
