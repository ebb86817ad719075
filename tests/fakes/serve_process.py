"""`the-loop serve` as a process of its own, by settings that reach nobody unless they say so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes.session_hosts import WAIT_S
from tests.tidy import tree

NOWHERE = "http://127.0.0.1:1"


class ServeProcesses:
    """Starts services, one after another on one state folder. Use it as a context: what still runs at its end is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self._started: list[subprocess.Popen[str]] = []

    def start(self, settings: str) -> subprocess.Popen[str]:
        """Returns once it has said where its state is, the last line before its warnings."""
        file = self.folder / "the-loop.toml"
        file.write_text(f'state_folder = "{self.state}"\ngithub.api_url = "{NOWHERE}"\n{settings}')
        process = subprocess.Popen(
            [sys.executable, "-m", "service.cli.main", "serve", "--config", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tree.ROOT,
            env=os.environ | {"XDG_RUNTIME_DIR": str(self.folder)},
        )
        self._started.append(process)
        assert process.stdout is not None
        assert any(line.startswith("state: ") for line in process.stdout), process.communicate()[1]
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def end(process: subprocess.Popen[str]) -> str:
    """Ask it to end; what it said on standard error. It ends clean and complete."""
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=WAIT_S)[1]
    assert process.returncode == 0, said
    return said
