"""Faults on order: what can go wrong between a client and a Bot API server, so many times or until it is lifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.bot_api.answers import Refusal


@dataclass(frozen=True, slots=True)
class DropUnread:
    """The connection is reset when the method is known: the body is not looked at and nothing happens."""


@dataclass(frozen=True, slots=True)
class DropUnanswered:
    """The request takes effect, and the connection is closed without an answer."""


@dataclass(frozen=True, slots=True)
class DropHalfway:
    """The request takes effect, and the connection is closed in the middle of the answer's body."""


@dataclass(frozen=True, slots=True)
class Hang:
    """The request is read and nothing happens, not even an answer; the connection is closed when it is released."""


@dataclass(frozen=True, slots=True)
class Slow:
    """The request takes effect at once and is answered when it is released."""


@dataclass(frozen=True, slots=True)
class Trickle:
    """The request takes effect, and the body of the answer comes byte by byte, with real time between them."""

    interval_s: float = 0.02


@dataclass(frozen=True, slots=True)
class NotJson:
    """Something in front of the server answers instead of it; nothing happens."""

    status: int = 502
    text: str = "<html><h1>502 Bad Gateway</h1></html>"


@dataclass(frozen=True, slots=True)
class Oversized:
    """The request takes effect, and spaces make its answer this long. Unannounced, the length shows only at the end."""

    body_bytes: int = 2 * 2**20
    is_announced: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """A success with a result of the test's own, and nothing happens."""

    result: Any


Silent = DropUnread | Hang
Spoken = DropUnanswered | DropHalfway | Slow | Trickle | NotJson | Oversized | Result | Refusal
Fault = Silent | Spoken
KINDS: Mapping[str, type[Fault]] = {
    kind.__name__: kind
    for kind in (
        DropUnread,
        DropUnanswered,
        DropHalfway,
        Hang,
        Slow,
        Trickle,
        NotJson,
        Oversized,
        Result,
        Refusal,
    )
}


@dataclass(slots=True, eq=False)
class Armed:
    """A fault in wait: `left` is how often it strikes yet (None: until it is lifted), `struck` how often it did."""

    fault: Fault
    left: int | None
    struck: int = 0


@dataclass(frozen=True, slots=True)
class Struck:
    """What befalls one request (None: nothing), and how many releases there had been by then."""

    fault: Fault | None
    releases: int


class Faults:
    """Faults by method, struck in the order in which they were armed."""

    def __init__(self) -> None:
        self._armed: dict[str, list[Armed]] = {}
        self._releases = 0

    def arm(self, method: str, fault: Fault, times: int | None) -> Armed:
        armed = Armed(fault, times)
        self._armed.setdefault(method.lower(), []).append(armed)
        return armed

    def strike(self, method: str) -> Struck:
        """The fault for this request, used up by one."""
        waiting = self._armed.get(method.lower())
        if not waiting:
            return Struck(None, self._releases)
        armed = waiting[0]
        armed.struck += 1
        if armed.left is not None:
            armed.left -= 1
            if armed.left == 0:
                waiting.remove(armed)
        return Struck(armed.fault, self._releases)

    def lift(self, method: str | None = None) -> None:
        """Nothing is wrong any more with this method, or with any; what is held goes on."""
        if method is None:
            self._armed.clear()
        else:
            self._armed.pop(method.lower(), None)
        self.release()

    def release(self) -> None:
        """Let go on what hangs or is slow now; the next ones are held again."""
        self._releases += 1

    def is_released(self, struck: Struck) -> bool:
        return struck.releases != self._releases
