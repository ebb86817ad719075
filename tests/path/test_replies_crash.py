"""A publisher killed before any of its calls: restarted, it makes exactly one visible comment."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from domain.marker import read_marker
from service.demo.github.faults import Trouble
from tests.fakes.publishing import START_MS, HandClock, Hub, Store

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0
APART_MS = 3 * 3600 * 1000
"""From the beginning of one process to that of the next: longer than each publishes."""

CALLS = 6
"""Where all is well: the record, the first sweep, the claim, that it may leave, the post, the conclusion."""
CALLS_IN_DOUBT = 9
"""And where the answer was lost: the claim of the question, the question, its conclusion."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        yield hub


@dataclass(slots=True)
class Processes:
    """One publisher after the other on the same store."""

    hub: Hub
    folder: Path
    start_ms: int = field(init=False)

    def __post_init__(self) -> None:
        self.start_ms = round(self.hub.stand_in.now().timestamp() * 1000)

    def run(self, fatal_call: int = 0) -> int:
        """Its exit status."""
        thread = self.hub.thread
        arguments = [self.folder, self.hub.stand_in.base_url, thread.repository_id, thread.number, self.start_ms]
        self.start_ms += APART_MS
        done = subprocess.run(
            [sys.executable, "-m", "tests.fakes.publishing_process", *map(str, arguments), str(fatal_call)],
            cwd=ROOT,
            timeout=LIMIT_S,
            check=False,
        )
        return done.returncode


def assert_one_comment(hub: Hub, folder: Path) -> None:
    assert hub.comments() == ["Done."]
    assert [read_marker(body) is not None for _, body in hub.bodies()] == [True]
    with Store(folder, HandClock(START_MS)) as store:
        assert store.rows("SELECT state, provider_id FROM reply_parts") == [("delivered", hub.ids()[0])]


@pytest.mark.parametrize("fatal_call", range(1, CALLS + 1))
def test_100_a_publisher_killed_before_any_call_leaves_one_comment(hub: Hub, tmp_path: Path, fatal_call: int) -> None:
    processes = Processes(hub, tmp_path)
    assert [processes.run(fatal_call), processes.run()] == [-signal.SIGKILL, 0]
    assert_one_comment(hub, tmp_path)


@pytest.mark.parametrize("fatal_call", range(CALLS, CALLS_IN_DOUBT + 1))
@pytest.mark.parametrize("trouble", [Trouble.COMMIT_THEN_ERROR, Trouble.ERROR], ids=str)
def test_100_a_publisher_killed_while_in_doubt_leaves_one_comment(
    hub: Hub, tmp_path: Path, trouble: Trouble, fatal_call: int
) -> None:
    hub.stand_in.fault(trouble, "POST", "*/comments")
    processes = Processes(hub, tmp_path)
    assert [processes.run(fatal_call), processes.run()] == [-signal.SIGKILL, 0]
    assert_one_comment(hub, tmp_path)


def test_the_calls_that_a_publisher_makes_are_those_before_which_it_was_killed(hub: Hub, tmp_path: Path) -> None:
    assert [hub.posts(), Processes(hub, tmp_path).run(CALLS)] == [0, -signal.SIGKILL]
    assert hub.posts() == 1


@pytest.mark.crash
@pytest.mark.parametrize(
    "trouble", [None, Trouble.COMMIT_THEN_ERROR, Trouble.COMMIT_THEN_RESET, Trouble.ERROR], ids=str
)
@pytest.mark.parametrize("second_call", range(2, 11))
@pytest.mark.parametrize("first_call", range(2, 10))
def test_100_a_publisher_killed_twice_leaves_one_comment(
    hub: Hub, tmp_path: Path, trouble: Trouble | None, first_call: int, second_call: int
) -> None:
    if trouble is not None:
        hub.stand_in.fault(trouble, "POST", "*/comments")
    processes = Processes(hub, tmp_path)
    statuses = [processes.run(first_call), processes.run(second_call), processes.run()]
    assert set(statuses) <= {-signal.SIGKILL, 0}
    assert statuses[-1] == 0
    assert_one_comment(hub, tmp_path)
