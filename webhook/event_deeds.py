"""Deeds about events: asking for a fact, deciding again, refusing, and confirming what has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from domain.decision import Effect
from domain.model import Event, Fate, Outcome
from domain.policy import ItemView
from domain.ports import ItemFacts, Missing, NoAnswer
from domain.retry import after_no_answer
from statedb import work
from statedb.database import Connection
from statedb.rows import ItemRow
from statedb.work import WaitingRow
from statedb.writing import write_reply
from webhook.giving_up import Written, settled_line
from webhook.ground import Ground
from webhook.handled import Handled
from webhook.journal_rows import acknowledgement


class EventDeeds:
    """What is done about events apart from sessions and turns. The caller holds the item's lane."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def ask(self, item: ItemRow, row: WaitingRow) -> bool:
        """Ask GitHub for the item, then decide again. No answer is never a no."""
        found = self._ground.means.items.item(row.event.thread, item.repository)
        match found:
            case NoAnswer(retry_after_s=retry_after_s):
                asked, now_ms = row.fate.attempts + 1, self._ground.means.clock()
                at_ms = after_no_answer(asked, now_ms, retry_after_s)
                keys = [row.fate.event_key]
                self._ground.write(lambda c: work.set_attempts(c, item.item_id, keys, asked, at_ms, now_ms))
                return True
            case Missing():
                return self.decide_again([row], ItemView(is_gone=True))
            case ItemFacts(snapshot=snapshot):
                return self.decide_again([row], ItemView(snapshot=snapshot))

    def decide_again(self, rows: Sequence[WaitingRow], facts: ItemView) -> bool:
        """Decide what lacked a fact, or waited behind what did."""

        def write(connection: Connection) -> list[Handled]:
            dispatcher = self._ground.means.dispatcher
            return [
                dispatcher.decide_again(connection, _with_facts(row, facts), replace(row.fate, attempts=0), facts)
                for row in rows
            ]

        self._ground.means.dispatcher.committed(self._ground.write(write))
        return True

    def refuse(self, item: ItemRow, refused: Sequence[tuple[WaitingRow, Outcome]]) -> bool:
        """Settle what was judged again and may not be handed over; refused comments are counted, to be told."""

        def write(connection: Connection) -> None:
            now_ms = self._ground.means.clock()
            for row, outcome in refused:
                key = row.fate.event_key
                work.set_fates(connection, item.item_id, [key], Fate.SETTLED, now_ms, outcome=outcome)
                if outcome is Outcome.CONTROL_EXECUTED:
                    work.set_effect(connection, item.item_id, key, Effect.SUPERSEDED)
            comments = [row for row, outcome in refused if outcome is not Outcome.CONTROL_EXECUTED]
            if comments:
                since_ms = min(row.event.place.at_ms for row in comments)
                work.count_refused(connection, item.item_id, len(comments), since_ms)

        self._ground.write(write)
        log = [settled_line(row, outcome) for row, outcome in refused]
        self._ground.tell(Written(log=log, marks=[(row.fate.event_key, outcome) for row, outcome in refused]))
        return True

    def confirm(self, rows: Sequence[WaitingRow]) -> bool:
        """Nothing is left to end: the stop, cleanup or closing is executed."""

        def write(connection: Connection) -> None:
            now_ms = self._ground.means.clock()
            for row in rows:
                keys = [row.fate.event_key]
                work.set_fates(
                    connection, row.fate.item_id, keys, Fate.SETTLED, now_ms, outcome=Outcome.CONTROL_EXECUTED
                )
                for reply in acknowledgement(self._ground.means.recorder, row, row.fate.item_id, now_ms):
                    write_reply(connection, reply)

        self._ground.write(write)
        outcome = Outcome.CONTROL_EXECUTED
        self._ground.tell(
            Written(
                log=[settled_line(row, outcome) for row in rows], marks=[(row.fate.event_key, outcome) for row in rows]
            )
        )
        return True


def _with_facts(row: WaitingRow, facts: ItemView) -> Event:
    """The event with the item's state as GitHub just told it."""
    return replace(row.event, snapshot=facts.snapshot) if facts.snapshot else row.event
