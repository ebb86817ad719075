"""`the-loop serve` as a process of its own: what it listens on, what it says is missing, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.session_hosts import WAIT_S
from tests.tidy import tree

Serve = Callable[[str], "subprocess.Popen[str]"]
LISTENING = "0A"
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Run `serve` by a settings file; returns once it has said where its state is, the last line before its warnings."""
    started: list[subprocess.Popen[str]] = []

    def run(settings: str) -> subprocess.Popen[str]:
        file = tmp_path / "the-loop.toml"
        file.write_text(f'state_folder = "{tmp_path / "state"}"\ngithub.api_url = "{NOWHERE}"\n{settings}')
        environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, "-m", "service.cli.main", "serve", "--config", str(file)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tree.ROOT, env=environment,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert any(line.startswith("state: ") for line in process.stdout), process.communicate()[1]
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def end(process: subprocess.Popen[str]) -> str:
    """Ask it to end; what it said on standard error. It ends clean and complete."""
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=WAIT_S)[1]
    assert process.returncode == 0, said
    return said


def listening_sockets(pid: int) -> int:
    """How many TCP ports a process listens on."""
    tables = [Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    inodes = {row.split()[9] for table in tables for row in table if row.split()[3] == LISTENING}
    held = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # the process may close one while we look
            held.add(str(descriptor.readlink()))
    return len(held & {f"socket:[{inode}]" for inode in inodes})


@pytest.mark.parametrize(
    ("webhook", "ports"),
    [
        pytest.param('port = 0\nsecrets = ["one"]', 1, id="on"),
        pytest.param("enabled = false", 0, id="off-and-without-a-secret"),
    ],
)
def test_a_port_is_bound_for_the_pushed_road_and_for_nothing_else(serve: Serve, webhook: str, ports: int) -> None:
    process = serve(f"[webhook]\n{webhook}\n")
    assert listening_sockets(process.pid) == ports
    end(process)


def test_what_is_missing_is_said_when_the_service_starts(serve: Serve) -> None:
    settings = '[webhook]\nenabled = false\n[sessions]\nharness = "command"\ncommand = ["no-such-agent"]\n'
    said = end(serve(settings)).splitlines()
    harness, nobody, token = [line for line in said if line.startswith("warning: ")]
    assert "no-such-agent, which is not found" in harness
    assert "sessions.command" in harness
    assert "routing.authorized_users" in nobody
    assert "github.token" in token
