"""Reads `pull_request_review`: a review of a pull request, with a text of its own or none."""

from __future__ import annotations

from domain.model import Event, PassReason
from githubapi import events, objects, texts
from githubapi.fields import Fields
from webhook.payloads.origin import site
from webhook.payloads.results import Passed


def read(payload: Fields, host: str) -> Event | Passed:
    """A review that was submitted."""
    if payload.text("action") != "submitted":
        return Passed(PassReason.NOT_FOR_US)
    pull = payload.part("pull_request")
    where = site(payload, host, pull.id("number"), objects.pull_snapshot(pull))
    review = payload.part("review")
    said = texts.review(review)
    if said is None:
        raise review.refuse("submitted_at", "is missing")
    return events.created(where, said, review_state=texts.review_state(review)) or Passed(PassReason.NOT_FOR_US)
