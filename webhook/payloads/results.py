"""What a payload reader finds besides an event."""

from __future__ import annotations

from dataclasses import dataclass

from domain.model import PassReason


@dataclass(frozen=True, slots=True)
class Passed:
    """The payload is understood and holds nothing for us."""

    reason: PassReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Pong:
    """A hook said hello.

    `missing_events` are those that it does not send although we read them. `content_type` is how it sends, `json` or
    `form` (both are read), None where it did not say.
    """

    missing_events: tuple[str, ...]
    content_type: str | None
