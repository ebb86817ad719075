"""What a session host wrote becomes rows: receipts, ends and troubles, each with the offset up to which was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.answers import answer_of
from domain.model import EventKey, Fact, Fate, ItemId, Outcome, TurnId
from domain.retry import PROVIDER_PAUSE_S
from domain.turns import TurnState
from eventlog.event import LogEvent
from eventlog.events.control import ControlExecuted
from eventlog.events.dispatch import DispatchDone
from eventlog.events.session import SessionPermission, SessionResumed, SessionStarted, SessionTrouble
from eventlog.events.turn import TurnCancelled, TurnEnded, TurnTaken
from replies.record import CARRIED_OUT, Recorder, Target, recorded_line, target_of
from sessions.host.records import (
    Ended,
    Handed,
    PermissionAnswered,
    Receipt,
    Recorded,
    Started,
    StopReason,
    Taken,
    Trouble,
    TroubleKind,
)
from statedb import codec, session_rows, turn_rows, work
from statedb.database import Connection
from statedb.reading import item_by_id, label_of
from statedb.rows import FateRow, ReplyRow
from statedb.session_rows import SessionRow
from statedb.turn_rows import TurnRow
from statedb.work import WaitingRow
from statedb.writing import write_reply
from webhook.aftermath import Aftermath
from webhook.giving_up import Written, settle_stopped


@dataclass(slots=True)
class Applied:
    """What was learned of a stretch of the journal."""

    written: Written
    moves: bool = False
    """A worker has something to do now."""
    taken: bool = False


class JournalRows:
    """Applies records of one session inside the committer's transaction. Applying a record again changes nothing."""

    def __init__(self, recorder: Recorder, aftermath: Aftermath) -> None:
        self._recorder = recorder
        self._aftermath = aftermath

    def apply(self, connection: Connection, session: SessionRow, records: Sequence[Recorded], now_ms: int) -> Applied:
        """Write what these records say, and how far the journal has been read."""
        applied = Applied(Written())
        for recorded in records:
            self._one(connection, session, recorded, applied, now_ms)
        if records:
            session_rows.note_offset(connection, session.session_id, records[-1].end_offset)
        return applied

    def _one(
        self, connection: Connection, session: SessionRow, recorded: Recorded, applied: Applied, now_ms: int
    ) -> None:
        match recorded.record:
            case Started() as started:
                self._started(connection, session, started, applied)
            case Handed(turn_id=turn_id):
                turn_rows.note_written(connection, TurnId(turn_id))
            case Taken(turn_id=turn_id, receipt=receipt):
                self._taken(connection, TurnId(turn_id), receipt, applied, now_ms)
            case Ended() as ended:
                self._ended(connection, ended, applied, now_ms)
            case Trouble() as trouble:
                applied.written.log.append(
                    SessionTrouble(
                        session_id=session.session_id, turn_id=trouble.turn_id, kind=trouble.kind, error=trouble.text
                    )
                )
                if trouble.kind is TroubleKind.CONVERSATION_GONE:
                    session_rows.forget_conversation(connection, session.session_id)
                if trouble.kind is TroubleKind.PROVIDER and trouble.turn_id is not None:
                    turn_rows.put_off(connection, TurnId(trouble.turn_id), now_ms + round(PROVIDER_PAUSE_S * 1000))
            case PermissionAnswered() as answered:
                applied.written.log.append(
                    SessionPermission(
                        session_id=session.session_id,
                        turn_id=answered.turn_id,
                        tool_kind=answered.kind,
                        allowed=answered.allowed,
                        setting=answered.reason,
                    )
                )

    def _started(self, connection: Connection, session: SessionRow, started: Started, applied: Applied) -> None:
        session_rows.note_conversation(connection, session.session_id, started.conversation_id)
        told = SessionResumed if started.loaded else SessionStarted
        about = label_of(connection, session.item_id)
        applied.written.log.append(told(session_id=session.session_id, work_item=about, harness=session.harness))
        applied.moves = True

    def _taken(self, connection: Connection, turn_id: TurnId, receipt: Receipt, applied: Applied, now_ms: int) -> None:
        """Done, for all its comments at once; the commands in it are executed with it."""
        turn = turn_rows.turn(connection, turn_id)
        if turn is None:
            return
        waiting = work.events_of_turn(connection, turn_id)
        rows = turn_rows.mark_taken(connection, turn_id, receipt, now_ms)
        keys = {row.event_key for row in rows}
        for carried in waiting:
            if carried.fate.event_key in keys:
                self._carried_out(connection, turn.item_id, carried, applied.written, now_ms)
        if rows or not waiting:
            work.told_refused(connection, turn.item_id, turn.tells_refused)
            about = label_of(connection, turn.item_id)
            applied.written.log.append(_turn_taken(turn, about, rows, receipt))
        if receipt is Receipt.REPLAYED:
            turn_rows.mark_ended(connection, turn_id, TurnState.ENDED, "interrupted", "", "", "{}", now_ms)
            turn_rows.owe_resumption(connection, turn_id)
        applied.taken = applied.moves = True

    def _carried_out(
        self, connection: Connection, item_id: ItemId, row: WaitingRow, written: Written, now_ms: int
    ) -> None:
        key, about = row.fate.event_key, str(row.event.label)
        if row.fate.verb is not None:
            work.set_fates(connection, item_id, [key], Fate.SETTLED, now_ms, outcome=Outcome.CONTROL_EXECUTED)
            written.marks.append((key, Outcome.CONTROL_EXECUTED))
            written.log.append(
                ControlExecuted(event_key=key, work_item=about, verb=row.fate.verb, effect=row.fate.effect)
            )
        else:
            work.set_fates(connection, item_id, [key], Fate.DONE, now_ms)
            written.marks.append((key, ""))
            waited_ms = now_ms - row.accepted_at_ms
            written.log.append(DispatchDone(event_key=key, work_item=about, waited_ms=waited_ms))
        for reply in acknowledgement(self._recorder, row, item_id, now_ms):
            write_reply(connection, reply)

    def _ended(self, connection: Connection, ended: Ended, applied: Applied, now_ms: int) -> None:
        turn = turn_rows.turn(connection, TurnId(ended.turn_id))
        applied.moves = True
        if turn is None or turn.state in (TurnState.ENDED, TurnState.CANCELLED):
            return
        if ended.stop_reason is StopReason.TROUBLE:
            self._troubled(connection, turn)
            return
        if ended.stop_reason is StopReason.CANCELLED and turn.is_overdue:
            self._no_sign(connection, turn, applied.written, now_ms)
            return
        cancelled = ended.stop_reason is StopReason.CANCELLED
        state = TurnState.CANCELLED if cancelled else TurnState.ENDED
        never_taken = [] if turn.taken_at_ms else work.events_of_turn(connection, turn.turn_id)
        used = codec.dump({k: v for k, v in _usage(ended).items() if v is not None})
        turn_rows.mark_ended(
            connection,
            turn.turn_id,
            state,
            ended.stop_reason,
            ended.text_after_tools,
            ended.text_before_tools,
            used,
            now_ms,
        )
        if cancelled:
            merge(applied.written, settle_stopped(connection, turn.item_id, never_taken, now_ms))
            applied.written.log.append(
                TurnCancelled(turn_id=turn.turn_id, work_item=label_of(connection, turn.item_id), cause="asked for")
            )
            return
        about = label_of(connection, turn.item_id)
        applied.written.log.append(_turn_ended(turn, about, ended, now_ms))
        reply = self._answer(connection, turn, ended, now_ms)
        if reply is not None and write_reply(connection, reply):
            applied.written.log.append(recorded_line(reply))

    def _troubled(self, connection: Connection, turn: TurnRow) -> None:
        """The agent could not work on the turn: what the provider's trouble has not put off is an interruption."""
        if turn.state is not TurnState.INTERRUPTED:
            turn_rows.mark_interrupted(connection, turn.item_id)

    def _no_sign(self, connection: Connection, turn: TurnRow, written: Written, now_ms: int) -> None:
        """Ended by us for want of a sign; where one came at the last moment, the agent was interrupted."""
        if turn.taken_at_ms is None:
            merge(written, self._aftermath.no_sign(connection, turn, now_ms))
        else:
            turn_rows.mark_interrupted(connection, turn.item_id)

    def _answer(self, connection: Connection, turn: TurnRow, ended: Ended, now_ms: int) -> ReplyRow | None:
        said = turn_rows.said_in_turn(connection, turn.turn_id)
        text = answer_of(ended.text_after_tools, ended.text_before_tools, said, used_seat=bool(said))
        item = item_by_id(connection, turn.item_id)
        if text is None or item is None:
            return None
        return self._recorder.comment(
            turn.turn_id,
            "answer",
            0,
            item_id=turn.item_id,
            target=Target(thread=turn.thread, repository=item.repository),
            text=text,
            now_ms=now_ms,
            turn_id=turn.turn_id,
        )


