"""What the service costs while nothing happens: `python -m benchmarks.idle` runs a real `serve` for a minute."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import cpu_s, memory_mb

SETTLE_S = 5.0
IDLE_S = 60.0
SETTINGS = """
state_folder = "state"
[webhook]
port = 0
secrets = ["a secret of the benchmark"]
[github]
api_url = "http://127.0.0.1:1"
token = "tok"
[routing]
authorized_users = ["ada"]
[sessions]
harness = "command"
command = ["true"]
"""


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "the-loop.toml"
        settings.write_text(SETTINGS, "utf-8")
        argv = [str(Path(sys.executable).parent / "the-loop"), "serve", "--config", str(settings)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
            assert service.stdout is not None
            assert re.search("listens", service.stdout.readline())
            time.sleep(SETTLE_S)
            before_s, switches = cpu_s(service.pid), wakes(service.pid)
            time.sleep(IDLE_S)
            used_s, woken = cpu_s(service.pid) - before_s, wakes(service.pid) - switches
            print(
                f"idle for {IDLE_S:.0f} s: {used_s / IDLE_S:.2%} of a core, woken {woken / IDLE_S:.1f} times a second,"
                f" memory {memory_mb(service.pid):.0f} MB"
            )
            service.terminate()


def wakes(pid: int) -> int:
    """How often its threads have gone to sleep by themselves, and so were woken."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text("utf-8")
        found += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return found


if __name__ == "__main__":
    main()
