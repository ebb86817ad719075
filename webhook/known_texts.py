"""What we know of the texts that events are about: which version is the newest, and what an event is against it."""

from __future__ import annotations

from dataclasses import replace

from domain.decision import Decision, Replace, Settle
from domain.keys import text_key
from domain.model import TEXT_FACTS, Change, Event, EventKey
from domain.policy import Authorities, View
from statedb.rows import FateRow, ItemRow, TextRow
from webhook.batch import Batch
from webhook.router import verbs_of


def creation_key(event: Event) -> EventKey:
    if event.fact in TEXT_FACTS:
        return text_key(event.thread.host, event.fact, event.object_id)
    return event.key or EventKey("")


def as_known(state: Batch, event: Event) -> Event:
    """The event as it stands against what we know of its text: an edit of an unknown text is its first reading; a text
    that says what we already know is the event that brought it."""
    if event.change is not Change.EDITED:
        return event
    text = state.text_of(event)
    if text is None:
        created = creation_key(event)
        return replace(event, change=Change.CREATED, key=created, edited_unseen=True)
    if text.body_sha256 != event.body_sha256:
        return event
    is_creation = text.event_key == creation_key(event)
    return replace(event, key=text.event_key, change=Change.CREATED if is_creation else Change.EDITED)


def remember(state: Batch, event: Event, key: EventKey, item: ItemRow, decision: Decision) -> None:
    """Keep the newest version of a comment or review; a withdrawal keeps that it is gone."""
    if event.fact not in TEXT_FACTS or isinstance(decision, (Settle, Replace)):
        return
    known = state.text_of(event)
    if known is not None and event.change is not Change.DELETED and _is_newer_or_same(known, event, key):
        return
    if event.change is Change.DELETED:
        known = known or TextRow(
            host=event.thread.host, fact=event.fact, object_id=event.object_id, item_id=item.item_id, event_key=key,
            updated_at_ms=event.updated_at_ms, body_sha256="", verbs=(),
        )  # fmt: skip
        state.put_text(replace(known, deleted_at_ms=state.now_ms))
        return
    state.put_text(
        TextRow(
            host=event.thread.host, fact=event.fact, object_id=event.object_id, item_id=item.item_id, event_key=key,
            updated_at_ms=event.updated_at_ms, body_sha256=event.body_sha256, verbs=verbs_of(event),
        )
    )  # fmt: skip


def _is_newer_or_same(known: TextRow, event: Event, key: EventKey) -> bool:
    """Whether a known version is newer than the event's, or is the event's own; of two edits in a second the later is."""
    if known.updated_at_ms != event.updated_at_ms:
        return known.updated_at_ms > event.updated_at_ms
    return known.event_key == key or event.change is Change.CREATED


def unread(view: View) -> View:
    """The view for an event that claims its own released row: what we read of its text then is no newer version."""
    return view if view.text is None or view.text.is_deleted else replace(view, text=None)


def as_first_read(event: Event, view: View, row: FateRow, authorities: Authorities) -> tuple[Event, View]:
    """The event and its text as they stood at the first decision: a comment that waited meanwhile may have been
    edited by anybody, and no command gets in that way."""
    if row.verb is None and not event.edited_unseen and event.change is Change.CREATED:
        event = replace(event, reading=None)
    if view.text is None:
        return event, view
    is_trusted = authorities.may(event.editor)
    verbs = tuple(verb for verb in verbs_of(event) if is_trusted and verb is not row.verb)
    text = replace(view.text, updated_at_ms=0, body_sha256="", verbs=verbs, is_waiting=False)
    return event, replace(view, text=text)
