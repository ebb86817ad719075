"""How long the command line takes to begin: `python -m benchmarks.startup` prints milliseconds beside a bare interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 20
COMMAND = str(Path(sys.executable).parent / "the-loop")
MEASURED: dict[str, list[str]] = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "the-loop --help": [COMMAND, "--help"],
    "the-loop thread --help": [COMMAND, "thread", "--help"],
    "the-loop status": [COMMAND, "status"],
}


def main() -> None:
    """Measure in turns, so that what else runs here meets all of them alike, and print."""
    took_ms: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(ROUNDS):
        for name, argv in MEASURED.items():
            took_ms[name].append(one_ms(argv))
    bare_ms = statistics.median(took_ms["python -c pass"])
    for name, values in took_ms.items():
        median_ms = statistics.median(values)
        print(f"{name:<24} median {median_ms:6.0f} ms  worst {max(values):6.0f} ms  {median_ms / bare_ms:5.1f} x bare")


def one_ms(argv: list[str]) -> float:
    """One run from its start to its end."""
    begin_s = time.perf_counter()
    subprocess.run(argv, capture_output=True, check=False, timeout=60)
    return (time.perf_counter() - begin_s) * 1000


if __name__ == "__main__":
    main()
