"""Which notices for the operator are worth a message: a like one only after a while, and so many in all; pure."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum

FINGERPRINT_CHARACTERS = 300
FINGERPRINTS_MAX = 1_000
"""So many are remembered; the one whose last message is the oldest is forgotten first, and its count with it."""

_VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[a-z0-9]{20,}|[0-9]+", re.ASCII | re.IGNORECASE
)
"""What differs between two tellings of one thing: UUIDs, long identifiers, numbers."""


class Held(StrEnum):
    """Why a notice gets no message of its own."""

    REPEATED = "repeated"
    """A like one waits, or was sent within the window; the next like one tells how many were held."""
    OVER_BUDGET = "over-budget"
    """The window's messages are used up; the first message of the next window tells how many were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduping:
    """How much is told."""

    window_s: float = 600.0
    sends_max: int = 20
    """So many messages in one window, which begins with its first."""


@dataclass(slots=True)
class _Seen:
    sent_at: float | None = None
    waits: bool = False
    held: int = 0


@dataclass(frozen=True, slots=True)
class Ticket:
    """A notice that is to be sent; it ends with `sent` or `dropped`, once."""

    seen: _Seen
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaid:
    """What a message has to tell beside its text."""

    held: int = 0
    """Like notices since the last message."""
    left_out: int = 0
    """Others, in windows before this one."""

    @property
    def text(self) -> str:
        """In words, to be put behind the message's; empty where there is nothing to tell."""
        lines = ""
        if self.held:
            lines += f"\n(more like this held back: {self.held})"
        if self.left_out:
            lines += f"\n(other notices left out: {self.left_out})"
        return lines


class Dedupe:
    """Judges notices as they come. Readings `now` are of one monotonic clock, in seconds. One thread at a time."""

    __slots__ = ("_admitted", "_began_at", "_deduping", "_left_out", "_owed", "_seen", "_window")

    def __init__(self, deduping: Deduping) -> None:
        self._deduping = deduping
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._window = 0
        self._began_at: float | None = None
        self._admitted = 0
        self._left_out = 0
        self._owed = 0

    def admit(self, key: str, now: float) -> Ticket | Held:
        """A ticket for a notice with this fingerprint that is to be sent; else why it is held, and it is counted."""
        self._enter_window(now)
        seen = self._seen.get(key)
        if seen is not None and self._is_told(seen, now):
            seen.held += 1
            return Held.REPEATED
        if self._admitted >= self._deduping.sends_max:
            self._left_out += 1
            return Held.OVER_BUDGET
        seen = self._seen.setdefault(key, _Seen())
        self._seen.move_to_end(key)
        if len(self._seen) > FINGERPRINTS_MAX:
            self._seen.popitem(last=False)
        seen.waits = True
        self._admitted += 1
        return Ticket(seen, self._window)

    def unsaid(self, ticket: Ticket) -> Unsaid:
        """What the message is to tell if it is sent now."""
        return Unsaid(held=ticket.seen.held, left_out=self._owed)

    def sent(self, ticket: Ticket, told: Unsaid, now: float) -> None:
        """The message was sent, and told this."""
        ticket.seen.waits, ticket.seen.sent_at = False, now
        ticket.seen.held -= told.held
        self._owed -= told.left_out

    def dropped(self, ticket: Ticket) -> None:
        """The message was never sent: the next like notice is not held for its sake, and its place is free again."""
        ticket.seen.waits = False
        if ticket.window == self._window:
            self._admitted -= 1

    def _enter_window(self, now: float) -> None:
        if self._began_at is None or now - self._began_at >= self._deduping.window_s:
            self._began_at, self._window, self._admitted = now, self._window + 1, 0
            self._owed, self._left_out = self._owed + self._left_out, 0

    def _is_told(self, seen: _Seen, now: float) -> bool:
        return seen.waits or (seen.sent_at is not None and now - seen.sent_at < self._deduping.window_s)


def fingerprint(text: str, topic: str | None = None, about: str | None = None) -> str:
    """The same for notices of one topic about one thing that differ in numbers and identifiers alone, or only far behind."""
    return "\n".join((topic or "", about or "", _VARYING.sub("#", text)[:FINGERPRINT_CHARACTERS]))
