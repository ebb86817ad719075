"""What the pushed road costs: `python -m benchmarks.intake` prints its tail at 200 a second and its rate at saturation."""

from __future__ import annotations

import contextlib
import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.deliveries import connect, deliveries, saturate, starts, steadily

RATE_PER_S = 200
STEADY_S = 15.0
CONNECTIONS = 32
SATURATION_S = 5.0
ROUNDS = 3


def main() -> None:
    """Measure and print."""
    for is_busy in (False, True):
        tail(is_busy)
    ratio("comments refused, on issues that nobody started", started=False)
    ratio("comments queued, on issues that were started", started=True)


def tail(is_busy: bool) -> None:
    """The tail of the answers' times at a steady rate, with the process idle beside it or as busy as it may be."""
    with serving("ours", is_busy=is_busy) as server:
        took_ms = uvloop.run(steadily(server.port, RATE_PER_S, STEADY_S, deliveries()))
    shown = "  ".join(f"p{share:g} {at(took_ms, share):6.1f} ms" for share in (50, 90, 99, 99.9))
    print(f"{RATE_PER_S}/s, {'busy' if is_busy else 'idle'}:  {shown}", flush=True)


def ratio(name: str, *, started: bool) -> None:
    """Rates at saturation, ours and the bare handler's in turn, so that what else the machine does meets both."""
    with serving("ours") as ours, serving("bare") as bare:
        if started:
            uvloop.run(send_all(ours.port, starts()))
        numbers = itertools.count(1)
        print(f"saturation, {CONNECTIONS} connections, {name}:", flush=True)
        for _ in range(ROUNDS):
            first_id = next(numbers) * 1_000_000
            full = uvloop.run(saturate(ours.port, CONNECTIONS, SATURATION_S, deliveries(first_id=first_id)))
            least = uvloop.run(saturate(bare.port, CONNECTIONS, SATURATION_S, deliveries(first_id=first_id)))
            shown = (
                f"ours {full:6.0f}/s  bare {least:6.0f}/s  ratio {full / least:.2f}  memory {ours.memory_mb():.0f} MB"
            )
            print(f"  {shown}", flush=True)


async def send_all(port: int, requests: list[bytes]) -> None:
    """Send requests one after the other."""
    [connection] = await connect(port, 1)
    for request in requests:
        assert await connection.send(request) == 202


class Server:
    """A server process and the port that it listens on."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.port = port
        self._process = process

    def memory_mb(self) -> float:
        """What it holds in memory now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024


@contextlib.contextmanager
def serving(kind: str, *, is_busy: bool = False) -> Iterator[Server]:
    """A server in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "benchmarks.intake_server", kind, folder, "busy" if is_busy else "idle"]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            yield Server(process, int(process.stdout.readline()))
            process.stdin.close()


def at(ordered: list[float], share: float) -> float:
    """The value that so many per cent do not exceed."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]


if __name__ == "__main__":
    main()
