"""The operator's commands: from the command line through the real socket to the store, the workers and a stand-in agent."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from domain.model import Phase
from service.cli import sessions
from service.cli.main import the_loop
from service.clock import SystemClock
from service.control_socket import ControlSocket
from service.operating import Operating
from service.orders import Live
from service.ports import CONTROL_SOCKET
from tests.fakes.core import HOST, comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Manner
from tests.fakes.service_in_process import ServiceInProcess

ITEM = "o/r#15"
LABEL = f"github:{ITEM}"
LIVE = Live(
    pid=4711, store_writable=True, workers_up=True, admission_open=True, log_lines_held=3, log_lines_lost=1
)  # fmt: skip


class Desk:
    """The command line of somebody at the machine on which the service has its state."""

    def __init__(self, service: ServiceInProcess) -> None:
        self.service = service
        self.config = service.folder / "the-loop.toml"
        self.config.write_text(
            f'name = "{service.settings.name}"\nstate_folder = "{service.settings.state}"\n'
            '[github]\napi_url = "http://127.0.0.1:1"\ntoken = "t"\n'
            '[routing]\nauthorized_users = ["ada"]\n[sessions]\nharness = "command"\ncommand = ["true"]\n'
        )

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(the_loop, [*arguments, "--config", str(self.config)])

    def ask(self, verb: str, *more: str) -> Result:
        return self.run("sessions", verb, ITEM, *more)


@pytest.fixture
def service(tmp_path: Path, monkeypatch) -> Iterator[ServiceInProcess]:
    """With the lock held and the socket served, as `serve` does it."""
    with tempfile.TemporaryDirectory(prefix="loop-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        with ServiceInProcess(tmp_path, clock=SystemClock()) as running:
            lock = running.state.lock()
            core = running.core
            operating = Operating(core.dispatcher, core.database, running.github, HOST, running.clock.wall_ms)
            control = ControlSocket(running.state.sockets / CONTROL_SOCKET, operating, running._spawn)
            control.bind(lambda: LIVE)
            running._spawn("control", control.run)
            yield running
            control.stop()
            os.close(lock)


@pytest.fixture
def desk(service: ServiceInProcess) -> Desk:
    return Desk(service)


@pytest.fixture
def harness(service: ServiceInProcess) -> StandInHarness:
    return service.harness


def test_a_start_opens_a_session_and_says_where_to_follow_it(desk: Desk, harness: StandInHarness) -> None:
    result = desk.ask("start")
    assert result.exit_code == 0, result.stderr
    assert f"{LABEL}: started (under way)" in result.stdout
    assert "the-loop explain github.com/operator/" in result.stdout
    harness.wait_prompts(desk.service.item_id(), 1)


def test_an_item_that_nobody_wrote_on_can_be_started(desk: Desk) -> None:
    desk.ask("start")
    key = json.loads(desk.ask("start", "--json").stdout)["event_key"]
    assert json.loads(desk.run("explain", key, "--json").stdout)["events"][0]["event"]["by"].keys() == {"operator"}


def test_pause_and_resume_change_the_phase_at_once(desk: Desk) -> None:
    desk.service.begin()
    assert desk.ask("pause").stdout == f"{LABEL}: paused\n"
    assert desk.service.phase() is Phase.PAUSED
    assert desk.ask("resume").stdout.startswith(f"{LABEL}: resumed")
    assert desk.service.phase() is Phase.RUNNING


def test_stop_waits_until_the_session_has_ended(desk: Desk, harness: StandInHarness) -> None:
    desk.service.begin()
    result = desk.ask("stop")
    assert (result.exit_code, result.stdout) == (0, f"{LABEL}: stopped\n")
    assert harness.living() == set()


def test_stop_returns_at_once_where_nobody_wants_to_wait(desk: Desk, harness: StandInHarness) -> None:
    harness.next_turns(Manner(ends=False))
    desk.service.begin()
    result = desk.ask("stop", "--wait", "0")
    assert result.exit_code == 0
    desk.service.until(lambda: harness.living() == set())


def test_cleanup_removes_the_clone(desk: Desk) -> None:
    desk.service.begin()
    clone = desk.service.state.clones / str(desk.service.item_id())
    assert clone.is_dir()
    assert desk.ask("cleanup", "--force").stdout == f"{LABEL}: cleaned\n"
    assert not clone.exists()


def test_a_refused_command_says_why_and_exits_with_1(desk: Desk) -> None:
    desk.service.begin()
    result = desk.ask("resume")
    assert result.exit_code == 1
    assert "There is nothing to resume here" in result.stdout


def test_a_start_without_the_label_exits_with_1(desk: Desk) -> None:
    desk.service.github.labels = ()
    result = desk.ask("start")
    assert result.exit_code == 1
    assert "routing.spawn" in result.stdout


def test_what_nobody_started_is_not_found(desk: Desk) -> None:
    result = desk.ask("stop")
    assert result.exit_code == 1
    assert "nothing to stop" in result.stderr


def test_what_names_no_work_item_is_bad_input(desk: Desk) -> None:
    result = desk.run("sessions", "stop", "fifteen")
    assert result.exit_code == 2
    assert "github:[host/]owner/repo#15" in result.stderr


def test_the_operators_stop_stands_behind_a_comment_of_the_same_moment(desk: Desk) -> None:
    desk.service.begin()
    said = comment(2, at_s=desk.service.clock.wall_ms() // 1000)
    desk.service.arrive(said)
    desk.ask("stop")
    assert desk.service.phase() is Phase.STOPPED


def test_list_shows_the_items_for_people_and_for_programs(desk: Desk) -> None:
    assert desk.run("sessions", "list").stdout == "no work item was ever started\n"
    desk.service.begin()
    assert f"{LABEL}  running" in desk.run("sessions", "list").stdout
    (item,) = json.loads(desk.run("sessions", "list", "--json").stdout)
    assert (item["work_item"], item["phase"], item["session"]["state"]) == (LABEL, "running", "live")


def test_status_asks_the_service_what_only_it_knows(desk: Desk) -> None:
    said = desk.run("status").stdout
    assert "running (pid 4711), ready" in said
    assert "3 lines held in memory, 1 lost" in said
    told = json.loads(desk.run("status", "--json").stdout)
    assert told["service"]["log_lines_held"] == 3


def test_status_counts_what_waits_and_what_gave_up(desk: Desk, harness: StandInHarness) -> None:
    desk.service.begin()
    harness.next_turns(Manner(receipt=None))
    desk.service.arrive(comment(2))
    harness.wait_prompts(desk.service.item_id(), 2)
    told = json.loads(desk.run("status", "--json").stdout)
    assert told["phases"] == {"running": 1}
    assert told["waiting"] == {"frozen": 1}


# Without a service


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch) -> Iterator[Desk]:
    """A service ran here and is gone; nobody holds the lock."""
    with tempfile.TemporaryDirectory(prefix="loop-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        with ServiceInProcess(tmp_path) as running:
            start = comment(1, "the-loop start")
            running.github.is_reachable = False
            running.arrive(start)
            desk = Desk(running)
        yield desk


@pytest.mark.parametrize("verb", ["start", "pause", "resume"])
def test_without_a_service_what_needs_it_says_so(stopped: Desk, verb) -> None:
    result = stopped.ask(verb)
    assert result.exit_code == 2
    assert "the service is not running" in result.stderr


@pytest.mark.parametrize(("verb", "effect"), [("stop", "stopped"), ("cleanup", "cleaned")])
def test_without_a_service_stop_and_cleanup_do_it_themselves(stopped: Desk, verb, effect) -> None:
    result = stopped.ask(verb)
    assert (result.exit_code, result.stdout) == (0, f"{LABEL}: {effect}\n"), result.stderr
    assert "  stopped  " in stopped.run("sessions", "list").stdout
    assert not stopped.service.state.is_locked()


def test_without_a_service_the_reading_commands_work(stopped: Desk) -> None:
    assert "not running" in stopped.run("status").stdout
    assert stopped.run("sessions", "list").exit_code == 0
    assert stopped.run("explain", ITEM).exit_code == 0
    assert stopped.run("explain", "nothing-of-ours").exit_code == 1


def test_where_nothing_was_ever_stored_it_is_said(tmp_path: Path) -> None:
    config = tmp_path / "the-loop.toml"
    config.write_text(f'state_folder = "{tmp_path / "state"}"\n')
    runner = CliRunner()
    assert "nothing was ever stored here" in runner.invoke(the_loop, ["status", "--config", str(config)]).stdout
    result = runner.invoke(the_loop, ["explain", ITEM, "--config", str(config)])
    assert result.exit_code == 1
    assert "the-loop serve" in result.stderr
    assert not (tmp_path / "state").exists()


def test_a_service_that_does_not_answer_is_told_apart_from_none(stopped: Desk, monkeypatch) -> None:
    monkeypatch.setattr(sessions, "TRY_AGAIN_S", 0.01)
    lock = stopped.service.state.lock()
    try:
        result = stopped.ask("stop")
        assert "running, but it does not answer" in stopped.run("status").stdout
    finally:
        os.close(lock)
    assert result.exit_code == 2
    assert "starting, ending or stuck" in result.stderr


def test_from_inside_a_session_no_session_is_moved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.service.begin()
    monkeypatch.setenv("THE_LOOP_AGENT_TOKEN", "a session's")
    result = desk.ask("pause")
    assert (result.exit_code, desk.service.phase()) == (2, Phase.RUNNING)
    assert "operator" in result.stderr
