"""Turns an order of the operator's into an event on the one dispatch path, and says what became of it."""

from __future__ import annotations

import itertools
import logging
import os
import pwd
from collections.abc import Callable

from domain import control, keys
from domain.control import Verb
from domain.model import Change, Delivery, Event, EventKey, Fact, Label, Operator, PassReason, Road, Thread
from domain.ports import ItemFacts, ItemPort, Missing, NoAnswer, Repository
from service.orders import NotDone, Order, Result
from statedb import inquiries
from statedb.database import Connection, Database, StoreUnavailable
from statedb.rows import ItemRow, derived_fate, derived_outcome
from webhook.commands import operator_place
from webhook.dispatcher import Dispatcher

SAID_KINDS = ("refusal", "answer-of-ours")

log = logging.getLogger(__name__)


class Operating:
    """Carries out orders. Safe to use from any thread, and safe to repeat: an order's id is its event's identity."""

    def __init__(
        self, dispatcher: Dispatcher, database: Database, items: ItemPort, host: str, clock: Callable[[], int]
    ) -> None:
        """`host` is the one whose items we work on; `clock` gives milliseconds since the epoch."""
        self._dispatcher = dispatcher
        self._database = database
        self._items = items
        self._host = host.lower()
        self._clock = clock
        self._numbers = itertools.count(1)

    def carry_out(self, order: Order) -> Result | NotDone:
        """Decide an order; never raises. Asks GitHub for what the store does not know."""
        try:
            event = self._event(order)
            return event if isinstance(event, NotDone) else self._handle(order, event)
        except StoreUnavailable as fault:
            return NotDone(f"the store did not take it and nothing was recorded ({fault}): try again in a minute")
        except Exception:  # one order's fault must not end the thread that serves the others
            log.exception("an order could not be carried out")
            return NotDone("the service failed at this order: its standard error says how")

    def _handle(self, order: Order, event: Event) -> Result | NotDone:
        delivery = Delivery(road=Road.CLI, delivery_id=order.order_id, arrived_at_ms=self._clock())
        handled = self._dispatcher.handle(event, delivery)
        if handled.reason == PassReason.NOT_FOR_US:
            return NotDone(f"{order.item.repository} is not watched: add it to [[repositories]]", is_missing=True)
        result = result_of(self._database.reader(), event_key(event))
        return result or NotDone(f"the order was passed over ({handled.reason or handled.status})")

    def _event(self, order: Order) -> Event | NotDone:
        item = order.item
        if item.host != self._host:
            return NotDone(f"this service works on {self._host}, not on {item.host}", is_missing=True)
        known = next(iter(inquiries.items_by_label(self._database.reader(), item)), None)
        thread = known.home if known else self._thread(item)
        if isinstance(thread, NotDone):
            return thread
        known = known or inquiries.item_by_thread(self._database.reader(), thread)
        if order.verb is not Verb.START:
            unknown = NotDone(
                f"nobody ever asked anything of {item}: there is nothing to {order.verb}", is_missing=True
            )
            return self._made(order, known, thread, None) if known else unknown
        facts = self._facts(item, thread, known)
        return facts if isinstance(facts, NotDone) else self._made(order, known, thread, facts)

    def _facts(self, item: Label, thread: Thread, known: ItemRow | None) -> ItemFacts | NotDone | None:
        """How the item stands now; where GitHub does not answer, a known one is asked about later, by the workers."""
        facts = self._items.item(thread, known.repository if known else item.repository)
        match facts:
            case Missing():
                return NotDone(f"GitHub says that {item} does not exist, or our token may not see it", is_missing=True)
            case NoAnswer(reason=reason) if known is None:
                return NotDone(f"GitHub gave no answer about {item} ({reason}): try again in a minute")
            case NoAnswer():
                return None
            case ItemFacts():
                return facts

    def _thread(self, item: Label) -> Thread | NotDone:
        found = self._items.repository(item.repository)
        match found:
            case Missing():
                return NotDone(f"GitHub shows us no repository {item.repository}", is_missing=True)
            case NoAnswer(reason=reason):
                return NotDone(f"GitHub gave no answer about {item.repository} ({reason}): try again in a minute")
            case Repository(id=repository_id):
                return Thread(host=item.host, repository_id=repository_id, number=item.number)

    def _made(self, order: Order, known: ItemRow | None, thread: Thread, facts: ItemFacts | None) -> Event:
        now_ms = self._clock()
        label = Label(
            host=thread.host, repository=known.repository if known else order.item.repository, number=thread.number
        )
        return Event(
            key=keys.operator_key(thread.host, order.order_id),
            fact=Fact.OPERATOR,
            change=Change.CREATED,
            thread=thread,
            label=label,
            object_id=0,
            place=operator_place(known, now_ms, next(self._numbers)),
            updated_at_ms=now_ms,
            actor=Operator(operator_name()),
            body=order.body,
            body_sha256=keys.body_digest(order.body),
            url=facts.url if facts else "",
            title=facts.snapshot.title if facts else "",
            snapshot=facts.snapshot if facts else None,
            reading=control.read(order.body),
        )  # fmt: skip


def event_key(event: Event) -> EventKey:
    """The key that an order's event always has."""
    return event.key or EventKey("")


def result_of(connection: Connection, key: EventKey) -> Result | None:
    """How an order stands in the store; None where it is not there."""
    kept, rows = inquiries.kept(connection, key), inquiries.fates(connection, key)
    if kept is None or not rows:
        return None
    said = [part.whole for part in inquiries.parts_of(connection, [key]) if part.kind in SAID_KINDS]
    return Result(
        item=str(kept.event.label),
        event_key=key,
        fate=derived_fate(rows),
        outcome=derived_outcome(rows),
        effect=rows[0].effect,
        reason=rows[0].reason or "",
        said="\n".join(said),
    )


def operator_name() -> str:
    """The login of the user as whom this process runs; only that user reaches the operator's socket."""
    user_id = os.geteuid()
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)
