"""How well the places for sessions are used: `python -m benchmarks.places` sends many items through four of them.

Every item is started at once and works for one turn of a fixed length; whatever a place does beside such a turn while
items wait counts as idle.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

from domain.model import TurnId
from service.clock import SystemClock
from sessions.host.protocol import HandState
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Host, Manner
from tests.fakes.service_in_process import ServiceInProcess, thread

ITEMS = 1_000
PLACES = 4
TURN_S = 0.5
LIMIT_S = 900.0


class WorkingHarness(StandInHarness):
    """Agents that work for a fixed time on each turn."""

    def __init__(self) -> None:
        super().__init__()
        self.manner = Manner(ends=False)
        self.all_done = threading.Event()
        self._begun_s: dict[TurnId, float] = {}
        self.worked_s = 0.0
        self.turns = 0

    def hand(self, host: Host, turn_id: TurnId, text: str, timeout_s: float) -> HandState:
        """Begin to work."""
        begun_s = time.perf_counter()
        state = super().hand(host, turn_id, text, timeout_s)
        if turn_id not in self._begun_s and host.running_id == turn_id:
            self._begun_s[turn_id] = begun_s
            timer = threading.Timer(TURN_S, self._end, (host, turn_id))
            timer.daemon = True
            timer.start()
        return state

    def _end(self, host: Host, turn_id: TurnId) -> None:
        self.worked_s += time.perf_counter() - self._begun_s[turn_id]
        self.turns += 1
        self.finish(host.order.item_id)
        if self.turns == items_wanted():
            self.all_done.set()


def main() -> None:
    """Measure and print."""
    harness, items = WorkingHarness(), items_wanted()
    with tempfile.TemporaryDirectory() as folder:
        sessions = {"max_live": PLACES}
        with ServiceInProcess(
            Path(folder), harness=harness, clock=SystemClock(), sessions=sessions, emit=lambda _: None
        ) as service:
            begin = time.perf_counter()
            for number in range(1, items + 1):
                service.arrive(comment(number, "the-loop start", thread=thread(number)))
            assert harness.all_done.wait(LIMIT_S), f"{harness.turns} of {items} turns ended in time"
            took_s = time.perf_counter() - begin
    idle = 1 - harness.worked_s / (PLACES * took_s)
    between_ms = (PLACES * took_s - harness.worked_s) / items * 1000
    print(
        f"{items} items through {PLACES} places, turns of {TURN_S * 1000:.0f} ms: {took_s:.1f} s,"
        f" places idle {idle:.1%}, {between_ms:.1f} ms from one turn to the next item's"
    )


def items_wanted() -> int:
    """How many items are sent; fewer for a quick look."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS


if __name__ == "__main__":
    main()
