"""One runner for each broadcast, and none is kept out by one that is dead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from telegrambot.broadcast import lock
from telegrambot.broadcast.delivery import HaltCause
from telegrambot.broadcast.lock import Identity
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
from telegrambot.broadcast.report import Halted
from tests.fakes.broadcasting import Broadcasting, counts

US = lock.identity_of_this_process()
HANGING_RUNNER = """
import asyncio, sys
from pathlib import Path
from tests.fakes.broadcasting import Broadcasting

async def send(chat_id):
    print("sending", flush=True)
    await asyncio.Event().wait()

news = Broadcasting(Path(sys.argv[1]))
news.chats.send = send
news.run()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "news.lock"


def refused_by(path: Path) -> str:
    with pytest.raises(BroadcastRefused) as refused, lock.held(path):
        pass
    assert refused.value.refusal is Refusal.ALREADY_RUNNING
    return str(refused.value)


def test_a_second_runner_is_refused_with_who_holds_the_lock(path: Path) -> None:
    with lock.held(path):
        assert refused_by(path) == f"this broadcast is being sent by process {os.getpid()}"


def test_a_lock_is_free_again_after_a_run_however_it_ended(path: Path) -> None:
    with pytest.raises(RuntimeError), lock.held(path):
        raise RuntimeError
    assert not path.exists()
    with lock.held(path) as held:
        assert held.is_ours()


@pytest.mark.parametrize(
    ("there", "holder"),
    [
        pytest.param(
            replace(US, pid=1, boot_id="another"), "process 1 of another container or machine", id="another machine"
        ),
        pytest.param(
            replace(US, pid=1, pid_namespace="pid:[1]"), "process 1 of another container or machine", id="a container"
        ),
        pytest.param(
            replace(US, pid=1, started_ticks=-1),
            "what process 1, which has ended, left running",
            id="its number is reused",
        ),
    ],
)
def test_a_holder_that_is_none_of_our_processes_is_told_as_what_it_is(path: Path, there: Identity, holder: str) -> None:
    with lock.held(path):
        path.write_text(json.dumps(asdict(there)))
        assert refused_by(path) == f"this broadcast is being sent by {holder}"


def test_a_holder_that_says_nothing_of_itself_keeps_others_out_all_the_same(path: Path) -> None:
    with lock.held(path):
        path.write_text("")
        assert refused_by(path) == "this broadcast is being sent by a process that has not said which"


def test_a_file_that_nobody_holds_is_taken_over_whatever_it_says(path: Path) -> None:
    path.write_text(json.dumps(asdict(US)))
    with lock.held(path) as held:
        assert held.is_ours()


@pytest.mark.parametrize("is_another_there", [False, True], ids=["removed", "replaced"])
def test_a_lock_whose_file_is_taken_away_is_lost_and_another_ones_is_left_alone(
    path: Path, is_another_there: bool
) -> None:
    with lock.held(path) as held:
        path.unlink()
        if is_another_there:
            path.write_text("another runner's")
        assert not held.is_ours()
    assert path.exists() == is_another_there


def test_a_run_whose_lock_is_taken_away_halts_before_the_next_send(tmp_path: Path) -> None:
    news = Broadcasting(tmp_path)
    news.chats.before_each = lambda chat_id: (tmp_path / "news.lock").unlink()
    halted = news.run()
    assert (halted.halt, counts(halted)) == (Halted(HaltCause.LOCK_LOST), {"delivered": 1, "pending": 3})


def test_a_runner_that_is_killed_leaves_the_broadcast_to_the_next_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HANGING_RUNNER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as runner:
        try:
            assert runner.stdout is not None
            assert runner.stdout.readline() == b"sending\n"
            assert refused_by(tmp_path / "news.lock") == f"this broadcast is being sent by process {runner.pid}"
        finally:
            os.kill(runner.pid, signal.SIGKILL)
        runner.wait(timeout=10)
    news = Broadcasting(tmp_path)
    assert counts(news.run()) == {"delivered": 3, "uncertain": 1}
    assert news.chats.got == ["B", "C", "D"]
