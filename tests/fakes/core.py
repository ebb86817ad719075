"""Events and deliveries as roads make them, and a worker's part played without an agent, for tests of the core."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from domain import control, keys
from domain.control import Verb
from domain.model import (
    Account,
    Actor,
    Change,
    Delivery,
    Event,
    EventKey,
    Fact,
    Fate,
    ItemId,
    ItemKind,
    Label,
    Operator,
    Outcome,
    Phase,
    Place,
    Road,
    SessionId,
    Snapshot,
    Thread,
)
from domain.policy import Authorities, ItemView, Policy, Spawn
from domain.turns import SessionState
from statedb import session_rows, work
from statedb.database import Connection
from statedb.reading import FATE_COLUMNS, item_by_id, read_fate
from statedb.rows import FateRow, ItemRow, Step
from statedb.session_rows import SessionRow
from tests.fakes.dispatching import Dispatching
from webhook.handled import Handled

HOST = "github.com"
ADA = Account(login="ada", id=5)
BOB = Account(login="bob", id=6)
EVE = Account(login="eve", id=66)
THREAD = Thread(host=HOST, repository_id=100, number=15)

_arrivals = itertools.count(1)


def snapshot(*labels: str, updated_at_s: int = 1, is_open: bool = True) -> Snapshot:
    return Snapshot(
        kind=ItemKind.ISSUE, title="An item", is_open=is_open, labels=labels, updated_at_ms=updated_at_s * 1000
    )


LABELED = snapshot("the-loop")


def place(at_s: int, number: int, fact: Fact = Fact.COMMENT) -> Place:
    return Place(at_ms=at_s * 1000, fact=fact, number=number)


def label_of(thread: Thread) -> Label:
    return Label(host=thread.host, repository="o/r", number=thread.number)


def comment(
    number: int,
    body: str = "hello",
    *,
    at_s: int | None = None,
    actor: Actor | None = ADA,
    told: Snapshot | None = LABELED,
    fact: Fact = Fact.COMMENT,
    thread: Thread = THREAD,
) -> Event:
    """What somebody wrote; a greater number was written later unless `at_s` says otherwise."""
    at_s = number if at_s is None else at_s
    return Event(
        key=keys.text_key(thread.host, fact, number),
        fact=fact,
        change=Change.CREATED,
        thread=thread,
        label=label_of(thread),
        object_id=number,
        place=place(at_s, number, fact),
        updated_at_ms=at_s * 1000,
        actor=actor,
        body=body,
        body_sha256=keys.body_digest(body),
        url=f"https://{thread.host}/o/r/issues/{thread.number}#{fact}-{number}",
        snapshot=told,
        reading=control.read(body) if control.mentions(body) else None,
    )


def edited(event: Event, body: str, *, at_s: int, editor: Actor | None = None) -> Event:
    """The same text, changed by `editor` (None: nobody knows whom)."""
    at_ms, digest = at_s * 1000, keys.body_digest(body)
    return replace(
        event,
        key=keys.edit_key(event.thread.host, event.fact, event.object_id, at_ms, digest),
        change=Change.EDITED,
        place=replace(event.place, at_ms=at_ms),
        updated_at_ms=at_ms,
        editor=editor,
        body=body,
        body_sha256=digest,
        reading=control.read(body) if control.mentions(body) else None,
    )


def deleted(event: Event, editor: Actor | None = None) -> Event:
    """The same text, gone."""
    key = keys.deletion_key(event.thread.host, event.fact, event.object_id)
    return replace(event, key=key, change=Change.DELETED, editor=editor)


def closed(at_s: int, actor: Account | None = None, thread: Thread = THREAD) -> Event:
    """The item closed; None: nobody is named."""
    at = place(at_s, thread.number, Fact.CLOSURE)
    return Event(
        key=keys.closure_key(thread, at.at_ms),
        fact=Fact.CLOSURE,
        change=Change.CREATED,
        thread=thread,
        label=label_of(thread),
        object_id=thread.number,
        place=at,
        updated_at_ms=at.at_ms,
        actor=actor,
        snapshot=snapshot("the-loop", updated_at_s=at_s, is_open=False),
    )


def noted(told: Snapshot, thread: Thread = THREAD) -> Event:
    """The item's own state, as `labeled` or `edited` tell it."""
    event = closed(1, thread=thread)
    return replace(event, key=None, fact=Fact.SNAPSHOT, change=Change.EDITED, snapshot=told)


def operators(verb: Verb, client_id: str, *, at_ms: int, thread: Thread = THREAD) -> Event:
    """A command by the operator at this machine."""
    event = comment(0, f"the-loop {verb}", actor=Operator("op"), thread=thread)
    return replace(
        event,
        key=keys.operator_key(thread.host, client_id),
        fact=Fact.OPERATOR,
        place=Place(at_ms=at_ms, fact=Fact.OPERATOR, number=0),
    )


def delivery(road: Road = Road.WEBHOOK, delivery_id: str | None = None) -> Delivery:
    """One arrival; the delivery ids differ unless given."""
    return Delivery(road=road, delivery_id=delivery_id or f"delivery-{next(_arrivals)}", arrived_at_ms=1)


def policy(
    spawn: Spawn = Spawn.LABELED, *, logins: tuple[str, ...] = ("ada", "bob"), pinned: dict[str, int] | None = None
) -> Policy:
    authorities = Authorities(logins=frozenset(logins), pinned=pinned or {})
    return Policy(spawn=spawn, label="the-loop", authorities=authorities, digest="tests")


