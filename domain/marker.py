"""The last line of everything that we post: by it our own comment is known again, and can be nobody else's."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from domain.model import Thread

_LINE = re.compile(r"<!-- the-loop:1 ([0-9a-f]{8,32}) ([0-9a-f]{16,32}) (\d{1,4}) ([0-9a-f]{24}) -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What a marker says: which part of which reply, by which instance of the-loop; `seal` proves that we wrote it."""

    instance: str
    reply_id: str
    part: int
    seal: str


@dataclass(frozen=True, slots=True)
class Sealer:
    """Makes and checks the markers of one instance. `secret` never leaves the machine."""

    instance: str
    secret: bytes

    def line(self, reply_id: str, part: int, thread: Thread) -> str:
        """The marker's line for a part that is to stand on that thread."""
        return f"<!-- the-loop:1 {self.instance} {reply_id} {part} {self._seal(reply_id, part, thread)} -->"

    def is_ours(self, marker: Marker, thread: Thread) -> bool:
        """Whether this instance made the marker for this thread: a copy on another thread is text."""
        expected = self._seal(marker.reply_id, marker.part, thread)
        return marker.instance == self.instance and hmac.compare_digest(expected, marker.seal)

    def _seal(self, reply_id: str, part: int, thread: Thread) -> str:
        said = f"{self.instance} {reply_id} {part} {thread.host} {thread.repository_id} {thread.number}"
        return hmac.new(self.secret, said.encode(), hashlib.sha256).hexdigest()[:24]


def read_marker(body: str) -> Marker | None:
    """The marker on the last line of a text; anywhere else, as in a quote, it is text."""
    lines = body.rstrip().rsplit("\n", 1)
    match = _LINE.fullmatch(lines[-1].strip())
    if match is None:
        return None
    return Marker(instance=match[1], reply_id=match[2], part=int(match[3]), seal=match[4])


def without_markers(text: str) -> str:
    """A text with everything that looks like a marker taken out, also what only comes to light by it."""
    while (cleaned := _LINE.sub("", text)) != text:
        text = cleaned
    return text
