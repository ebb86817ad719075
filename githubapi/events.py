"""Builds events from what GitHub's objects say, so that one fact has one key whichever road it came by."""

from __future__ import annotations

from dataclasses import dataclass, replace

from domain import control, keys
from domain.model import Account, Anchor, Change, Event, EventKey, Fact, Label, Place, Snapshot, Thread
from domain.ports import Repository, Said
from githubapi import texts
from githubapi.fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The thread that an event is about, with what its arrival told of the item (None: nothing)."""

    thread: Thread
    label: Label
    snapshot: Snapshot | None = None

    @property
    def title(self) -> str:
        """The item's title, empty where the arrival did not tell it."""
        return self.snapshot.title if self.snapshot else ""


def created(site: Site, said: Said, anchor: Anchor | None = None, review_state: str = "") -> Event | None:
    """A text that somebody wrote. None for an empty body, which is no event."""
    if not said.body.strip():
        return None
    key = keys.text_key(site.thread.host, said.fact, said.id)
    event = _text_event(site, said, Change.CREATED, key, said.created_at_ms)
    return replace(event, anchor=anchor, review_state=review_state) if anchor or review_state else event


def deleted(site: Site, said: Said, editor: Account | None, anchor: Anchor | None = None) -> Event:
    """A text that `editor` deleted; it stands where the text stood, for GitHub does not say when it was deleted."""
    key = keys.deletion_key(site.thread.host, said.fact, said.id)
    event = _text_event(site, said, Change.DELETED, key, said.created_at_ms)
    return replace(event, editor=editor, anchor=anchor)


def listed(site: Site, said: Said) -> Event | None:
    """A text as a listing shows it: created, or edited by nobody knows whom. None for an empty body."""
    if said.updated_at_ms <= said.created_at_ms or not said.body.strip():
        return created(site, said)
    digest = keys.body_digest(said.body)
    key = keys.edit_key(site.thread.host, said.fact, said.id, said.updated_at_ms, digest)
    return _text_event(site, said, Change.EDITED, key, said.updated_at_ms)


def listed_comment(values: dict[str, object], repository: Repository) -> Event | None:
    """A comment from a repository's listing; None for an empty body. Raises `Malformed`.

    The listing names the thread by its address and tells nothing of the item, so the event has neither title nor
    snapshot.
    """
    fields = Fields(values)
    number = texts.thread_number(fields, "issue_url")
    site = Site(
        thread=Thread(host=repository.host, repository_id=repository.id, number=number),
        label=Label(host=repository.host, repository=repository.name, number=number),
    )
    return listed(site, texts.comment(fields))


def closed(site: Site, snapshot: Snapshot, actor: Account | None, closed_at_ms: int, url: str) -> Event:
    """An item that `actor` closed or merged (None: nobody is named)."""
    return Event(
        key=keys.closure_key(site.thread, closed_at_ms),
        fact=Fact.CLOSURE,
        change=Change.CREATED,
        thread=site.thread,
        label=site.label,
        object_id=site.thread.number,
        place=Place(at_ms=closed_at_ms, fact=Fact.CLOSURE, number=site.thread.number),
        updated_at_ms=snapshot.updated_at_ms,
        actor=actor,
        url=url,
        title=snapshot.title,
        snapshot=snapshot,
    )


def noted(site: Site, snapshot: Snapshot, actor: Account | None, url: str) -> Event:
    """An item's state, seen after something happened to it: it has no key and starts nothing by itself."""
    return Event(
        key=None,
        fact=Fact.SNAPSHOT,
        change=Change.EDITED,
        thread=site.thread,
        label=site.label,
        object_id=site.thread.number,
        place=Place(at_ms=snapshot.updated_at_ms, fact=Fact.SNAPSHOT, number=site.thread.number),
        updated_at_ms=snapshot.updated_at_ms,
        actor=actor,
        url=url,
        title=snapshot.title,
        snapshot=snapshot,
    )


def needs_reading(event: Event) -> bool:
    """Whether the body names us, so that its commands must be read. Cheap."""
    return control.mentions(event.body)


def with_reading(event: Event) -> Event:
    """The event with the commands in its body read, if it names us. Pathological Markdown takes half a second."""
    if not needs_reading(event):
        return event
    return replace(event, reading=control.read(event.body))


def _text_event(site: Site, said: Said, change: Change, key: EventKey, at_ms: int) -> Event:
    return Event(
        key=key,
        fact=said.fact,
        change=change,
        thread=site.thread,
        label=site.label,
        object_id=said.id,
        place=Place(at_ms=at_ms, fact=said.fact, number=said.id),
        updated_at_ms=said.updated_at_ms,
        actor=said.author,
        body=said.body,
        body_sha256=keys.body_digest(said.body),
        url=said.url,
        title=site.title,
        snapshot=site.snapshot,
    )
