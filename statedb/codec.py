"""How domain values are written in the store and read back: our own form, apart from what the domain looks like."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

from domain import control
from domain.control import Verb
from domain.model import (
    Account,
    Actor,
    Anchor,
    Change,
    Event,
    EventKey,
    Fact,
    ItemKind,
    Label,
    Operator,
    Phase,
    Place,
    Snapshot,
    Thread,
)
from domain.phase import Folded, PhaseCommand

DOCUMENTS_MAX = 1_024
"""How many phases, snapshots and lists of commands are kept with their texts: a batch reads what the one before it wrote."""

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)


def dump(value: object) -> str:
    """Compact JSON of a value of our own making."""
    return _ENCODER.encode(value)


def write_event(event: Event) -> str:
    """An event without its body, its reading and its snapshot: the first stands in its own column, the second is read off
    it again, the third belongs to the item."""
    return dump(
        {
            "fact": event.fact,
            "change": event.change,
            "thread": [event.thread.host, event.thread.repository_id, event.thread.number],
            "repository": event.label.repository,
            "object": event.object_id,
            "place": write_place(event.place),
            "updated": event.updated_at_ms,
            "actor": _write_actor(event.actor),
            "editor": _write_actor(event.editor),
            "sha256": event.body_sha256,
            "title": event.title,
            "anchor": [event.anchor.path, event.anchor.line, event.anchor.review_id] if event.anchor else None,
            "review": event.review_state,
            "unseen": event.edited_unseen,
            "before": event.before_watch,
        }
    )


def read_event(key: EventKey, document: str, body: str, url: str) -> Event:
    """The event that `write_event` wrote, without what the commands in its body say: see `with_reading`."""
    stored = json.loads(document)
    thread = Thread(host=stored["thread"][0], repository_id=stored["thread"][1], number=stored["thread"][2])
    anchor = stored["anchor"]
    return Event(
        key=key,
        fact=Fact(stored["fact"]),
        change=Change(stored["change"]),
        thread=thread,
        label=Label(host=thread.host, repository=stored["repository"], number=thread.number),
        object_id=stored["object"],
        place=read_place(stored["place"]),
        updated_at_ms=stored["updated"],
        actor=_read_actor(stored["actor"]),
        editor=_read_actor(stored["editor"]),
        body=body,
        body_sha256=stored["sha256"],
        url=url,
        title=stored["title"],
        anchor=Anchor(path=anchor[0], line=anchor[1], review_id=anchor[2]) if anchor else None,
        review_state=stored["review"],
        edited_unseen=stored["unseen"],
        before_watch=stored["before"],
    )


def with_reading(event: Event) -> Event:
    """The event with its commands read off the body again; pathological Markdown takes a second."""
    return replace(event, reading=control.read(event.body)) if control.mentions(event.body) else event


def write_place(place: Place) -> list[Any]:
    """Time, kind and number."""
    return [place.at_ms, place.fact, place.number]


def read_place(stored: list[Any]) -> Place:
    """What `write_place` wrote."""
    return Place(at_ms=stored[0], fact=Fact(stored[1]), number=stored[2])


@lru_cache(DOCUMENTS_MAX)
def write_verbs(verbs: tuple[Verb, ...]) -> str:
    """The commands of a text."""
    return dump(list(verbs))


@lru_cache(DOCUMENTS_MAX)
def write_folded(folded: Folded) -> str:
    """The folded phase."""
    last = folded.last
    return dump(
        {
            "opening": write_place(folded.opening) if folded.opening else None,
            "generation": folded.generation,
            "ended_by": folded.ended_by,
            "last": [last.key, last.verb, *write_place(last.place)] if last else None,
        }
    )


@lru_cache(DOCUMENTS_MAX)
def read_folded(phase: str, document: str) -> Folded:
    """What `write_folded` wrote, with the phase from its own column."""
    stored = json.loads(document)
    last = stored["last"]
    return Folded(
        phase=Phase(phase),
        opening=read_place(stored["opening"]) if stored["opening"] else None,
        generation=EventKey(stored["generation"]) if stored["generation"] else None,
        ended_by=Fact(stored["ended_by"]) if stored["ended_by"] else None,
        last=PhaseCommand(key=EventKey(last[0]), verb=Verb(last[1]), place=read_place(last[2:])) if last else None,
    )


@lru_cache(DOCUMENTS_MAX)
def write_snapshot(snapshot: Snapshot) -> str:
    """An item's state."""
    return dump(
        {
            "kind": snapshot.kind,
            "title": snapshot.title,
            "open": snapshot.is_open,
            "labels": list(snapshot.labels),
            "updated": snapshot.updated_at_ms,
            "head": snapshot.head_branch,
            "fork": snapshot.from_fork,
        }
    )


@lru_cache(DOCUMENTS_MAX)
def read_snapshot(document: str) -> Snapshot:
    """What `write_snapshot` wrote."""
    stored = json.loads(document)
    return Snapshot(
        kind=ItemKind(stored["kind"]),
        title=stored["title"],
        is_open=stored["open"],
        labels=tuple(stored["labels"]),
        updated_at_ms=stored["updated"],
        head_branch=stored["head"],
        from_fork=stored["fork"],
    )


def _write_actor(actor: Actor | None) -> object:
    match actor:
        case None:
            return None
        case Account(login=login, id=number, is_bot=is_bot):
            return {"login": login, "id": number, "bot": is_bot}
        case Operator(name=name):
            return {"operator": name}


def _read_actor(stored: dict[str, Any] | None) -> Actor | None:
    if stored is None:
        return None
    if "operator" in stored:
        return Operator(stored["operator"])
    return Account(login=stored["login"], id=stored["id"], is_bot=stored["bot"])
