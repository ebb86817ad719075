"""Reads `pull_request`: what happens to a pull request itself."""

from __future__ import annotations

from domain.model import Event, PassReason
from githubapi import objects
from githubapi.fields import Fields
from webhook.payloads import issues
from webhook.payloads.item import read_item
from webhook.payloads.results import Passed

ACTIONS = issues.ACTIONS | {"converted_to_draft", "ready_for_review", "synchronize"}
"""Those after which the pull request's own state is worth noting."""


def read(payload: Fields, host: str) -> Event | Passed:
    """A pull request that closed or was merged, or its state after another action."""
    if payload.text("action") not in ACTIONS:
        return Passed(PassReason.NOT_FOR_US)
    pull = payload.part("pull_request")
    return read_item(payload, host, pull, objects.pull_snapshot(pull))
