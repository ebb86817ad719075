"""Reads request bodies within bounds: of one body, of all bodies together, and of time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.types import Receive

from webhook.refusals import Fault, Refusal, Rejected, Trouble, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """`body_bytes_max` bounds one body, `in_flight_bytes_max` all that are under way, `body_s` how long one may take."""

    body_bytes_max: int = 25 * 1024 * 1024
    in_flight_bytes_max: int = 64 * 1024 * 1024
    body_s: float = 10.0


@dataclass(slots=True)
class InFlight:
    """Counts the bytes of all bodies under way; belongs to one event loop."""

    limits: BodyLimits
    byte_count: int = 0


@dataclass(slots=True)
class Body:
    """One body while it comes and as long as it is looked at; what it takes of the common bound is given back once."""

    in_flight: InFlight
    _byte_count: int = 0
    _chunks: list[bytes] = field(default_factory=list)

    async def read(self, receive: Receive) -> bytes | Refusal:
        """The whole body, or why it is not read to its end."""
        limits = self.in_flight.limits
        try:
            async with asyncio.timeout(limits.body_s):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return Rejected(400, Fault.BODY_INCOMPLETE)
                    refusal = self._take(message.get("body", b""))
                    if refusal is not None:
                        return refusal
                    more = message.get("more_body", False)
        except TimeoutError:
            return Rejected(408, Fault.BODY_LATE)
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def release(self) -> None:
        """Let go of the body. Safe to repeat."""
        self.in_flight.byte_count -= self._byte_count
        self._byte_count = 0
        self._chunks.clear()

    def _take(self, chunk: bytes) -> Refusal | None:
        limits = self.in_flight.limits
        if self._byte_count + len(chunk) > limits.body_bytes_max:
            return Rejected(413, Fault.TOO_LARGE)
        if self.in_flight.byte_count + len(chunk) > limits.in_flight_bytes_max:
            return Unavailable(Trouble.BODIES)
        self._byte_count += len(chunk)
        self.in_flight.byte_count += len(chunk)
        if chunk:
            self._chunks.append(chunk)
        return None