@dataclass(frozen=True, slots=True)
class Desk:
    """Sends events through a Dispatcher, plays the worker's part on what waits, and reads what the store then says."""

    dispatching: Dispatching

    def arrive(self, *events: Event, road: Road = Road.WEBHOOK) -> Handled:
        """Handle these one after another; what became of the last."""
        handled = [self.dispatching.dispatcher.handle(event, delivery(road)) for event in events]
        return handled[-1]

    def row(self, key: EventKey | None) -> FateRow:
        """The one row of an event."""
        (row,) = self._rows(f"SELECT {FATE_COLUMNS} FROM fates WHERE event_key = ?", key)  # noqa: S608 constant
        return row

    def fate(self, event: Event) -> tuple[Fate, str]:
        """An event's fate and outcome, as the Dispatcher tells them."""
        assert event.key is not None
        reader, dispatcher = self.dispatching.database.reader(), self.dispatching.dispatcher
        return dispatcher.delivery_status(reader, event.key), dispatcher.delivery_outcome(reader, event.key)

    def fates(self, *events: Event) -> list[str]:
        """For each event its outcome, or its fate where it has none."""
        return [outcome or fate.value for fate, outcome in map(self.fate, events)]

    def item(self, thread: Thread = THREAD) -> ItemRow:
        reader = self.dispatching.database.reader()
        ((item_id,),) = reader.execute(
            "SELECT item_id FROM threads WHERE host = ? AND repository_id = ? AND number = ?",
            (thread.host, thread.repository_id, thread.number),
        )
        item = item_by_id(reader, ItemId(item_id))
        assert item is not None
        return item

    def view(self, thread: Thread = THREAD) -> ItemView:
        return view_of(self.item(thread))

    def replies(self, kind: str) -> list[str]:
        """What was recorded to be said, of one kind."""
        reader = self.dispatching.database.reader()
        return [row[0] for row in reader.execute("SELECT whole FROM replies WHERE kind = ?", (kind,))]

    def write(self, act: Callable[[Connection], object]) -> None:
        """Change the store as a worker does."""
        self.dispatching.committer.write(act)

    def live(self, thread: Thread = THREAD) -> None:
        """Let the item have a session."""
        row = SessionRow(
            session_id=SessionId(f"session-{thread.number}"), item_id=self.item(thread).item_id, harness="fake",
            state=SessionState.LIVE, conversation_id=None, folder="", clone="", branch="", base_sha="",
            token_sha256="", journal_offset=0, created_at_ms=1, last_turn_at_ms=1,
        )  # fmt: skip
        self.write(lambda connection: session_rows.write_session(connection, row))

    def fail_start(self, *waiting: Event, thread: Thread = THREAD) -> None:
        """Let the item's start give up, and these with it."""
        item = self.item(thread)
        keys_of = [event.key for event in waiting if event.key is not None]

        def give_up(connection: Connection) -> None:
            work.set_failed(connection, item.item_id, item.folded.generation)
            connection.executemany(
                "UPDATE fates SET fate = 'unhandled', step = '', reason = 'given-up', attempts = 3 WHERE event_key = ?",
                ((key,) for key in keys_of),
            )

        self.write(give_up)

    def answer_needs(self, told: Snapshot | None, *, is_gone: bool = False, thread: Thread = THREAD) -> None:
        """Decide again what lacked a fact, then what waits behind it."""
        item = self.item(thread)
        facts = replace(view_of(item), snapshot=told, is_gone=is_gone)
        for step in (Step.NEED, Step.BEHIND):
            self.write(partial(decide_all_again, self.dispatching, item, step, facts))

    def carry_out(self, thread: Thread = THREAD) -> None:
        """Judge again what waits, and hand over what may be, to an agent that takes everything at once."""
        item = self.item(thread)
        self.write(lambda connection: carry_out(self.dispatching, connection, item.item_id))

    def _rows(self, query: str, key: EventKey | None) -> list[FateRow]:
        return [read_fate(row) for row in self.dispatching.database.reader().execute(query, (key,))]


def view_of(item: ItemRow) -> ItemView:
    """The item as judging again sees it."""
    failed = item.failed_generation is not None and item.failed_generation == item.folded.generation
    return ItemView(folded=item.folded, failed=failed, refused=item.refused, home=item.home)


def decide_all_again(
    dispatching: Dispatching, item: ItemRow, step: Step, facts: ItemView, connection: Connection
) -> None:
    """Decide again what stands at a step."""
    for row in work.waiting_rows(connection, item.item_id):
        if row.fate.step is step:
            dispatching.dispatcher.decide_again(connection, row.event, row.fate, facts)


def carry_out(dispatching: Dispatching, connection: Connection, item_id: ItemId) -> None:
    """What `Desk.carry_out` does, inside a transaction."""
    item = item_by_id(connection, item_id)
    assert item is not None
    view = view_of(item)
    for row in work.waiting_rows(connection, item_id):
        if row.fate.step is Step.QUEUED and (row.fate.verb is None or view.phase is not Phase.PAUSED):
            outcome = _judged(dispatching, row, view)
            fate = Fate.DONE if outcome is None else Fate.SETTLED
            work.set_fates(connection, item_id, [row.fate.event_key], fate, 1, outcome=outcome)


def _judged(dispatching: Dispatching, row: work.WaitingRow, view: ItemView) -> Outcome | None:
    """A command is executed, by its prompt's receipt or because its stretch is over; a comment is judged again."""
    if row.fate.verb is not None:
        return Outcome.CONTROL_EXECUTED
    return dispatching.dispatcher.judge(row.event, view)
