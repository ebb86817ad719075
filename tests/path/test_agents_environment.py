"""What an agent and its session host can see of the service's own environment: what is passed on, and no secret of ours."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.clock import SystemClock
from service.ports import make_harness
from sessions.host.protocol import MARK_VARIABLE
from sessions.process_tree import end_marked, find_session
from tests.fakes.service_in_process import ServiceInProcess
from tests.fakes.session_hosts import FAKE_AGENT, WAIT_S
from tests.path.test_sessions_acp import host_pid, say_always

OURS = {
    "THE_LOOP_GITHUB__TOKEN": "hidden-1",
    "THE_LOOP_WEBHOOK__SECRETS": '["hidden-2"]',
    "GITHUB_TOKEN": "hidden-3",
    "GH_TOKEN": "hidden-4",
    "GIT_ASKPASS": "hidden-5",
    "AWS_SECRET_ACCESS_KEY": "hidden-6",
    "SSH_AUTH_SOCK": "hidden-7",
    "PYTHONPATH": "hidden-8",
}
PASSED = {"PROJECT_INDEX": "inner", "LC_ALL": "C.UTF-8"}
HIDDEN = b"hidden-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What lies open to a session: the environments of its processes, and the files of its folder."""

    agent: dict[str, str]
    host: dict[str, str]
    files: bytes


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """A session of a service whose environment is full of secrets."""
    for folder in ("agent", "templates"):
        (tmp_path / folder).mkdir()
    say_always(tmp_path)
    for name, value in {**OURS, **PASSED, "FAKE_AGENT_FOLDER": str(tmp_path / "agent")}.items():
        monkeypatch.setenv(name, value)
    sessions = {
        "harness": "command",
        "command": (sys.executable, str(FAKE_AGENT)),
        "pass_variables": ("FAKE_AGENT_*", "PROJECT_INDEX"),
        "templates": tmp_path / "templates",
    }
    with ServiceInProcess(
        tmp_path,
        make_harness=lambda settings, state: make_harness(settings, state, os.environ),
        clock=SystemClock(),
        sessions=sessions,
        end_s=WAIT_S,
    ) as service:
        assert service.settings.token() == OURS["THE_LOOP_GITHUB__TOKEN"]
        service.begin()
        session = service.session()
        assert session is not None
        its_folder = service.state.sessions / session.session_id
        program = str(FAKE_AGENT).encode()
        try:
            agents = [found.pid for found in find_session(session.session_id) if program in _command_line(found.pid)]
            yield Seen(
                agent=_environment(agents[0]),
                host=_environment(host_pid(service)),
                files=b"".join(path.read_bytes() for path in its_folder.rglob("*") if path.is_file()),
            )
        finally:
            end_marked(session.session_id, grace_s=0.1)
            shutil.rmtree(service.state.sockets, ignore_errors=True)


def test_an_agent_sees_no_secret_of_ours(seen: Seen) -> None:
    assert {name for name in seen.agent if name in OURS} == set()
    assert HIDDEN.decode() not in repr(seen.agent)


def test_an_agent_sees_what_is_common_and_what_the_operator_passes_on(seen: Seen) -> None:
    assert seen.agent.items() >= PASSED.items()
    assert seen.agent["FAKE_AGENT_FOLDER"].endswith("/agent")


def test_of_ours_an_agent_gets_the_seat_and_its_sessions_mark_alone(seen: Seen) -> None:
    assert {name for name in seen.agent if name.startswith("THE_LOOP_")} == {
        "THE_LOOP_AGENT_SOCKET",
        "THE_LOOP_AGENT_TOKEN",
        MARK_VARIABLE,
    }


def test_nothing_secret_lies_beside_an_agent(seen: Seen) -> None:
    assert HIDDEN.decode() not in repr(seen.host)
    assert HIDDEN not in seen.files


def _environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(line.split("=", 1) for line in lines if line)


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
