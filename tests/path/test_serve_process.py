"""`the-loop serve` as a process of its own: what it listens on, what it says is missing, and how it ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.serve_process import ServeProcesses, end

Serve = Callable[[str], "subprocess.Popen[str]"]
LISTENING = "0A"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with ServeProcesses(tmp_path) as services:
        yield services.start


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
