"""How a full store is taken up again: `python -m benchmarks.restart` kills the service and times its return.

Ten thousand comments over fifty items are accepted and none is carried out; after kill -9 the service starts on the
same store, with a stand-in harness, and every comment has to reach an agent once.
"""

from __future__ import annotations

import collections
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from domain.model import Event
from service.clock import SystemClock
from tests.fakes.core import comment, delivery
from tests.fakes.service_in_process import ServiceInProcess, texts_in, thread

ITEMS = 50
EVENTS = 10_000
LIMIT_S = 300.0


def main() -> None:
    """Measure and print, or be the process that is killed."""
    if len(sys.argv) > 1:
        accept(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks.restart", name], stdout=subprocess.PIPE, text=True
        ) as first:
            assert first.stdout is not None
            first.stdout.readline()
            first.kill()
        take_up(folder)


def accept(folder: Path) -> None:
    """Take all events in, with nobody to carry them out, and wait for the end."""
    service = serving(folder)
    service._spawn("committer", service.core.committer.run)
    for event in events():
        service.core.dispatcher.handle(event, delivery())
    print("accepted", flush=True)
    sys.stdin.read()


def take_up(folder: Path) -> None:
    """Start on what is there, and wait until every event is carried out."""
    begin = time.perf_counter()
    with serving(folder) as service:
        ready_s = time.perf_counter() - begin
        while open_events(service):
            assert time.perf_counter() - begin < LIMIT_S, f"{open_events(service)} events are still open"
            time.sleep(0.05)
        done_s = time.perf_counter() - begin
        prompts = list(service.harness.prompts)
        fates = service.rows("SELECT fate, outcome, count(*) FROM fates GROUP BY fate, outcome")
    heard = collections.Counter(text for prompt in prompts for text in texts_in(prompt.text))
    once = sum(heard[event.body] == 1 for event in events() if "comment" in event.body)
    print(f"ready after {ready_s:.2f} s, all carried out after {done_s:.1f} s in {len(prompts)} turns")
    print(f"comments that reached an agent exactly once: {once} of {EVENTS - ITEMS}; fates {fates}")


def open_events(service: ServiceInProcess) -> int:
    """How many events are still on their way."""
    ((count,),) = service.rows("SELECT count(*) FROM fates WHERE fate = 'inflight'")
    return int(count)


def events() -> list[Event]:
    """A start for each item, then comments on all of them in turn."""
    starts = [comment(number, "the-loop start", thread=thread(number)) for number in range(1, ITEMS + 1)]
    numbers = range(ITEMS + 1, EVENTS + 1)
    return starts + [comment(n, f"comment {n}", thread=thread(n % ITEMS + 1)) for n in numbers]


def serving(folder: Path) -> ServiceInProcess:
    """The service on that folder."""
    return ServiceInProcess(folder, clock=SystemClock(), emit=lambda _: None)


if __name__ == "__main__":
    main()
