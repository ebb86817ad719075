"""Reads `issue_comment`: a comment on the thread of an issue or a pull request."""

from __future__ import annotations

from domain.model import Event, PassReason
from githubapi import events, objects, texts
from githubapi.fields import Fields
from webhook.payloads.origin import site
from webhook.payloads.results import Passed


def read(payload: Fields, host: str) -> Event | Passed:
    """A comment that was created or deleted."""
    action = payload.text("action")
    if action not in ("created", "deleted"):
        return Passed(PassReason.NOT_FOR_US)
    issue = payload.part("issue")
    where = site(payload, host, issue.id("number"), objects.issue_snapshot(issue))
    said = texts.comment(payload.part("comment"))
    if action == "deleted":
        return events.deleted(where, said, objects.named_account(payload, "sender"))
    return events.created(where, said) or Passed(PassReason.NOT_FOR_US)
