"""What `issues` and `pull_request` have in common: the item closed, or its state is to be noted."""

from __future__ import annotations

from domain.model import Event, Snapshot
from githubapi import events, objects
from githubapi.fields import Fields
from webhook.payloads.origin import site


def read_item(payload: Fields, host: str, item: Fields, snapshot: Snapshot) -> Event:
    """The closing of the item where the action is `closed`, else its state as the payload shows it."""
    where = site(payload, host, item.id("number"), snapshot)
    sender = objects.named_account(payload, "sender")
    url = item.text("html_url")
    if payload.text("action") == "closed":
        return events.closed(where, snapshot, sender, item.time_ms("closed_at"), url)
    return events.noted(where, snapshot, sender, url)
