"""Knows our own comments when they come back, on whichever road: they are receipts, never input."""

from __future__ import annotations

from dataclasses import replace

from domain.marker import Sealer, read_marker
from domain.model import Account, Event, PassReason
from statedb import reading
from statedb.rows import EchoRow
from webhook.batch import Batch


def own_words(state: Batch, event: Event, own_id: int | None, sealer: Sealer) -> PassReason | None:
    """Our own comment coming back: the receipt of its part. Without a marker, or copied, it is a person's.

    `own_id` is None as long as GitHub has not said which account is ours: then a sealed marker alone is the proof.
    """
    if not isinstance(event.actor, Account) or (own_id is not None and event.actor.id != own_id):
        return None
    marker = read_marker(event.body)
    if marker is not None and own_id is not None and marker.instance != sealer.instance:
        return _another_instance(state, event, marker.instance)
    sealed = marker is not None and sealer.is_ours(marker, event.thread)
    part = reading.part_of_ours(
        state.connection,
        event.object_id,
        marker.reply_id if marker and sealed else None,
        marker.part if marker else 0,
    )
    if part is None or (part.provider_id is not None and part.provider_id != event.object_id):
        return None
    if part.is_open:
        echo = EchoRow(reply_id=part.reply_id, part=part.part, provider_id=event.object_id, url=event.url)
        state.rows.echoes.append(echo)
    return PassReason.SELF_AUTHORED


def _another_instance(state: Batch, event: Event, instance: str) -> PassReason:
    """Another the-loop posts with our account: a start is held back for a while."""
    item = state.claim_item(event)
    if event.place.at_ms >= (item.other_instance_at_ms or 0):
        state.put_item(replace(item, other_instance=instance, other_instance_at_ms=event.place.at_ms))
    return PassReason.SELF_AUTHORED
