"""Everything that belongs to a session is found by its mark and by descent, and ended; nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sessions import process_tree
from sessions.process_tree import end_marked, find_session
from tests.fakes.session_hosts import is_alive, wait_until

SLEEP = "print(1, flush=True); import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
PARENT = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {!r}], env={{}}).wait()"


@pytest.fixture
def session_id() -> str:
    return f"tree-{os.getpid()}-{os.urandom(4).hex()}"


@pytest.fixture
def started(session_id: str) -> Iterator[object]:
    children: list[subprocess.Popen[bytes]] = []

    def start(program: str, mark: str | None = session_id) -> subprocess.Popen[bytes]:
        environment = {} if mark is None else {"THE_LOOP_SESSION": mark}
        child = subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, start_new_session=True
        )
        children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


@pytest.mark.parametrize("program", [pytest.param(SLEEP, id="willing"), pytest.param(STUBBORN, id="stubborn")])
def test_a_marked_process_is_ended_also_where_it_ignores_the_wish(session_id: str, started, program: str) -> None:
    child = started(program)
    assert end_marked(session_id, grace_s=0.2) == ()
    assert child.wait(timeout=5) != 0


@pytest.mark.parametrize("program", [pytest.param(SLEEP, id="willing"), pytest.param(STUBBORN, id="stubborn")])
def test_an_unmarked_child_of_a_marked_process_is_ended_with_it(session_id: str, started, program: str) -> None:
    parent = started(PARENT.format(program))
    pids = {process.pid for process in find_session(session_id)}
    assert parent.pid in pids
    assert len(pids) == 2
    end_marked(session_id, grace_s=0.2)
    wait_until(lambda: not any(map(is_alive, pids - {parent.pid})))


def test_a_process_whose_parent_ended_is_the_same_one_and_ended_too(session_id: str, started) -> None:
    parent = started(PARENT.format(SLEEP))
    (child,) = (process for process in find_session(session_id) if process.pid != parent.pid)
    parent.kill()
    parent.wait()
    process_tree._signal(child, signal.SIGKILL)
    wait_until(lambda: not is_alive(child.pid))


@pytest.mark.parametrize(
    "mark", [pytest.param(None, id="no mark"), pytest.param("another", id="another"), pytest.param("x", id="longer")]
)
def test_a_process_of_another_session_is_spared(session_id: str, started, mark: str | None) -> None:
    child = started(SLEEP, session_id + mark if mark == "x" else mark)
    end_marked(session_id, grace_s=0.1)
    assert child.poll() is None


def test_ourselves_and_our_ancestors_are_never_ended() -> None:
    assert os.getpid() not in {process.pid for process in find_session("nobody", root_pid=1)}
    assert os.getppid() not in {process.pid for process in find_session("nobody", root_pid=1)}


def test_nothing_to_end_is_no_fault(session_id: str) -> None:
    assert end_marked(session_id) == ()


def test_without_proc_the_same_is_found_by_ps(session_id: str, started, monkeypatch: pytest.MonkeyPatch) -> None:
    child = started(SLEEP)
    monkeypatch.setattr(process_tree, "_PROC", process_tree.Path("/nowhere"))
    assert {process.pid for process in find_session(session_id)} == {child.pid}
    assert end_marked(session_id, grace_s=0.5) == ()
    assert child.wait(timeout=5) != 0
