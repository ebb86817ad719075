"""Nothing acknowledged is lost: a process killed in the middle of committing has on disk whatever it said yes to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from domain.model import EventKey
from statedb.reading import fates_of
from tests.fakes.dispatching import Dispatching

ROOT = Path(__file__).parents[3]
ACKNOWLEDGING = """
import sys, threading
from pathlib import Path
from tests.fakes.core import comment, delivery
from tests.fakes.dispatching import Dispatching
from webhook.dispatcher import Dispatcher

def accept(dispatcher: Dispatcher, first: int) -> None:
    for number in range(first, 1_000_000, 4):
        handled = dispatcher.handle(comment(number), delivery())
        sys.stdout.write(f"{handled.event_key}\\n")
        sys.stdout.flush()

dispatching = Dispatching(Path(sys.argv[1]))
dispatching.start()
for first in range(1, 5):
    threading.Thread(target=accept, args=(dispatching.dispatcher, first)).start()
"""


@pytest.mark.parametrize("acknowledged", [1, 40, 200])
def test_every_event_that_was_acknowledged_before_a_kill_is_on_disk(tmp_path: Path, acknowledged: int) -> None:
    keys = acknowledged_until_killed(tmp_path, acknowledged)
    with Dispatching(tmp_path) as restarted:
        reader = restarted.database.reader()
        kept = set(fates_of(reader, keys))
        events = {key for (key,) in reader.execute("SELECT event_key FROM events")}
        fated = {key for (key,) in reader.execute("SELECT event_key FROM fates")}
    assert set(keys) <= kept
    assert events == fated, "an event without a fate, or a fate without its event"
    assert len(keys) >= acknowledged


def acknowledged_until_killed(folder: Path, count: int) -> list[EventKey]:
    """Let a process accept events on four threads, kill it after so many yeses, and give back all it said yes to."""
    process = subprocess.Popen(
        [sys.executable, "-c", ACKNOWLEDGING, str(folder)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process, process.stdout:
        said = [process.stdout.readline() for _ in range(count)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL, "it ended by itself"
    return [EventKey(line.strip()) for line in said if line.endswith("\n")]