def acknowledgement(recorder: Recorder, row: WaitingRow, item_id: ItemId, now_ms: int) -> list[ReplyRow]:
    """The sign that something was carried out; a command in a review gets words, for reviews take no reactions."""
    if row.event.fact is Fact.REVIEW and row.fate.verb is not None:
        text = f"`the-loop {row.fate.verb}`: done."
        return [
            recorder.comment(
                row.fate.event_key,
                "acknowledgement",
                0,
                item_id=item_id,
                target=target_of(row.event),
                text=text,
                now_ms=now_ms,
            )
        ]
    reaction = recorder.reaction(row.event, CARRIED_OUT, item_id=item_id, now_ms=now_ms)
    return [reaction] if reaction is not None else []


def merge(into: Written, other: Written) -> None:
    """Tell the one with the other."""
    into.log += other.log
    into.marks += other.marks


def _turn_taken(turn: TurnRow, about: str, rows: Sequence[FateRow], receipt: Receipt) -> LogEvent:
    keys: tuple[EventKey, ...] = tuple(row.event_key for row in rows)
    return TurnTaken(
        turn_id=turn.turn_id, session_id=turn.session_id, work_item=about, event_keys=keys, receipt=receipt
    )


def _turn_ended(turn: TurnRow, about: str, ended: Ended, now_ms: int) -> LogEvent:
    return TurnEnded(
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        work_item=about,
        stop_reason=ended.stop_reason,
        answer_bytes=len(ended.text_after_tools.encode()),
        took_ms=now_ms - turn.taken_at_ms if turn.taken_at_ms else None,
        input_tokens=ended.usage.input_tokens,
        output_tokens=ended.usage.output_tokens,
    )


def _usage(ended: Ended) -> dict[str, object]:
    usage = ended.usage
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "cost_amount": usage.cost_amount,
        "cost_currency": usage.cost_currency,
        "tool_calls": ended.tool_calls,
    }
