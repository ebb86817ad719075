"""Reads `pull_request_review_comment`: a comment at a line of a pull request's change."""

from __future__ import annotations

from domain.model import Event, PassReason
from githubapi import events, objects, texts
from githubapi.fields import Fields
from webhook.payloads.origin import site
from webhook.payloads.results import Passed


def read(payload: Fields, host: str) -> Event | Passed:
    """An inline comment that was created or deleted."""
    action = payload.text("action")
    if action not in ("created", "deleted"):
        return Passed(PassReason.NOT_FOR_US)
    pull = payload.part("pull_request")
    where = site(payload, host, pull.id("number"), objects.pull_snapshot(pull))
    comment = payload.part("comment")
    said = texts.inline(comment)
    anchor = texts.anchor(comment)
    if action == "deleted":
        return events.deleted(where, said, objects.named_account(payload, "sender"), anchor)
    return events.created(where, said, anchor) or Passed(PassReason.NOT_FOR_US)
