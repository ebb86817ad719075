"""Deeds about turns: freezing, handing over, taking back, and what follows where an agent shows no sign or dies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from domain import texts
from domain.model import TEXT_FACTS, EventKey, Fate, ItemId, ItemKind, Outcome, Thread, TurnId, UnhandledReason
from domain.ports import Missing
from domain.turns import TurnState
from eventlog.event import LogEvent
from eventlog.events.dispatch import DispatchGaveUp, DispatchSettled
from eventlog.events.turn import TurnFrozen, TurnHanded, TurnInterrupted
from replies.record import GAVE_UP, Target
from sessions.excerpt import PromptItem
from sessions.host.protocol import HandState
from sessions.port import HarnessFailed
from sessions.prompts import Refused
from statedb import session_rows, turn_rows, work
from statedb.database import Connection
from statedb.reading import still_refused
from statedb.rows import ItemRow
from statedb.session_rows import SessionRow
from statedb.turn_rows import TurnRow
from statedb.work import WaitingRow
from statedb.writing import write_reply
from webhook.giving_up import Written, fail_phase
from webhook.ground import Ground, ask_to_end
from webhook.means import prompt_event

BUSY_MS = 5_000
"""Before a turn is handed over again to a host that has another one running."""


class TurnDeeds:
    """What is done about turns. The caller holds the item's lane."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def freeze(self, item: ItemRow, session: SessionRow, rows: Sequence[WaitingRow], thread: Thread) -> bool:
        """Write down a turn of these events, with its exact text, before anybody is told."""
        if self._withdraw_deleted(item, rows):
            return True
        turn_id = TurnId(self._ground.means.new_id())
        reader = self._ground.means.database.reader()
        about = _prompt_item(item, session, rows[0].event.url)
        events = [
            prompt_event(row.event, is_edit=row.fate.effect == "edit", is_command=row.fate.verb is not None)
            for row in rows
        ]
        count = len(still_refused(reader, item, item.refused))
        refused = Refused(count=count, since_ms=item.refused_since_ms or 0) if count else None
        write_prompt = self._ground.means.prompts.following
        if not session_rows.has_heard(reader, session.session_id):
            write_prompt = self._ground.means.prompts.first
        prompt = write_prompt(about, events, refused, turn_id)
        turn = self._turn(item, session, turn_id, "events", prompt, thread, tells_refused=item.refused)
        keys = [row.fate.event_key for row in rows]
        if self._freeze(turn, keys):
            self._frozen(turn, keys, item)
        return True

    def freeze_resumption(self, item: ItemRow, session: SessionRow) -> bool:
        """Write down a turn that tells the agent to go on where its host died."""
        owed = self._owed(item.item_id)
        if owed is None:
            return True
        turn_id = TurnId(self._ground.means.new_id())
        prompt = self._ground.means.prompts.after_interruption(_prompt_item(item, session, ""), turn_id)
        turn = replace(
            self._turn(item, session, turn_id, "resumption", prompt, owed.thread, tells_refused=0),
            follows=owed.turn_id, interruptions=owed.interruptions,
        )  # fmt: skip

        if self._freeze(turn, (), pays=True):
            self._frozen(turn, (), item)
        return True

    def hand(self, item: ItemRow, session: SessionRow, turn_id: TurnId, rows: Sequence[WaitingRow]) -> bool:
        """Hand a turn over by its id; repeating it is harmless. What comes of it is written down by the host."""
        live = self._ground.sessions.get(session.session_id)
        turn = turn_rows.turn(self._ground.means.database.reader(), turn_id)
        if live is None or turn is None:
            return True
        holds_start = item.item_id in self._ground.means.starts.holders
        if not holds_start and not self._ground.means.hand_overs.take(item.item_id):
            return False
        self._ground.handing[item.item_id] = live
        try:
            if not self._ground.is_wanted(item.item_id):
                return True
            if not self._ground.write(lambda c: turn_rows.mark_handed(c, turn_id, self._ground.means.clock())):
                return True
            state = live.hand(turn_id, turn.prompt, self._ground.means.limits.hand_s)
        except HarnessFailed:
            # The host's journal tells whether it has the turn; its reader brings the news, or the turn is overdue.
            return False
        finally:
            del self._ground.handing[item.item_id]
        self._ground.means.emit(
            TurnHanded(
                turn_id=turn_id,
                session_id=session.session_id,
                work_item=str(item.label),
                event_keys=tuple(row.fate.event_key for row in rows if row.fate.turn_id == turn_id),
            )
        )
        if state is HandState.BUSY:
            at_ms = self._ground.means.clock() + BUSY_MS
            self._ground.write(lambda c: turn_rows.put_off(c, turn_id, at_ms))
            return True
        return False

    def repeat(self, turn_id: TurnId) -> bool:
        """Write a turn anew for a conversation that never heard of it."""
        reader = self._ground.means.database.reader()
        old = turn_rows.turn(reader, turn_id)
        if old is None:
            return True
        keys = [row.fate.event_key for row in work.events_of_turn(reader, turn_id)]
        new_id = TurnId(self._ground.means.new_id())
        prompt = self._ground.means.prompts.repeated(old.prompt, new_id)
        new = replace(
            old, turn_id=new_id, state=TurnState.FROZEN, prompt=prompt, kind="repeat", follows=turn_id,
            frozen_at_ms=self._ground.means.clock(),
        )  # fmt: skip
        self._ground.write(lambda c: turn_rows.repeat(c, old, new, keys))
        self._frozen(new, keys)
        return True

    def take_back(self, turn_id: TurnId) -> bool:
        """Cancel a frozen turn; its events wait again."""
        self._ground.write(lambda c: turn_rows.take_back(c, turn_id, self._ground.means.clock()))
        return True

    def cancel(self, item_id: ItemId, turn_id: TurnId) -> bool:
        """Interrupt the running turn; its end is written down by the host."""
        session = session_rows.session_of(self._ground.means.database.reader(), item_id)
        live = self._ground.sessions.get(session.session_id) if session else None
        self._ground.write(lambda c: turn_rows.mark_cancelling(c, turn_id, self._ground.means.clock()))
        if live is not None:
            try:
                live.cancel(turn_id)
            except HarnessFailed:
                return True
        return True

    def overdue(self, session: SessionRow, turn_id: TurnId) -> bool:
        """No sign of the turn for too long: the session is ended, and the attempt has failed."""
        ground = self._ground
        ground.write(lambda c: turn_rows.mark_overdue(c, turn_id))
        live = ground.sessions.get(session.session_id)
        if live is not None:
            ask_to_end(live, "no receipt")
            if not ground.sessions.wait_gone(session.session_id, ground.means.limits.end_s):
                ground.sessions.drop(session.session_id)
                ground.sessions.take_over(session)
        turn = turn_rows.turn(ground.means.database.reader(), turn_id)
        if turn is not None and turn.is_overdue and turn.state is TurnState.HANDED:
            ground.tell(ground.write(lambda c: ground.aftermath.no_sign(c, turn, ground.means.clock())))
        ground.give_back(session.item_id)
        return True

    def fail_interrupted(self, item: ItemRow, turn_id: TurnId) -> bool:
        """The agent died twice at the same turn: what it had keeps its fate, the phase fails, one notice says so."""
        turn = turn_rows.turn(self._ground.means.database.reader(), turn_id)
        rows = work.events_of_turn(self._ground.means.database.reader(), turn_id)
        never_had = [] if turn is None or turn.taken_at_ms else rows

        def write(connection: Connection) -> None:
            now_ms = self._ground.means.clock()
            turn_rows.mark_ended(connection, turn_id, TurnState.ENDED, "interrupted", "", "", "{}", now_ms)
            keys = [row.fate.event_key for row in never_had]
            work.set_fates(connection, item.item_id, keys, Fate.UNHANDLED, now_ms, reason=UnhandledReason.GIVEN_UP)
            fail_phase(connection, item.item_id)
            for row in never_had:
                sign = self._ground.means.recorder.reaction(row.event, GAVE_UP, item_id=item.item_id, now_ms=now_ms)
                if sign is not None:
                    write_reply(connection, sign)
            turn_rows.pay_resumption(connection, item.item_id)
            if turn is not None:
                target = Target(thread=turn.thread, repository=item.repository)
                notice = self._ground.means.recorder.comment(
                    turn_id,
                    "notice",
                    0,
                    item_id=item.item_id,
                    target=target,
                    text=texts.interrupted_twice(),
                    now_ms=now_ms,
                )
                write_reply(connection, notice)

        self._ground.write(write)
        log: list[LogEvent] = [TurnInterrupted(turn_id=turn_id, cause="given up", interruptions=2)]
        log += [
            DispatchGaveUp(
                event_key=row.fate.event_key, work_item=str(item.label), attempts=2, error="interrupted twice"
            )
            for row in never_had
        ]
        self._ground.tell(Written(log=log, marks=[(row.fate.event_key, "") for row in never_had]))
        self._ground.give_back(item.item_id)
        return True

    def _withdraw_deleted(self, item: ItemRow, rows: Sequence[WaitingRow]) -> bool:
        """Look once more for polled comments that waited long: what is gone by now is withdrawn. True: something was."""
        means = self._ground.means
        latest_ms = means.clock() - means.limits.reread_ms if means.limits.reread_ms is not None else 0
        old = [
            row for row in rows if row.accepted_at_ms < latest_ms and row.event.fact in TEXT_FACTS and not row.fate.verb
        ]
        polled = work.only_polled(means.database.reader(), [row.fate.event_key for row in old])
        gone = [
            row.fate.event_key
            for row in old
            if row.fate.event_key in polled
            and isinstance(
                means.items.comment(row.event.thread, item.repository, row.event.fact, row.event.object_id), Missing
            )
        ]
        if gone:
            withdrawn = Outcome.WITHDRAWN
            self._ground.write(
                lambda c: work.set_fates(c, item.item_id, gone, Fate.SETTLED, means.clock(), outcome=withdrawn)
            )
            lines: list[LogEvent] = [
                DispatchSettled(event_key=key, work_item=str(item.label), outcome=withdrawn) for key in gone
            ]
            self._ground.tell(Written(log=lines, marks=[(key, withdrawn) for key in gone]))
        return bool(gone)

    def _freeze(self, turn: TurnRow, keys: Sequence[EventKey], *, pays: bool = False) -> bool:
        """Write the turn, unless its session's end was put down meanwhile: that has said when it is tried again."""

        def write(connection: Connection) -> bool:
            if not session_rows.is_live(connection, turn.session_id):
                return False
            if pays:
                turn_rows.pay_resumption(connection, turn.item_id)
            turn_rows.freeze(connection, turn, keys)
            return True

        return self._ground.write(write)

    def _owed(self, item_id: ItemId) -> TurnRow | None:
        reader = self._ground.means.database.reader()
        owed = turn_rows.owed_turn(reader, item_id)
        return turn_rows.turn(reader, owed.turn_id) if owed is not None else None

    def _turn(
        self, item: ItemRow, session: SessionRow, turn_id: TurnId, kind: str, prompt: str, thread: Thread, *,
        tells_refused: int,
    ) -> TurnRow:  # fmt: skip
        return TurnRow(
            turn_id=turn_id, item_id=item.item_id, session_id=session.session_id, state=TurnState.FROZEN, kind=kind,
            prompt=prompt, thread=thread, tells_refused=tells_refused, follows=None, frozen_at_ms=self._ground.means.clock(),
            taken_at_ms=None, interruptions=0,
        )  # fmt: skip

    def _frozen(self, turn: TurnRow, keys: Sequence[EventKey], item: ItemRow | None = None) -> None:
        self._ground.means.emit(
            TurnFrozen(
                turn_id=turn.turn_id, session_id=turn.session_id, work_item=str(item.label) if item else None,
                event_keys=tuple(keys),
                prompt_bytes=len(turn.prompt.encode()),
            )
        )  # fmt: skip


def _prompt_item(item: ItemRow, session: SessionRow, url: str) -> PromptItem:
    """The item as a prompt names it."""
    return PromptItem(
        label=str(item.label),
        url=url.split("#")[0],
        title=item.snapshot.title if item.snapshot else "",
        kind=item.snapshot.kind if item.snapshot else ItemKind.ISSUE,
        branch=session.branch,
    )
