"""`the-loop doctor` against a stand-in GitHub: what is wrong is said with what to do, and what is right is ok."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from service import checks
from service.checks import Verdict, file_system_of, git_finding
from service.cli.main import the_loop
from service.demo.github.standin import StandIn
from service.github_checks import github_findings
from service.ports import make_ports
from service.settings import load
from service.state_folder import StateFolder, StateRefused

GOOD = {
    "state_folder": "'{folder}/state'",
    "[webhook]\nport": "0",
    "secrets": "['s3cret']",
    "[github]\nhost": "'github.test'",
    "api_url": "'{url}'",
    "token_file": "'token'",
    "[[repositories]]\nname": "'octo/repo'",
    "[routing]\nauthorized_users": "['ada']",
    "[sessions]\nharness": "'command'",
    "command": "['{python}']",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """Settings beside a stand-in GitHub."""

    folder: Path
    stand_in: StandIn

    @property
    def config(self) -> Path:
        return self.folder / "the-loop.toml"

    def settle(self, **changes: str) -> None:
        """Write settings in which all is well, but for the changes."""
        lines = []
        for key, value in GOOD.items():
            name = key.rpartition("\n")[2]
            lines.append(f"{key} = {changes.get(name, value)}")
        text = "\n".join(lines).format(folder=self.folder, url=self.stand_in.base_url, python=sys.executable)
        self.config.write_text(text)

    def findings(self, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
        """Exit code; what was looked at → verdict and words."""
        result = CliRunner().invoke(the_loop, ["doctor", "--json", *arguments, "--config", str(self.config)])
        assert result.exit_code in (0, 1), result.output
        return result.exit_code, {each["about"]: (each["verdict"], each["said"]) for each in json.loads(result.stdout)}


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    stand_in = StandIn(tmp_path_factory.mktemp("github"))
    stand_in.start()
    stand_in.add_account("ada")
    stand_in.add_account("loop-bot", token="good-token")
    stand_in.add_repository("octo/repo")
    yield stand_in
    stand_in.stop()


@pytest.fixture
def machine(tmp_path: Path, stand_in: StandIn, monkeypatch) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="loop-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        token = tmp_path / "token"
        token.write_text("good-token\n")
        token.chmod(0o600)
        machine = Machine(tmp_path, stand_in)
        machine.settle()
        yield machine


def test_where_all_is_well_every_line_is_ok(machine: Machine) -> None:
    code, found = machine.findings()
    assert code == 0
    assert {about: said for about, (verdict, said) in found.items() if verdict != "ok"} == {}
    assert "loop-bot" in found["github"][1]
    assert {"repository", "clock", "git", "sqlite", "agent", "state", "disk", "log", "sockets"} <= set(found)


@pytest.mark.parametrize(
    ("changes", "about", "words"),
    [
        pytest.param({"secrets": "[]"}, "secret", "the-loop init", id="no secret"),
        pytest.param({"token_file": "'none'"}, "token", "cannot be read", id="no token file"),
        pytest.param({"authorized_users": "[]"}, "people", "routing.authorized_users", id="nobody"),
        pytest.param({"command": "['/no/such/agent']"}, "agent", "not found", id="no agent"),
        pytest.param({"name": "'octo/none'"}, "repository", "does not exist", id="no such repository"),
        pytest.param({"api_url": "'http://127.0.0.1:1'"}, "github", "no usable answer", id="GitHub away"),
    ],
)
def test_what_is_missing_fails_and_says_what_to_do(machine: Machine, changes, about, words) -> None:
    machine.settle(**changes)
    code, found = machine.findings()
    assert code == 1
    assert found[about][0] == "fail"
    assert words in found[about][1]


def test_a_token_that_github_does_not_take_is_said(machine: Machine) -> None:
    (machine.folder / "token").write_text("another")
    code, found = machine.findings()
    assert (code, found["github"][0]) == (1, "fail")
    assert "the token is not valid" in found["github"][1]


def test_no_secret_and_no_token_stands_in_what_is_said(machine: Machine) -> None:
    result = CliRunner().invoke(the_loop, ["doctor", "--config", str(machine.config)])
    assert "good-token" not in result.output
    assert "s3cret" not in result.output


def test_a_file_that_others_can_read_is_warned_of(machine: Machine) -> None:
    (machine.folder / "token").chmod(0o644)
    code, found = machine.findings()
    assert (code, found["token"][0]) == (0, "warn")


def test_a_state_folder_that_others_may_enter_fails(machine: Machine) -> None:
    (machine.folder / "state").mkdir(mode=0o755)
    (machine.folder / "state").chmod(0o755)
    assert machine.findings()[1]["state"] == ("fail", f"others may enter {machine.folder / 'state'}: chmod 700 it")


def test_a_folder_that_holds_other_things_is_neither_closed_nor_filled(machine: Machine) -> None:
    shared = machine.folder / "state"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "somebody's").write_text("theirs")
    assert machine.findings()[1]["state"] == ("fail", StateFolder(shared).refusal())
    with pytest.raises(StateRefused, match="set state_folder"):
        StateFolder(shared).make()
    assert (stat.S_IMODE(shared.stat().st_mode), [entry.name for entry in shared.iterdir()]) == (0o777, ["somebody's"])


def test_a_folder_that_was_made_only_in_part_is_made_whole(machine: Machine) -> None:
    state = StateFolder(machine.folder / "state")
    state.clones.mkdir(parents=True)
    state.make()
    assert state.locks.is_dir()


def test_a_state_folder_in_a_clone_is_warned_of(machine: Machine) -> None:
    StateFolder(machine.folder / "state").make()
    (machine.folder / ".git").mkdir()
    assert machine.findings()[1]["state"][0] == "warn"


def test_a_store_that_is_none_fails(machine: Machine) -> None:
    state = StateFolder(machine.folder / "state")
    state.make()
    state.database.write_text("garbage " * 200)
    code, found = machine.findings()
    assert (code, found["store"][0]) == (1, "fail")
    assert "not a database" in found["store"][1]


def test_a_lock_that_cannot_be_opened_is_said_in_a_sentence(machine: Machine) -> None:
    state = StateFolder(machine.folder / "state")
    state.make()
    (state.path / "lock").mkdir()
    with pytest.raises(StateRefused, match="move it away"):
        state.lock()


def test_a_taken_port_fails_unless_our_own_service_has_it(machine: Machine) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        machine.settle(port=str(other.getsockname()[1]))
        assert machine.findings()[1]["roads"][0] == "fail"
        state = StateFolder(machine.folder / "state")
        state.make()
        with os.fdopen(state.lock()):
            assert machine.findings()[1]["roads"][0] == "ok"


def test_offline_nothing_is_asked(machine: Machine) -> None:
    machine.settle(api_url="'http://127.0.0.1:1'")
    code, found = machine.findings("--offline")
    assert code == 0
    assert "github" not in found


def test_a_clock_that_is_wrong_is_warned_of(machine: Machine) -> None:
    settings = load(machine.config)
    ports = make_ports(settings, StateFolder(settings.state))
    server_ms = ports.github.read("/user").server_time_ms
    assert server_ms is not None
    found = {each.about: each for each in github_findings(settings, ports, server_ms + 120_000)}
    assert found["clock"].verdict is Verdict.WARN
    assert "+120 s" in found["clock"].said


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        pytest.param("git version 2.39.5", Verdict.OK, id="new"),
        pytest.param("git version 2.50.1 (Apple Git-155)", Verdict.OK, id="with a maker's name"),
        pytest.param("git version 2.20.1", Verdict.FAIL, id="old"),
        pytest.param(None, Verdict.FAIL, id="none"),
    ],
)
def test_git_has_to_be_new_enough(said, verdict) -> None:
    assert git_finding(said).verdict is verdict


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/srv/loop/state", "nfs4"), ("/srv/looped", "ext4"), ("/with space/x", "cifs"), ("/", "ext4")],
)
def test_the_file_system_is_that_of_the_nearest_mount(path, kind) -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nserver:/x /srv/loop nfs4 rw 0 0\n//s/x /with\\040space cifs rw 0 0\nbroken\n"
    assert file_system_of(Path(path), mounts) == kind


def test_a_state_folder_on_a_network_fails(machine: Machine, monkeypatch, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("server:/x / nfs rw 0 0\n")
    monkeypatch.setattr(checks, "MOUNTS", mounts)
    assert machine.findings("--offline")[1]["disk"][0] == "fail"
