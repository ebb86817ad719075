"""One service after the other on the same state folder: started, killed, paused, started again, stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from service.demo.setting import environment
from service.settings import FILE_NAME
from service.state_folder import StateFolder
from tests.crash.entry import SKIP_S
from tests.crash.points import Point
from tests.crash.setting import Setting

ROOT = Path(__file__).parents[2]
END_S = 40.0
SHOWN = 12


class Services:
    """`points` are where the first services end; the one after them goes on. Not safe to use from several threads."""

    def __init__(self, folder: Path, setting: Setting, api_url: str, points: Sequence[Point]) -> None:
        self.state = StateFolder(folder / "state")
        self.port = free_port()
        self.deaths = 0
        self._folder = folder
        self._variables = dict(setting.variables)
        self._points = list(points)
        self._ahead_s = 0.0
        self._said = folder / "service.log"
        self._said_from = 0
        self._process: subprocess.Popen[bytes] | None = None
        (folder / FILE_NAME).write_text(setting.text(folder, api_url, self.port), "utf-8")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """That of the service that was started last."""
        assert self._process is not None
        return self._process

    @property
    def is_ready(self) -> bool:
        """Whether it runs and has said so."""
        with self._said.open("rb") as said:
            said.seek(self._said_from)
            return b"\nstate: " in b"\n" + said.read() and self.process.poll() is None

    def start(self) -> None:
        """Start a service; it ends at the next point, if there is one left."""
        point = self._points.pop(0) if self._points else ""
        argv = [sys.executable, "-m", "tests.crash.entry", "--config", str(self._folder / FILE_NAME)]
        with self._said.open("ab") as said:
            self._said_from = said.tell()
            self._process = subprocess.Popen(
                [*argv, "--trace", str(self._folder / "calls"), "--point", str(point), "--ahead-s", str(self._ahead_s)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                env=environment() | self._variables,
                start_new_session=True,
            )

    def look_after(self) -> None:
        """Start another one where the last one was killed. One that ended by itself is a fault."""
        code = self.process.poll()
        if code is not None:
            assert code == -signal.SIGKILL, f"the service ended by itself with {code}\n{self.last_lines()}"
            self.deaths += 1
            self.start()

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait(END_S)

    def pause(self) -> None:
        """From now on it sees and does nothing, until it is killed or goes on."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """After a pause."""
        self.process.send_signal(signal.SIGCONT)

    def skip(self) -> None:
        """Put the clock forward."""
        self._ahead_s += SKIP_S
        self.process.send_signal(signal.SIGUSR1)

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.process.terminate()
        return self.process.wait(END_S)

    def kill_hosts(self) -> None:
        """Kill every session host as the kernel would; what it started stays, and is nobody's."""
        folder = os.fsencode(self.state.sessions)
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and _is_host(process, folder):
                os.kill(int(process.name), signal.SIGKILL)

    def close(self) -> None:
        """End whatever runs."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def last_lines(self) -> str:
        """What the services wrote last."""
        return "\n".join(self._said.read_text("utf-8", "replace").splitlines()[-SHOWN:])


def free_port() -> int:
    """A port that is free now: services keep it, so that the webhook's address stays."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_host(process: Path, folder: bytes) -> bool:
    try:
        argv = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"sessions.host" in argv and any(part.startswith(folder) for part in argv)
