"""Real session hosts for tests: their folders, links and records, and a sure end for all of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sessions.host.journal import read_journal
from sessions.host.permissions import DEFAULT_ALLOW_COMMANDS, PermissionMode
from sessions.host.records import Record
from sessions.host.spec import JOURNAL_NAME, HostSpec, HostTimes
from sessions.link import SessionLink, clone_is_held, start_host
from sessions.process_tree import end_marked

FAKE_AGENT = Path(__file__).parent / "acp_agent.py"
WAIT_S = 20.0
QUICK = HostTimes(start_s=10.0, cancel_s=0.5, grace_s=0.3)


def prompt_of(turn_id: str, *steps: list) -> str:
    """A prompt that tells the fake agent what to do, with the turn's id where it belongs."""
    return f"{json.dumps(steps)}\n\nturn: {turn_id}"


def wait_until(holds: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
    """Wait for something outside this process; fails when the time is over."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process is there; one that has ended and whose end nobody has asked for yet is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


class Room:
    """One session's folders; several hosts may live in it, one after the other."""

    def __init__(self, tmp_path: Path, name: str = "session") -> None:
        self.session_id = f"test-{os.getpid()}-{tmp_path.name[:40]}-{name}"
        self.folder = tmp_path / f"{name}-host"
        self.agent_folder = tmp_path / f"{name}-agent"
        self.clone = tmp_path / f"{name}-clone"
        for folder in (self.folder, self.agent_folder, self.clone):
            folder.mkdir(mode=0o700)
        self.socket_folder = Path(tempfile.mkdtemp(prefix="tl-"))
        self.journal_path = self.folder / JOURNAL_NAME
        self.pids: list[int] = []
        self.spec = HostSpec(
            session_id=self.session_id,
            instance="test",
            argv=(sys.executable, str(FAKE_AGENT)),
            environment={"PATH": os.environ["PATH"], "FAKE_AGENT_FOLDER": str(self.agent_folder)},
            clone=self.clone,
            socket_path=self.socket_folder / "host.sock",
            lock_path=tmp_path / f"{name}.lock",
            permission_mode=PermissionMode.ALLOW_EDITS,
            allow_commands=DEFAULT_ALLOW_COMMANDS,
            times=QUICK,
        )

    def start(self, *flags: str, **changes: object) -> SessionLink:
        """Start a host and reach it; `flags` are the fake agent's."""
        self.launch(*flags, **changes)
        return SessionLink.connect(self.spec.socket_path, WAIT_S, self.spec.lock_path)

    def launch(self, *flags: str, **changes: object) -> None:
        """Start a host that may not live long enough to be reached."""
        spec = replace(self.spec, argv=(*self.spec.argv, *flags), **changes)
        self.pids.append(start_host(self.folder, spec))

    def records(self) -> list[Record]:
        """What the journal holds now."""
        return [item.record for item in read_journal(self.journal_path)]

    def wait_for(self, *types: type[Record]) -> list[Record]:
        """Wait until the journal holds a record of each type; returns all records."""
        wait_until(lambda: all(any(isinstance(record, wanted) for record in self.records()) for wanted in types))
        return self.records()

    def wait_gone(self) -> None:
        """Wait until no host holds the clone."""
        wait_until(lambda: not clone_is_held(self.spec.lock_path))

    def kill_host(self) -> None:
        """As the kernel would: at once, without a word."""
        os.kill(self.pids[-1], signal.SIGKILL)
        self.wait_gone()

    def close(self) -> None:
        """End whatever is left of this room."""
        if clone_is_held(self.spec.lock_path):
            self.kill_host()
        end_marked(self.session_id, grace_s=0.1)
        shutil.rmtree(self.socket_folder)


def one(records: list[Record], wanted: type[Record]) -> Record:
    """The only record of a type."""
    (found,) = (record for record in records if isinstance(record, wanted))
    return found
