"""The sessions that this process holds a link to, and the threads that read what their hosts write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.model import ItemId, SessionId
from domain.turns import SessionState
from eventlog.events.session import SessionIdleEnded
from sessions.host.records import Recorded
from sessions.port import HarnessFailed, Live, Records
from statedb import session_rows
from statedb.database import Connection, StoreUnavailable
from statedb.reading import label_of
from statedb.session_rows import SessionRow
from webhook.aftermath import Aftermath, Life
from webhook.giving_up import Written
from webhook.journal_rows import Applied, JournalRows, merge
from webhook.means import Means

READ_S = 1.0
"""How long one wait for a record lasts, so that a reader notices that it shall end."""
TOGETHER_MAX = 64
"""How many records are written in one transaction at most."""
STORE_PAUSE_S = 1.0
"""Before a store or a host that gave no answer is asked again."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Followed:
    """A session with its link and its reader."""

    session: SessionRow
    live: Live
    records: Records
    gone: threading.Event = field(default_factory=threading.Event)
    """The host has ended, and all that it wrote is on disk."""
    left: threading.Event = field(default_factory=threading.Event)
    """We let go of it; it goes on."""
    life: Life = field(default_factory=Life)
    ending: bool = False
    """The host is gone, and its end is being put down."""


class LiveSessions:
    """Links by session. Safe to use from any thread."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._aftermath = Aftermath(means.recorder, means.limits.retries_max)
        self._rows = JournalRows(means.recorder, self._aftermath)
        self._lock = threading.Lock()
        self._followed: dict[SessionId, Followed] = {}
        self._let_go = False

    def get(self, session_id: SessionId) -> Live | None:
        """The link to a session, if this process holds one."""
        with self._lock:
            followed = self._followed.get(session_id)
        return followed.live if followed and not followed.ending else None

    def is_ending(self, session_id: SessionId) -> bool:
        """Whether the session's host is gone and its end is being put down: its item is woken when that is done."""
        with self._lock:
            followed = self._followed.get(session_id)
        return followed is not None and followed.ending

    def is_lost(self, session_id: SessionId) -> bool:
        """Whether the store takes the session for a living one although nobody here follows it."""
        with self._lock:
            if session_id in self._followed:
                return False
        row = session_rows.session_by_id(self._means.database.reader(), session_id)
        return row is not None and row.state is SessionState.LIVE

    def follow(self, session: SessionRow, live: Live) -> None:
        """Hold the link, and read on from where the journal was read. Raises HarnessFailed."""
        row = session_rows.session_by_id(self._means.database.reader(), session.session_id) or session
        followed = Followed(row, live, live.records(row.journal_offset))
        with self._lock:
            self._followed[session.session_id] = followed
            let_go = self._let_go
        if let_go:
            self.drop(session.session_id)
            return
        self._means.spawn(f"session-{session.session_id[:8]}", lambda: self._read(followed))

    def wait_gone(self, session_id: SessionId, timeout_s: float) -> bool:
        """Wait for a session's host to end; True where none is followed."""
        with self._lock:
            followed = self._followed.get(session_id)
        return followed is None or followed.gone.wait(timeout_s)

    def drop(self, session_id: SessionId) -> None:
        """Let go of a link without waiting for its host."""
        with self._lock:
            followed = self._followed.pop(session_id, None)
        if followed is not None:
            followed.left.set()
            followed.records.close()
            followed.live.close()

    def drop_all(self) -> None:
        """Let go of every session, and follow no other: they go on without us."""
        with self._lock:
            self._let_go = True
            session_ids = list(self._followed)
        for session_id in session_ids:
            self.drop(session_id)

    def take_over(self, session: SessionRow) -> None:
        """Read what the dead host of an earlier run left, and put down that it is gone. Its processes are ended first."""
        self._read_left_behind(session, Life(opened=session.journal_offset > 0))

    def give_up_opening(self, session: SessionRow) -> None:
        """Put down that a host which was just started could not be reached: what it wrote says why."""
        self._read_left_behind(session, Life())

    def end_from_outside(self, session: SessionRow) -> None:
        """End what is left of a session that shall end: what its host wrote is kept, and nobody pays for its end."""
        folder = self._means.sessions_folder / session.session_id
        records = self._means.harness.left_behind(session.session_id, folder, session.journal_offset)
        now_ms = self._means.clock()
        applied = self._means.committer.write(lambda c: self._rows.apply(c, session, records, now_ms))
        self.tell(session.item_id, applied)

    def _read_left_behind(self, session: SessionRow, life: Life) -> None:
        folder = self._means.sessions_folder / session.session_id
        records = self._means.harness.left_behind(session.session_id, folder, session.journal_offset)
        self._write_end(session, records, life)

    def _read(self, followed: Followed) -> None:
        """The body of a reader's thread: until the host has ended or the link is dropped."""
        while not followed.left.is_set():
            try:
                records = self._next(followed)
            except HarnessFailed:
                if not followed.left.is_set() and self._host_is_gone(followed):
                    followed.ending = True
                    self._finish(followed)
                    return
                continue
            if records:
                self._write(followed, records)

    def _next(self, followed: Followed) -> list[Recorded]:
        """What is there, at most a transaction's worth."""
        first = followed.records.next(READ_S)
        records = [first] if first else []
        while first and len(records) < TOGETHER_MAX:
            try:
                following = followed.records.next(0.0)
            except HarnessFailed:
                break
            if following is None:
                break
            records.append(following)
        return records

    def _write(self, followed: Followed, records: Sequence[Recorded]) -> None:
        """Put records down; where the store does not take them, again and again: they stand in the host's journal."""
        session = followed.session
        while not followed.left.is_set():
            try:
                applied = self._means.committer.write(
                    lambda c: self._rows.apply(c, session, records, self._means.clock())
                )
            except StoreUnavailable as error:
                log.warning("the store did not take records of session %s: %s", session.session_id, error)
                followed.left.wait(STORE_PAUSE_S)
                continue
            followed.life.hear(records)
            self.tell(session.item_id, applied)
            return

    def _host_is_gone(self, followed: Followed) -> bool:
        """Whether the broken link means the host's end; where it lives, it is read on over a new link."""
        session = followed.session
        try:
            live = self._means.harness.attach(session.session_id, self._means.sessions_folder / session.session_id)
        except HarnessFailed:
            followed.left.wait(STORE_PAUSE_S)
            return False
        if live is None:
            return True
        row = session_rows.session_by_id(self._means.database.reader(), session.session_id) or session
        try:
            followed.records = live.records(row.journal_offset)
        except HarnessFailed:
            live.close()
            return False
        followed.live.close()
        followed.live = live
        return False

    def _finish(self, followed: Followed) -> None:
        session = (
            session_rows.session_by_id(self._means.database.reader(), followed.session.session_id) or followed.session
        )
        folder = self._means.sessions_folder / session.session_id
        rest = self._means.harness.left_behind(session.session_id, folder, session.journal_offset)
        while not followed.left.is_set():
            try:
                self._write_end(session, rest, followed.life)
                break
            except StoreUnavailable as error:
                log.warning("the store did not take the end of session %s: %s", session.session_id, error)
                followed.left.wait(STORE_PAUSE_S)
        # Only now: before, a worker would take the session for one that an earlier run left, and count its end twice.
        with self._lock:
            self._followed.pop(session.session_id, None)
        followed.live.close()
        followed.gone.set()
        self._means.lanes.wake(session.item_id)

    def _write_end(self, session: SessionRow, rest: Sequence[Recorded], life: Life) -> None:
        life.hear(rest)

        def write(connection: Connection) -> Applied:
            now_ms = self._means.clock()
            applied = self._rows.apply(connection, session, rest, now_ms)
            merge(applied.written, self._aftermath.host_ended(connection, session, life, now_ms))
            return applied

        applied = self._means.committer.write(write)
        if life.idle:
            about = label_of(self._means.database.reader(), session.item_id)
            applied.written.log.append(SessionIdleEnded(session_id=session.session_id, work_item=about))
        applied.taken = applied.moves = True
        self.tell(session.item_id, applied)
        self._means.places.give_back(session.item_id)

    def tell(self, item_id: ItemId, applied: Applied) -> None:
        """It is on disk: the Deduper, the log, the slots and the item's lane may know."""
        self.tell_written(applied.written)
        if applied.taken:
            self._means.starts.give_back(item_id)
            self._means.hand_overs.give_back(item_id)
        if applied.moves:
            self._means.lanes.wake(item_id)

    def tell_written(self, written: Written) -> None:
        """It is on disk: the Deduper and the log may know."""
        for key, outcome in written.marks:
            if outcome is None:
                self._means.dispatcher.deduper.discard(key)
            else:
                self._means.dispatcher.deduper.add(key, outcome)
        for line in written.log:
            self._means.emit(line)
        self._means.publish()
