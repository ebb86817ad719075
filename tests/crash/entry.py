"""A service as `the-loop serve` runs it, whose ports may end it, and whose clock can be put forward (SIGUSR1)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

from domain.model import ItemId
from replies.publisher import Publisher
from service import serve as serving
from service import wiring
from service.clock import SystemClock
from service.ports import Ports, make_ports
from service.settings import load
from service.state_folder import StateFolder
from sessions.clones import Clones
from statedb.committer import Committer
from tests.crash.mortal import Mortality, MortalPort
from tests.crash.points import read_point
from webhook.lanes import Lanes

SKIP_S = 15.0
NOTICE_S = 0.1
NOBODY = ItemId(0)
"""No item has this id: waking it lets the lanes look at the clock, and at nothing else."""


class SkippingClock(SystemClock):
    """The machine's clocks, ahead by what was skipped."""

    def __init__(self, ahead_s: float) -> None:
        self.ahead_s = ahead_s

    def monotonic(self) -> float:
        """As if the skipped time had passed."""
        return super().monotonic() + self.ahead_s

    def wall_ms(self) -> int:
        """As if the skipped time had passed."""
        return super().wall_ms() + round(self.ahead_s * 1000)

    def wait(self, condition: threading.Condition, deadline: float) -> None:
        """Not longer than it takes to notice a skip."""
        condition.wait(min(NOTICE_S, max(0.0, deadline - self.monotonic())))


class Skipper:
    """Puts the clock forward when asked, and lets everyone who waits look at it."""

    def __init__(self, clock: SkippingClock) -> None:
        self.publishers: list[Publisher] = []
        self.lanes: list[Lanes] = []
        self._clock = clock
        self._asked = threading.Semaphore(0)

    def ask(self, *_: object) -> None:
        """As a signal's handler."""
        self._asked.release()

    def run(self) -> None:
        """The body of a thread."""
        while self._asked.acquire():
            self._clock.ahead_s += SKIP_S
            for publisher in self.publishers:
                publisher.wake()
            for lanes in self.lanes:
                lanes.wake_at(NOBODY, 0)


def main() -> int:
    """Serve, and return the exit code."""
    options = _options()
    mortality = Mortality(read_point(options.point) if options.point else None, options.trace)
    clock = SkippingClock(options.ahead_s)
    skipper = Skipper(clock)
    signal.signal(signal.SIGUSR1, skipper.ask)
    for body in (skipper.run, _end_with_parent):
        threading.Thread(target=body, daemon=True).start()
    settings = load(options.config)
    outside = make_ports(settings, StateFolder(settings.state))
    mortal = {field.name: MortalPort(getattr(outside, field.name), field.name, mortality) for field in fields(Ports)}
    with (
        patch.multiple(wiring, **_parts(mortality, skipper)),
        patch.object(serving, "SystemClock", lambda: clock),
    ):
        return serving.serve(settings, Ports(**mortal))  # type: ignore[arg-type]


def _parts(mortality: Mortality, skipper: Skipper) -> dict[str, Any]:
    """What the wiring joins, with the store's transactions, the clones' work and the publisher's steps as calls."""

    class MortalCommitter(Committer[Any, Any]):
        def _transaction(self, jobs: list[Any]) -> None:
            mortality.through("store.transaction", lambda: super(MortalCommitter, self)._transaction(jobs))

    class MortalPublisher(Publisher):
        def step(self) -> float:
            rest_s = super().step()
            # A step that finds nothing to do is no call: how often that happens depends on the machine.
            return rest_s if rest_s > 0 else mortality.through("publisher.step", lambda: rest_s)

    def publisher(*arguments: Any, **named: Any) -> Publisher:
        skipper.publishers.append(MortalPublisher(*arguments, **named))
        return skipper.publishers[-1]

    def lanes(*arguments: Any) -> Lanes:
        skipper.lanes.append(Lanes(*arguments))
        return skipper.lanes[-1]

    def clones(*arguments: Any) -> MortalPort:
        return MortalPort(Clones(*arguments), "clones", mortality)

    return {"Committer": MortalCommitter, "Publisher": publisher, "Lanes": lanes, "Clones": clones}


def _end_with_parent() -> None:
    """A test that was killed leaves no service behind."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--trace", type=Path, required=True, help="where each call is noted")
    parser.add_argument("--point", default="", help="where this process ends")
    parser.add_argument("--ahead-s", type=float, default=0.0, help="how far the clock is ahead already")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
