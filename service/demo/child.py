"""A process that the demo starts: its output in a file, its end by its own pid."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

END_S = 15.0
TAIL_LINES = 8


class Child:
    """One running process, out of reach of the terminal's Ctrl-C, so that it is ended in order and not by chance."""

    def __init__(
        self, argv: Sequence[str], output: Path, environment: Mapping[str, str], *, dies_with_us: bool = False
    ) -> None:
        """`output` is appended to. `dies_with_us` gives it a standard input that ends with this process."""
        self.output = output
        with output.open("ab") as file:
            self._start = file.tell()
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if dies_with_us else subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def first_line(self) -> str | None:
        """The first line that it wrote, None before it is finished."""
        with self.output.open("rb") as file:
            file.seek(self._start)
            line = file.readline().decode("utf-8", "replace")
        return line.rstrip("\n") if line.endswith("\n") else None

    def last_lines(self) -> str:
        """What it wrote last."""
        return "\n".join(self.output.read_text("utf-8", "replace").splitlines()[-TAIL_LINES:])

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait(END_S)

    def end(self) -> None:
        """Ask it to end, and kill it where it does not in time. Safe to repeat."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.is_running():
            self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()
