"""The acts of a worker, one function each: what `domain.turns.next_act` chose, carried out and written down.

Each returns whether the item is to be looked at again at once; False where it waits for something to happen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from domain import texts
from domain.model import Event, EventKey, Fate, ItemId, ItemKind, Outcome, SessionId, Thread, TurnId, UnhandledReason
from domain.policy import ItemView
from domain.ports import ItemFacts, Missing, NoAnswer
from domain.retry import NETWORK_PAUSE_S, after_no_answer
from domain.turns import SessionState, TurnState
from eventlog.event import LogEvent
from eventlog.events.cleanup import CleanupDone, CleanupRefused
from eventlog.events.dispatch import DispatchGaveUp
from eventlog.events.session import SessionEnded, SessionQueuedForPlace
from eventlog.events.turn import TurnFrozen, TurnHanded, TurnInterrupted
from replies.record import target_of
from sessions.excerpt import PromptItem
from sessions.git_faults import GitFailed
from sessions.host.protocol import HandState
from sessions.port import HarnessFailed, Live
from sessions.prompts import Refused
from statedb import session_rows, turn_rows, work
from statedb.database import Connection
from statedb.reading import item_by_id
from statedb.rows import ItemRow, Removal
from statedb.session_rows import SessionRow
from statedb.turn_rows import TurnRow
from statedb.work import WaitingRow
from statedb.writing import write_reply
from webhook.giving_up import Failure, Written, fail_phase, note_failure, settle_stopped, settled_line
from webhook.handled import Handled
from webhook.journal_rows import acknowledgement
from webhook.live import LiveSessions
from webhook.means import Means, prompt_event, prompt_item
from webhook.opening import Opening, OpeningFailed, attach, open_session

T = TypeVar("T")

BUSY_MS = 5_000
"""Before a turn is handed over again to a host that has another one running."""


@dataclass(slots=True)
class _Parked:
    """Since when an item waits for a place, and whether its thread was told."""

    since_ms: int
    told: bool = False


class Deeds:
    """Carries acts out. The caller holds the item's lane, so that one thread at a time is at an item."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._sessions = LiveSessions(means)
        self._openings: dict[ItemId, Opening] = {}
        self._handing: dict[ItemId, Live] = {}
        self._parked: dict[ItemId, _Parked] = {}

    def live(self, session_id: SessionId) -> Live | None:
        """The link to a session, if this process holds one."""
        return self._sessions.get(session_id)

    def yields(self, item_id: ItemId) -> bool:
        """Whether another item waits for this one's place."""
        return self._means.places.is_wanted and item_id in self._means.places.holders

    def detach_all(self) -> None:
        """Let go of all sessions; they go on without us."""
        self._sessions.drop_all()

    def interrupt(self, item_id: ItemId) -> None:
        """End whatever a start under way waits for: its clone, its host, or an agent that is still starting."""
        opening = self._openings.get(item_id)
        if opening is not None:
            opening.cancelled.set()
        live = self._handing.get(item_id)
        if live is not None:
            self._ask_to_end(live, "stopped")

    def interrupt_overdue(self) -> None:
        """End starts that take longer than a start may."""
        latest_ms = self._means.clock() - self._means.limits.start_ms
        for opening in list(self._openings.values()):
            if opening.began_ms < latest_ms:
                opening.cancelled.set()

    # Deciding

    def ask(self, item: ItemRow, row: WaitingRow) -> bool:
        """Ask GitHub for the item, then decide again. No answer is never a no."""
        found = self._means.items.item(row.event.thread, item.repository)
        match found:
            case NoAnswer(retry_after_s=retry_after_s):
                asked, now_ms = row.fate.attempts + 1, self._means.clock()
                at_ms = after_no_answer(asked, now_ms, retry_after_s)
                keys = [row.fate.event_key]
                self._write(lambda c: work.set_attempts(c, item.item_id, keys, asked, at_ms, now_ms))
                return True
            case Missing():
                return self.decide_again([row], ItemView(is_gone=True))
            case ItemFacts(snapshot=snapshot):
                return self.decide_again([row], ItemView(snapshot=snapshot))

    def decide_again(self, rows: Sequence[WaitingRow], facts: ItemView) -> bool:
        """Decide what lacked a fact, or waited behind what did."""

        def write(connection: Connection) -> list[Handled]:
            dispatcher = self._means.dispatcher
            return [
                dispatcher.decide_again(connection, _with_facts(row, facts), replace(row.fate, attempts=0), facts)
                for row in rows
            ]

        self._means.dispatcher.committed(self._write(write))
        return True

    def take_back(self, turn_id: TurnId) -> bool:
        """Cancel a frozen turn; its events wait again."""
        self._write(lambda c: turn_rows.take_back(c, turn_id, self._means.clock()))
        return True

    def refuse(self, item: ItemRow, refused: Sequence[tuple[WaitingRow, Outcome]]) -> bool:
        """Settle what was judged again and may not be handed over; refused comments are counted, to be told."""

        def write(connection: Connection) -> None:
            now_ms = self._means.clock()
            for row, outcome in refused:
                work.set_fates(connection, item.item_id, [row.fate.event_key], Fate.SETTLED, now_ms, outcome=outcome)
            comments = [row for row, outcome in refused if outcome is not Outcome.CONTROL_EXECUTED]
            if comments:
                since_ms = min(row.event.place.at_ms for row in comments)
                work.count_refused(connection, item.item_id, len(comments), since_ms)

        self._write(write)
        log = [settled_line(row, outcome) for row, outcome in refused]
        self._tell(Written(log=log, marks=[(row.fate.event_key, outcome) for row, outcome in refused]))
        return True

    # The session

    def open(self, item: ItemRow, rows: Sequence[WaitingRow]) -> bool:
        """Open the item's session, if there is a place and a slot for it."""
        item_id = item.item_id
        if not self._means.places.take(item_id):
            self._wait_for_place(item, rows)
            return False
        self._parked.pop(item_id, None)
        if not self._means.starts.take(item_id):
            return False
        opening = Opening(threading.Event(), self._means.clock())
        self._openings[item_id] = opening
        try:
            session, live = open_session(self._means, item, opening)
            self._sessions.follow(session, live)
        except (OpeningFailed, HarnessFailed) as failed:
            self._give_back(item_id)
            if not self._is_over(item_id, opening):
                is_free = isinstance(failed, OpeningFailed) and failed.costs_nothing
                self._failed(
                    item_id, rows, Failure(cause=str(failed), free_pause_s=NETWORK_PAUSE_S if is_free else None)
                )
        finally:
            self._openings.pop(item_id, None)
        return True

    def recover(self, session: SessionRow) -> bool:
        """Reach a session that an earlier run left, or read what its dead host wrote."""
        self._means.places.take(session.item_id)
        live = attach(self._means, session)
        if live is None:
            self._sessions.take_over(session)
            return True
        try:
            self._sessions.follow(session, live)
        except HarnessFailed:
            self._sessions.take_over(session)
        return True

    def end(self, session: SessionRow) -> bool:
        """End the session with its whole process tree, and with it the turn that runs."""
        live = self._sessions.get(session.session_id)
        if live is not None:
            self._ask_to_end(live, "stopped")
            if not self._sessions.wait_gone(session.session_id, self._means.limits.end_s):
                self._sessions.drop(session.session_id)
        left = session_rows.session_by_id(self._means.database.reader(), session.session_id) or session
        if left.state in (SessionState.LIVE, SessionState.OPENING):
            self._sessions.take_over(left)
        written = self._write(lambda c: self._put_down_end(c, session))
        written.log.append(SessionEnded(session_id=session.session_id, cause="stopped"))
        self._tell(written)
        self._give_back(session.item_id)
        return True

    def let_idle(self, session: SessionRow) -> bool:
        """End an idle session for another item's sake; its conversation is kept."""
        live = self._sessions.get(session.session_id)
        if live is not None:
            self._ask_to_end(live, "idle")
        return False

    def cancel(self, item_id: ItemId, turn_id: TurnId) -> bool:
        """Interrupt the running turn; its end is written down by the host."""
        session = session_rows.session_of(self._means.database.reader(), item_id)
        live = self._sessions.get(session.session_id) if session else None
        self._write(lambda c: turn_rows.mark_cancelling(c, turn_id, self._means.clock()))
        if live is not None:
            try:
                live.cancel(turn_id)
            except HarnessFailed:
                return True
        return True

    def remove_clone(self, item: ItemRow, ending: Sequence[WaitingRow]) -> bool:
        """Remove the clone; where work would be lost and nobody forced it, it stays, and the thread is told."""
        clones, label = self._means.clones, f"github:{item.repository}#{item.home.number}"
        lost: tuple[str, ...] = ()
        changed = unpushed = 0
        try:
            if item.removal is Removal.FORCED:
                clones.discard(item.item_id)
            else:
                clone = clones.find(item.item_id, item.home)
                unsaved = clones.remove(clone) if clone is not None else None
                if unsaved:
                    changed, unpushed = unsaved.changed, unsaved.unpushed
                    lost = _lost(changed, unpushed)
        except GitFailed as failed:
            lost = (f"it could not be looked at ({failed.fault})",)
        self._write(lambda c: self._put_down_removal(c, item, ending, lost))
        if lost:
            self._means.emit(CleanupRefused(work_item=label, unsaved_files=changed, unpushed_commits=unpushed))
        else:
            self._means.emit(CleanupDone(work_item=label, forced=item.removal is Removal.FORCED))
        return True

    def confirm(self, rows: Sequence[WaitingRow]) -> bool:
        """Nothing is left to end: the stop, cleanup or closing is executed."""

        def write(connection: Connection) -> None:
            now_ms = self._means.clock()
            for row in rows:
                keys = [row.fate.event_key]
                work.set_fates(
                    connection, row.fate.item_id, keys, Fate.SETTLED, now_ms, outcome=Outcome.CONTROL_EXECUTED
                )
                for reply in acknowledgement(self._means.recorder, row, row.fate.item_id, now_ms):
                    write_reply(connection, reply)

        self._write(write)
        outcome = Outcome.CONTROL_EXECUTED
        self._tell(
            Written(
                log=[settled_line(row, outcome) for row in rows], marks=[(row.fate.event_key, outcome) for row in rows]
            )
        )
        return True

    # Turns

    def freeze(self, item: ItemRow, session: SessionRow, rows: Sequence[WaitingRow], thread: Thread) -> bool:
        """Write down a turn of these events, with its exact text, before anybody is told."""
        turn_id = TurnId(self._means.new_id())
        reader = self._means.database.reader()
        about = _prompt_item(item, session, rows[0].event.url)
        events = [
            prompt_event(row.event, is_edit=row.fate.effect == "edit", is_command=row.fate.verb is not None)
            for row in rows
        ]
        refused = Refused(count=item.refused, since_ms=item.refused_since_ms or 0) if item.refused else None
        write_prompt = self._means.prompts.following
        if not session_rows.has_heard(reader, session.session_id):
            write_prompt = self._means.prompts.first
        prompt = write_prompt(about, events, refused, turn_id)
        turn = self._turn(item, session, turn_id, "events", prompt, thread, tells_refused=item.refused)
        keys = [row.fate.event_key for row in rows]
        self._write(lambda c: turn_rows.freeze(c, turn, keys))
        self._frozen(turn, keys)
        return True

    def freeze_resumption(self, item: ItemRow, session: SessionRow) -> bool:
        """Write down a turn that tells the agent to go on where its host died."""
        owed = turn_rows.owed_resumption(self._means.database.reader(), item.item_id)
        if owed is None:
            return True
        turn_id = TurnId(self._means.new_id())
        prompt = self._means.prompts.after_interruption(_prompt_item(item, session, ""), turn_id)
        turn = replace(
            self._turn(item, session, turn_id, "resumption", prompt, owed.thread, tells_refused=0),
            follows=owed.turn_id, interruptions=owed.interruptions,
        )  # fmt: skip

        def write(connection: Connection) -> None:
            turn_rows.pay_resumption(connection, item.item_id)
            turn_rows.freeze(connection, turn, ())

        self._write(write)
        self._frozen(turn, ())
        return True

    def hand(self, item: ItemRow, session: SessionRow, turn_id: TurnId, rows: Sequence[WaitingRow]) -> bool:
        """Hand a turn over by its id; repeating it is harmless. What comes of it is written down by the host."""
        live = self._sessions.get(session.session_id)
        turn = turn_rows.turn(self._means.database.reader(), turn_id)
        if live is None or turn is None:
            return True
        holds_start = item.item_id in self._means.starts.holders
        if not holds_start and not self._means.hand_overs.take(item.item_id):
            return False
        if not self._write(lambda c: turn_rows.mark_handed(c, turn_id, self._means.clock())):
            return True
        self._handing[item.item_id] = live
        try:
            state = live.hand(turn_id, turn.prompt, self._means.limits.hand_s)
        except HarnessFailed:
            # The host's journal tells whether it has the turn; its reader brings the news, or the turn is overdue.
            return False
        finally:
            del self._handing[item.item_id]
        self._means.emit(TurnHanded(turn_id=turn_id, session_id=session.session_id))
        if state is HandState.BUSY:
            self._means.lanes.wake_at(item.item_id, self._means.clock() + BUSY_MS)
        return False

    def repeat(self, turn_id: TurnId) -> bool:
        """Write a turn anew for a conversation that never heard of it."""
        reader = self._means.database.reader()
        old = turn_rows.turn(reader, turn_id)
        if old is None:
            return True
        keys = [row.fate.event_key for row in work.events_of_turn(reader, turn_id)]
        new_id = TurnId(self._means.new_id())
        prompt = self._means.prompts.repeated(old.prompt, new_id)
        new = replace(
            old, turn_id=new_id, state=TurnState.FROZEN, prompt=prompt, kind="repeat", follows=turn_id,
            frozen_at_ms=self._means.clock(),
        )  # fmt: skip
        self._write(lambda c: turn_rows.repeat(c, old, new, keys))
        self._frozen(new, keys)
        return True

    def overdue(self, session: SessionRow, turn_id: TurnId) -> bool:
        """No sign of the turn for too long: the session is ended, and the attempt has failed."""
        live = self._sessions.get(session.session_id)
        if live is not None:
            self._ask_to_end(live, "no receipt")
            if not self._sessions.wait_gone(session.session_id, self._means.limits.end_s):
                self._sessions.drop(session.session_id)
                self._sessions.take_over(session)
        turn = turn_rows.turn(self._means.database.reader(), turn_id)
        if turn is not None and turn.taken_at_ms is None:
            rows = work.events_of_turn(self._means.database.reader(), turn_id)
            self._write(lambda c: turn_rows.let_go(c, turn_id, self._means.clock()))
            self._failed(session.item_id, rows, Failure(cause="the agent showed no sign of it"))
        self._give_back(session.item_id)
        return True

    def fail_interrupted(self, item: ItemRow, turn_id: TurnId) -> bool:
        """The agent died twice at the same turn: what it had keeps its fate, the phase fails, one notice says so."""
        turn = turn_rows.turn(self._means.database.reader(), turn_id)
        rows = work.events_of_turn(self._means.database.reader(), turn_id)
        never_had = [] if turn is None or turn.taken_at_ms else rows

        def write(connection: Connection) -> None:
            now_ms = self._means.clock()
            turn_rows.mark_ended(connection, turn_id, TurnState.ENDED, "interrupted", "", "", "{}", now_ms)
            keys = [row.fate.event_key for row in never_had]
            work.set_fates(connection, item.item_id, keys, Fate.UNHANDLED, now_ms, reason=UnhandledReason.GIVEN_UP)
            fail_phase(connection, item.item_id)
            if rows:
                notice = self._means.recorder.comment(
                    turn_id, "notice", 0, item_id=item.item_id, target=target_of(rows[0].event),
                    text=texts.interrupted_twice(), now_ms=now_ms,
                )  # fmt: skip
                write_reply(connection, notice)

        self._write(write)
        log: list[LogEvent] = [TurnInterrupted(turn_id=turn_id, cause="given up", interruptions=2)]
        log += [
            DispatchGaveUp(event_key=row.fate.event_key, attempts=2, error="interrupted twice") for row in never_had
        ]
        self._tell(Written(log=log, marks=[(row.fate.event_key, "") for row in never_had]))
        self._give_back(item.item_id)
        return True

    # Helpers

    def _wait_for_place(self, item: ItemRow, rows: Sequence[WaitingRow]) -> None:
        """All places are taken: the session idle longest is asked for its own; the thread is told if it lasts."""
        now_ms, item_id = self._means.clock(), item.item_id
        parked = self._parked.setdefault(item_id, _Parked(now_ms))
        for other in session_rows.idle_longest(self._means.database.reader())[:1]:
            self._means.lanes.wake(other)
        told_at_ms = parked.since_ms + self._means.limits.place_notice_ms
        if now_ms < told_at_ms:
            self._means.lanes.wake_at(item_id, told_at_ms)
        elif not parked.told and rows:
            parked.told = True
            ahead = self._means.places.ahead_of(item_id)
            notice = self._means.recorder.comment(
                rows[0].fate.event_key, "waits-for-place", 0, item_id=item_id, target=target_of(rows[0].event),
                text=texts.waits_for_place(ahead), now_ms=now_ms,
            )  # fmt: skip
            self._write(lambda c: write_reply(c, notice))
            self._means.emit(SessionQueuedForPlace(work_item=str(rows[0].event.label), ahead=ahead))

    def _put_down_end(self, connection: Connection, session: SessionRow) -> Written:
        now_ms = self._means.clock()
        turn = turn_rows.open_turn(connection, session.item_id)
        written = Written()
        if turn is not None:
            row = turn_rows.turn(connection, turn.turn_id)
            had = row is not None and row.taken_at_ms is not None
            never_had = [] if had else work.events_of_turn(connection, turn.turn_id)
            turn_rows.mark_ended(connection, turn.turn_id, TurnState.CANCELLED, "stopped", "", "", "{}", now_ms)
            written = settle_stopped(connection, session.item_id, never_had, now_ms)
        turn_rows.pay_resumption(connection, session.item_id)
        session_rows.set_session_state(connection, session.session_id, SessionState.ENDED, now_ms, "stopped")
        return written

    def _put_down_removal(
        self, connection: Connection, item: ItemRow, ending: Sequence[WaitingRow], lost: tuple[str, ...]
    ) -> None:
        work.set_removal(connection, item.item_id, Removal.KEEP)
        if lost and ending:
            last = ending[-1]
            refusal = self._means.recorder.comment(
                last.fate.event_key, "refusal", 0, item_id=item.item_id, target=target_of(last.event),
                text=texts.cleanup_refused(lost), now_ms=self._means.clock(),
            )  # fmt: skip
            write_reply(connection, refusal)

    def _failed(self, item_id: ItemId, rows: Sequence[WaitingRow], failure: Failure) -> None:
        """Spend an attempt; where nothing waits it was an interrupted turn's, which counts its own."""
        limits, recorder = self._means.limits, self._means.recorder

        def write(connection: Connection) -> Written:
            now_ms = self._means.clock()
            if not rows:
                turn_rows.mark_interrupted(connection, item_id)
            return note_failure(connection, item_id, rows, failure, limits.retries_max, recorder, now_ms)

        self._tell(self._write(write))

    def _is_over(self, item_id: ItemId, opening: Opening) -> bool:
        """Whether the start was interrupted because nobody wants it any more."""
        item = item_by_id(self._means.database.reader(), item_id)
        return opening.cancelled.is_set() and item is not None and item.folded.opening is None

    def _turn(
        self, item: ItemRow, session: SessionRow, turn_id: TurnId, kind: str, prompt: str, thread: Thread, *,
        tells_refused: int,
    ) -> TurnRow:  # fmt: skip
        return TurnRow(
            turn_id=turn_id, item_id=item.item_id, session_id=session.session_id, state=TurnState.FROZEN, kind=kind,
            prompt=prompt, thread=thread, tells_refused=tells_refused, follows=None, frozen_at_ms=self._means.clock(),
            taken_at_ms=None, interruptions=0,
        )  # fmt: skip

    def _frozen(self, turn: TurnRow, keys: Sequence[EventKey]) -> None:
        self._means.emit(
            TurnFrozen(
                turn_id=turn.turn_id, session_id=turn.session_id, event_keys=tuple(keys),
                prompt_bytes=len(turn.prompt.encode()),
            )
        )  # fmt: skip

    def _give_back(self, item_id: ItemId) -> None:
        self._means.starts.give_back(item_id)
        self._means.hand_overs.give_back(item_id)
        self._means.places.give_back(item_id)

    @staticmethod
    def _ask_to_end(live: Live, reason: str) -> None:
        try:
            live.end(reason)
        except HarnessFailed:
            return

    def _write(self, write: Callable[[Connection], T]) -> T:
        written = self._means.committer.write(write)
        self._means.publish()
        return written

    def _tell(self, written: Written) -> None:
        self._sessions.tell_written(written)


def _with_facts(row: WaitingRow, facts: ItemView) -> Event:
    """The event with the item's state as GitHub just told it."""
    return replace(row.event, snapshot=facts.snapshot) if facts.snapshot else row.event


def _lost(changed: int, unpushed: int) -> tuple[str, ...]:
    """What would be lost, in counts: names and subjects are the agent's words and stay off the thread."""
    lines = []
    if changed:
        lines.append(f"{changed} changed or new file(s) that are not committed")
    if unpushed:
        lines.append(f"{unpushed} commit(s) that are not pushed")
    return tuple(lines)


def _prompt_item(item: ItemRow, session: SessionRow, url: str) -> PromptItem:
    host = "" if item.home.host == "github.com" else f"{item.home.host}/"
    return prompt_item(
        f"github:{host}{item.repository}#{item.home.number}",
        url.split("#")[0],
        item.snapshot.title if item.snapshot else "",
        item.snapshot.kind if item.snapshot else ItemKind.ISSUE,
        session.branch,
    )
