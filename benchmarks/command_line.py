"""What an agent pays for calling us: `python -m benchmarks.command_line` prints how long `the-loop --help` takes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15


def main() -> None:
    """Measure and print."""
    python = [sys.executable, "-c", "pass"]
    ours = [str(Path(sys.executable).parent / "the-loop"), "--help"]
    empty_ms, help_ms = took_ms(python), took_ms(ours)
    print(f"an empty Python   {empty_ms:6.1f} ms")
    print(f"the-loop --help   {help_ms:6.1f} ms   ratio {help_ms / empty_ms:.1f}")


def took_ms(argv: list[str]) -> float:
    """The median time of a command."""
    took: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        took.append((time.perf_counter() - begin) * 1000)
    return statistics.median(took)


if __name__ == "__main__":
    main()
