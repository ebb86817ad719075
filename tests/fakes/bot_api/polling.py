"""Long polls: who waits, what wakes them, and the conflicts that end them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes.bot_api.answers import OTHER_POLL, WEBHOOK_IS_ACTIVE, Refusal, Refused
from tests.fakes.bot_api.gate import Gate
from tests.fakes.bot_api.parameters import Parameters
from tests.fakes.bot_api.updates import Asked, Pace, Update, UpdateQueue

TIMEOUT_S_MAX = 50
CONFLICT_DELAY_S = 3.0


@dataclass(slots=True, eq=False)
class _Waiting:
    """A long poll in flight. `is_gone` tells whether its client has hung up."""

    offset: int
    is_gone: Callable[[], bool]
    end: Refusal | None = None
    end_at_s: float = 0.0


class Polling:
    """The one long poll that a bot may have. `is_pacing` false switches off what waits or shrinks for impatience."""

    def __init__(self, gate: Gate, queue: UpdateQueue) -> None:
        self.is_pacing = True
        self._gate = gate
        self._queue = queue
        self._pace = Pace()
        self._waiting: _Waiting | None = None
        self._quiet_until_s = 0.0

    @property
    def waiting_offset(self) -> int | None:
        """The offset of the long poll that waits; None: there is none whose client is still there."""
        return None if self._waiting is None or self._waiting.is_gone() else self._waiting.offset

    def get_updates(self, parameters: Parameters, is_webhook_set: bool, is_gone: Callable[[], bool]) -> list[Update]:
        """Waits as long as the caller asked; raises Refused when something ends the wait."""
        with self._gate:
            if is_webhook_set:
                self._conflict_now(WEBHOOK_IS_ACTIVE)
            self.end(OTHER_POLL)
            self._queue.allow(parameters.structure("allowed_updates"))
            asked = self._read(parameters)
            updates = self._queue.take(asked.offset, asked.limit, self._now_s())
            if not updates and asked.timeout_s:
                self._wait(asked, is_gone)
                updates = self._queue.take(asked.offset, asked.limit, self._now_s())
            return updates

    def end(self, refusal: Refusal) -> None:
        """End the long poll in flight, if there is one; where nobody waits for the answer, it is no conflict."""
        with self._gate:
            if self._waiting is not None:
                self._waiting.end = refusal
                self._waiting.end_at_s = 0.0 if self._waiting.is_gone() else self._answer_time_s(refusal)
            self._waiting = None

    def _read(self, parameters: Parameters) -> Asked:
        asked = Asked(
            offset=parameters.integer("offset"),
            limit=parameters.within("limit", 100, 1, 100),
            timeout_s=parameters.within("timeout", 0, 0, TIMEOUT_S_MAX),
        )
        return self._pace.applied(asked, self._now_s()) if self.is_pacing else asked

    def _wait(self, asked: Asked, is_gone: Callable[[], bool]) -> None:
        mine = self._waiting = _Waiting(asked.offset, is_gone)
        self._gate.wake()
        until_s = self._now_s() + asked.timeout_s
        self._gate.wait_until(lambda: mine.end is not None or self._queue.has_any(asked.offset, self._now_s()), until_s)
        if mine.end is not None:
            self._gate.wait_until(lambda: False, mine.end_at_s)
            raise Refused(mine.end)
        if self._waiting is mine:
            self._waiting = None

    def _conflict_now(self, refusal: Refusal) -> None:
        self._gate.wait_until(lambda: False, self._answer_time_s(refusal))
        raise Refused(refusal)

    def _answer_time_s(self, refusal: Refusal) -> float:
        """A conflict soon after another one is told late."""
        now_s = self._now_s()
        if refusal.status != 409 or not self.is_pacing:
            return now_s
        if now_s < self._quiet_until_s:
            return now_s + CONFLICT_DELAY_S
        self._quiet_until_s = now_s + CONFLICT_DELAY_S
        return now_s

    def _now_s(self) -> float:
        return self._gate.clock.now_s()
