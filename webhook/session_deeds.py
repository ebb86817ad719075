"""Deeds about sessions: opening, finding, ending, giving a place to another item, and removing the clone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from domain import texts
from domain.model import ItemId, UnhandledReason
from domain.retry import NETWORK_PAUSE_S
from domain.turns import SessionState, TurnState
from eventlog.events.cleanup import CleanupDone, CleanupRefused
from eventlog.events.session import SessionEnded, SessionFound, SessionQueuedForPlace
from replies.record import target_of
from sessions.git_faults import GitFailed
from sessions.port import HarnessFailed
from statedb import session_rows, turn_rows, work
from statedb.database import Connection
from statedb.reading import label_of
from statedb.rows import ItemRow, Removal
from statedb.session_rows import SessionRow
from statedb.work import WaitingRow
from statedb.writing import write_reply
from webhook.giving_up import Failure, Written, settle_stopped
from webhook.ground import Ground, ask_to_end
from webhook.opening import Opening, OpeningFailed, attach, open_session

NO_ANSWER_MS = 5_000
"""Before a host that lives and gives no answer is asked again."""


@dataclass(slots=True)
class _Parked:
    """Since when an item waits for a place, and whether its thread was told."""

    since_ms: int
    told: bool = False


class SessionDeeds:
    """What is done about sessions. The caller holds the item's lane, but for `interrupt` and `interrupt_overdue`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._openings: dict[ItemId, Opening] = {}
        self._parked: dict[ItemId, _Parked] = {}
        self._yielding: set[ItemId] = set()

    def yields(self, item_id: ItemId) -> bool:
        """Whether the item was chosen to give its place to another one that still waits."""
        places = self._ground.means.places
        return item_id in self._yielding and item_id in places.holders and bool(places.line)

    def interrupt(self, item_id: ItemId) -> None:
        """End whatever a start under way waits for: its clone, its host, or an agent that is still starting."""
        opening = self._openings.get(item_id)
        if opening is not None:
            opening.cancelled.set()
        live = self._ground.handing.get(item_id)
        if live is not None:
            ask_to_end(live, "stopped")

    def interrupt_overdue(self) -> None:
        """End starts that take longer than a start may."""
        latest_ms = self._ground.means.clock() - self._ground.means.limits.start_ms
        for opening in list(self._openings.values()):
            if opening.began_ms < latest_ms:
                opening.is_overdue = True
                opening.cancelled.set()

    def open(self, item: ItemRow, rows: Sequence[WaitingRow]) -> bool:
        """Open the item's session, if there is a place and a slot for it."""
        item_id = item.item_id
        if not self._ground.means.places.take(item_id):
            self._wait_for_place(item, rows)
            return False
        self._parked.pop(item_id, None)
        self._yielding.discard(item_id)
        if not self._ground.means.starts.take(item_id):
            return False
        opening = Opening(threading.Event(), self._ground.means.clock())
        self._openings[item_id] = opening
        try:
            if not self._ground.is_wanted(item_id):
                self._ground.give_back(item_id)
                return True
            session, live = open_session(self._ground.means, item, opening)
            self._ground.sessions.follow(session, live)
        except HarnessFailed:
            self._ground.sessions.give_up_opening(session)
        except OpeningFailed as failed:
            self._could_not_open(item_id, opening, failed)
        finally:
            self._openings.pop(item_id, None)
        return True

    def recover(self, session: SessionRow) -> bool:
        """Reach a session that an earlier run left, or read what its dead host wrote. No answer is no death: it is asked
        again, for a host that lives holds its clone and ends by itself at last."""
        means = self._ground.means
        if not self._ground.sessions.is_lost(session.session_id):
            return True
        means.places.take(session.item_id)
        try:
            live = attach(means, session)
            if live is not None:
                self._ground.write(lambda c: _ask_about_turn(c, session.item_id, means.clock()))
                self._ground.sessions.follow(session, live)
        except HarnessFailed:
            if self._ground.is_wanted(session.item_id):
                means.lanes.wake_at(session.item_id, means.clock() + NO_ANSWER_MS)
                return False
            live = None
        means.emit(
            SessionFound(
                session_id=session.session_id, work_item=self._label(session), state="lives" if live else "gone"
            )
        )
        if live is None:
            self._ground.sessions.take_over(session)
        return True

    def end(self, session: SessionRow) -> bool:
        """End the session with its whole process tree, and with it the turn that runs."""
        live = self._ground.sessions.get(session.session_id)
        if live is not None:
            ask_to_end(live, "stopped")
            if not self._ground.sessions.wait_gone(session.session_id, self._ground.means.limits.end_s):
                self._ground.sessions.drop(session.session_id)
        left = session_rows.session_by_id(self._ground.means.database.reader(), session.session_id) or session
        if left.state in (SessionState.LIVE, SessionState.OPENING):
            self._ground.sessions.end_from_outside(left)
        written = self._ground.write(lambda c: self._put_down_end(c, session))
        written.log.append(SessionEnded(session_id=session.session_id, work_item=self._label(session), cause="stopped"))
        self._ground.tell(written)
        self._ground.give_back(session.item_id)
        return True

    def let_idle(self, session: SessionRow) -> bool:
        """End an idle session for another item's sake; its conversation is kept."""
        live = self._ground.sessions.get(session.session_id)
        if live is not None:
            ask_to_end(live, "idle")
        return False

    def remove_clone(self, item: ItemRow, ending: Sequence[WaitingRow]) -> bool:
        """Remove the clone; where work would be lost and nobody forced it, it stays, and the thread is told."""
        clones, label = self._ground.means.clones, str(item.label)
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
        self._ground.write(lambda c: self._put_down_removal(c, item, ending, lost))
        if lost:
            self._ground.means.emit(CleanupRefused(work_item=label, unsaved_files=changed, unpushed_commits=unpushed))
        else:
            self._ground.means.emit(CleanupDone(work_item=label, forced=item.removal is Removal.FORCED))
        return True

    def _wait_for_place(self, item: ItemRow, rows: Sequence[WaitingRow]) -> None:
        """All places are taken: the session idle longest is asked for its own; the thread is told if it lasts."""
        now_ms, item_id = self._ground.means.clock(), item.item_id
        parked = self._parked.setdefault(item_id, _Parked(now_ms))
        self._choose_who_yields()
        told_at_ms = parked.since_ms + self._ground.means.limits.place_notice_ms
        if now_ms < told_at_ms:
            self._ground.means.lanes.wake_at(item_id, told_at_ms)
        elif not parked.told and rows:
            parked.told = True
            ahead = self._ground.means.places.ahead_of(item_id)
            notice = self._ground.means.recorder.comment(
                rows[0].fate.event_key, "waits-for-place", 0, item_id=item_id, target=target_of(rows[0].event),
                text=texts.waits_for_place(ahead), now_ms=now_ms,
            )  # fmt: skip
            self._ground.write(lambda c: write_reply(c, notice))
            self._ground.means.emit(SessionQueuedForPlace(work_item=str(rows[0].event.label), ahead=ahead))

    def _choose_who_yields(self) -> None:
        """As many sessions as items wait: those idle longest are asked for their places."""
        means = self._ground.means
        holders, line = means.places.holders, means.places.line
        self._yielding &= holders
        idle = [item_id for item_id in session_rows.idle_longest(means.database.reader()) if item_id in holders]
        wanted = max(0, len(line) - len(self._yielding))
        for item_id in [item_id for item_id in idle if item_id not in self._yielding][:wanted]:
            self._yielding.add(item_id)
            means.lanes.wake(item_id)

    def _put_down_end(self, connection: Connection, session: SessionRow) -> Written:
        now_ms = self._ground.means.clock()
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
            refusal = self._ground.means.recorder.comment(
                last.fate.event_key, "refusal", 0, item_id=item.item_id, target=target_of(last.event),
                text=texts.cleanup_refused(lost), now_ms=self._ground.means.clock(),
            )  # fmt: skip
            write_reply(connection, refusal)

    def _label(self, session: SessionRow) -> str:
        return label_of(self._ground.means.database.reader(), session.item_id)

    def _could_not_open(self, item_id: ItemId, opening: Opening, failed: OpeningFailed) -> None:
        self._ground.give_back(item_id)
        if opening.cancelled.is_set() and not opening.is_overdue:
            return
        if failed.session is not None:
            self._ground.sessions.give_up_opening(failed.session)
            return
        free_s = NETWORK_PAUSE_S if failed.costs_nothing else None
        reason = UnhandledReason.SESSION_OCCUPIED if failed.is_held else UnhandledReason.GIVEN_UP
        self._ground.failed(item_id, Failure(cause=str(failed), free_pause_s=free_s, reason=reason))


def _ask_about_turn(connection: Connection, item_id: ItemId, now_ms: int) -> None:
    """A turn that was being handed over when the service ended is handed over again: a host that has it says so."""
    turn = turn_rows.open_turn(connection, item_id)
    if turn is not None and turn.state is TurnState.HANDED:
        turn_rows.put_off(connection, turn.turn_id, now_ms)


def _lost(changed: int, unpushed: int) -> tuple[str, ...]:
    """What would be lost, in counts: names and subjects are the agent's words and stay off the thread."""
    lines = []
    if changed:
        lines.append(f"{changed} changed or new file(s) that are not committed")
    if unpushed:
        lines.append(f"{unpushed} commit(s) that are not pushed")
    return tuple(lines)
