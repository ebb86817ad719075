"""Reads `issues`: what happens to an issue itself."""

from __future__ import annotations

from domain.model import Event, PassReason
from githubapi import objects
from githubapi.fields import Fields
from webhook.payloads.item import read_item
from webhook.payloads.results import Passed

ACTIONS = frozenset({"assigned", "closed", "edited", "labeled", "opened", "reopened", "unassigned", "unlabeled"})
"""Those after which the issue's own state is worth noting."""


def read(payload: Fields, host: str) -> Event | Passed:
    """An issue that closed, or its state after another action."""
    if payload.text("action") not in ACTIONS:
        return Passed(PassReason.NOT_FOR_US)
    issue = payload.part("issue")
    return read_item(payload, host, issue, objects.issue_snapshot(issue))
