"""Puts together what became of a comment, an event, a delivery or a work item, from the store and the event log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.model import Account, Actor, EventKey, Label, Operator
from domain.policy import Authorities
from eventlog.query import Entry, Query
from eventlog.reader import LogReader
from service.addresses import Comment, Named
from statedb import inquiries
from statedb.database import Connection
from statedb.inquiries import Arrivals, ItemStanding, Kept, PartFound, TurnFound
from statedb.reading import item_by_id
from statedb.rows import FateRow, derived_fate

EVENTS_OF_ITEM_MAX = 10
LOG_LINES_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was decided of an event for one item, with what was looked at; `view` and `said` hold values of our own."""

    item: str
    """The label of the item, empty where its row is gone."""
    row: FateRow
    name: str
    """The decision's name, empty where it is not kept any more."""
    said: dict[str, object]
    view: dict[str, object]
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that is known of one event."""

    key: EventKey
    kept: Kept | None
    right: str
    """Whether its author may do anything now, in words; empty where nobody is named."""
    arrivals: Sequence[Arrivals]
    decided: Sequence[Decided]
    turns: Sequence[TurnFound]
    parts: Sequence[PartFound]

    @property
    def fate(self) -> str:
        """The event's own fate, derived from those for its items."""
        return derived_fate([each.row for each in self.decided])


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer to one question; all of it empty where nothing is known."""

    asked: str
    items: Sequence[ItemStanding] = ()
    stories: Sequence[Story] = ()
    log: Sequence[Entry] = ()
    """What the event log says of something that left no row."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not (self.items or self.stories or self.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where it is looked up."""

    connection: Connection
    log: LogReader
    authorities: Authorities


def explain(asked: str, named: Named, sources: Sources) -> Explanation:
    """Everything known about what was named. Reads only."""
    connection = sources.connection
    if isinstance(named, Label):
        items = [
            standing
            for item in inquiries.items_by_label(connection, named)
            for standing in inquiries.standings(connection, item.item_id)
        ]
        keys = [
            key
            for standing in items
            for key in inquiries.newest_keys_of_item(connection, standing.item.item_id, EVENTS_OF_ITEM_MAX)
        ]
        return Explanation(asked=asked, items=items, stories=_stories(keys, sources))
    keys = _keys(asked, named, connection)
    stories = _stories(keys, sources)
    return Explanation(asked=asked, stories=stories, log=() if stories else _from_log(named, sources.log))


def story(key: EventKey, sources: Sources) -> Story:
    """All that is known of one event."""
    connection = sources.connection
    kept, turns = inquiries.kept(connection, key), inquiries.turns_of(connection, key)
    return Story(
        key=key,
        kept=kept,
        right=right_of(kept.event.actor, sources.authorities) if kept else "",
        arrivals=inquiries.arrivals(connection, key),
        decided=[_decided(row, connection) for row in inquiries.fates(connection, key)],
        turns=turns,
        parts=inquiries.parts_of(connection, [key, *(turn.turn_id for turn in turns)]),
    )


def right_of(actor: Actor | None, authorities: Authorities) -> str:
    """Whether somebody may move anything now, and why."""
    match actor:
        case None:
            return ""
        case Operator():
            return "may do anything at this machine"
        case Account(login=login, id=number):
            pinned = authorities.pinned.get(login.lower())
            if authorities.may(actor):
                return "authorised" if pinned is None else f"authorised, pinned to the id {number}"
            if pinned is not None and pinned != number:
                return f"no right: the login is pinned to the id {pinned}"
            return "no right now: not in routing.authorized_users"


def _keys(asked: str, named: Comment | object, connection: Connection) -> list[EventKey]:
    """The events that were meant, each once: an id may be a key or a delivery's, an address a person's words or ours."""
    if isinstance(named, Comment):
        looks: tuple[Callable[[], list[EventKey]], ...] = (
            lambda: inquiries.keys_about(connection, named.key),
            lambda: inquiries.keys_at(connection, asked),
            lambda: inquiries.keys_answered_by(connection, named.object_id),
        )
    else:
        looks = (
            lambda: inquiries.keys_about(connection, EventKey(asked)),
            lambda: inquiries.keys_delivered(connection, asked),
        )
    return next((found for look in looks if (found := look())), [])


def _stories(keys: Sequence[EventKey], sources: Sources) -> list[Story]:
    return [story(key, sources) for key in dict.fromkeys(keys)]


def _from_log(named: Named, log: LogReader) -> list[Entry]:
    """Lines about what was passed over or refused: it made no row."""
    if isinstance(named, Label):
        return []
    if isinstance(named, Comment):
        return log.last(Query(event_key=named.key), LOG_LINES_MAX)
    by_delivery = log.last(Query(delivery_id=named.text), LOG_LINES_MAX)
    return by_delivery or log.last(Query(event_key=named.text), LOG_LINES_MAX)


def _decided(row: FateRow, connection: Connection) -> Decided:
    item = item_by_id(connection, row.item_id)
    home = item.home if item else None
    stored = json.loads(row.decision)
    view, policy, name = stored.pop("view", {}), stored.pop("policy", ""), stored.pop("decision", "")
    return Decided(
        item=str(Label(host=home.host, repository=item.repository, number=home.number)) if item and home else "",
        row=row,
        name=name,
        said=stored,
        view=view,
        policy=policy,
    )
