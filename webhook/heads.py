"""What the headers of a delivery say, as far as we read them; none of them is signed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from webhook.refusals import Fault, Rejected

_EVENT_NAME = re.compile(rb"[a-z_]{1,64}")
_DELIVERY_ID = re.compile(rb"[!-~]{1,100}")
_CONTENT_TYPES = (b"application/json", b"application/x-www-form-urlencoded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The headers of one request.

    `event_name` and `delivery_id` are None where they are missing or are no such thing, `content_length` where the
    length is not told in advance.
    """

    event_name: str | None
    delivery_id: str | None
    content_type: str
    content_length: int | None
    signature: bytes | None
    sha1_signature: bytes | None
    enterprise_host: str | None


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Read headers as ASGI gives them, with names in small letters. Never raises, whatever they hold."""
    by_name = dict(headers)
    length = by_name.get(b"content-length", b"")
    host = by_name.get(b"x-github-enterprise-host")
    return Head(
        event_name=_matching(_EVENT_NAME, by_name.get(b"x-github-event")),
        delivery_id=_matching(_DELIVERY_ID, by_name.get(b"x-github-delivery")),
        content_type=by_name.get(b"content-type", b"").decode("latin-1"),
        content_length=int(length) if length.isdigit() else None,
        signature=by_name.get(b"x-hub-signature-256"),
        sha1_signature=by_name.get(b"x-hub-signature"),
        enterprise_host=None if host is None else host.decode("latin-1"),
    )


def unfit_to_read(head: Head, body_bytes_max: int) -> Rejected | None:
    """Why the body need not even be read, or None."""
    if head.content_type.partition(";")[0].strip().lower().encode("latin-1") not in _CONTENT_TYPES:
        return Rejected(415, Fault.CONTENT_TYPE)
    if head.content_length is not None and head.content_length > body_bytes_max:
        return Rejected(413, Fault.TOO_LARGE)
    return None


def unnamed(head: Head) -> Rejected:
    """What is missing for a signed body to be a delivery."""
    if head.event_name is None:
        return Rejected(400, Fault.EVENT_HEADER, "X-GitHub-Event is missing or no event's name")
    return Rejected(400, Fault.DELIVERY_HEADER, "X-GitHub-Delivery is missing, too long or not of visible ASCII")


def _matching(pattern: re.Pattern[bytes], value: bytes | None) -> str | None:
    return value.decode("ascii") if value is not None and pattern.fullmatch(value) else None
