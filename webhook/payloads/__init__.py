"""The shelf of payload readers, one file for each GitHub event, and the one table that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from domain.model import Event, PassReason
from githubapi.fields import Fields, JsonObject
from webhook.payloads import (
    issue_comment,
    issues,
    ping,
    pull_request,
    pull_request_review,
    pull_request_review_comment,
)
from webhook.payloads.results import Passed, Pong

Result = Event | Passed | Pong
Reader = Callable[[Fields, str], Result]

_ABOUT_WORK: dict[str, Reader] = {
    "issue_comment": issue_comment.read,
    "issues": issues.read,
    "pull_request": pull_request.read,
    "pull_request_review": pull_request_review.read,
    "pull_request_review_comment": pull_request_review_comment.read,
}

READERS: Mapping[str, Reader] = MappingProxyType({**_ABOUT_WORK, "ping": ping.reader(_ABOUT_WORK)})
"""GitHub's event names and who reads them; whatever stands here but `ping`, a hook must send."""


def read(event_name: str, payload: JsonObject, host: str) -> Result:
    """What a delivery from `host` states. Its commands are not read yet: see `githubapi.events.with_reading`.

    Raises `Malformed` where a field that we read is missing, of another type or out of range, or where the payload's
    repository lies on another host. What we do not read may have any shape.
    """
    reader = READERS.get(event_name)
    if reader is None:
        return Passed(PassReason.NOT_FOR_US)
    return reader(Fields(payload), host)
