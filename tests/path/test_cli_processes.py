"""Real processes: the command line beside a `serve` that was killed, with a session host and an agent that outlived it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.demo.leftovers import living_processes
from service.demo.patience import Patience
from service.demo.setting import OWNER, REPOSITORY, Mode
from service.demo.stage import Stage

WAIT_S = 30.0
ITEM = f"{REPOSITORY}#1"


@pytest.fixture
def stage(monkeypatch) -> Iterator[Stage]:
    """A stand-in GitHub with a labelled issue, and a service that its webhook reaches."""
    folder = Path(tempfile.mkdtemp(prefix="c-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "r"))
    stage = Stage(folder, Mode.WEBHOOK, Patience(), outlives_us=False)
    try:
        stage.set_up()
        stage.start_service()
        service = stage.service
        assert service is not None
        wait(service.first_line)
        stage.point_webhook_at_service()
        yield stage
    finally:
        stage.end()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_stop_without_a_service_ends_the_agent_that_outlived_it(stage: Stage) -> None:
    stage.act("comment", as_login=OWNER, repo=REPOSITORY, number=stage.thread_number, body="the-loop start")
    wait(lambda: outcome_of_last(stage) == "control-executed")
    stage.kill_service()
    assert told(stage, "status")["running"] is False
    assert living_processes(stage.state) > 0
    (item,) = told(stage, "sessions", "list")
    assert (item["phase"], item["session"]["state"]) == ("running", "live")

    stopped = stage.command("sessions", "stop", ITEM)

    assert (stopped.returncode, stopped.stdout) == (0, f"{item['work_item']}: stopped\n"), stopped.stderr
    assert living_processes(stage.state) == 0
    (item,) = told(stage, "sessions", "list")
    assert (item["phase"], item["session"]["state"]) == ("stopped", "ended")
    again = stage.command("sessions", "stop", ITEM)
    assert again.returncode == 0, again.stderr


def told(stage: Stage, *arguments: str) -> Any:
    """What a command prints as JSON."""
    done = stage.command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def outcome_of_last(stage: Stage) -> str:
    """The outcome of the item's newest event, empty while there is none."""
    done = stage.command("explain", f"{REPOSITORY}#{stage.thread_number}", "--json")
    events = json.loads(done.stdout)["events"] if done.returncode == 0 else []
    return events[-1]["decisions"][-1]["outcome"] or "" if events else ""


def wait(holds) -> None:
    assert Patience().wait(lambda: holds() or None, WAIT_S), "waited in vain"
