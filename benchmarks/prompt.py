"""From an accepted comment to the waiting agent: `python -m benchmarks.prompt` prints how long the way of a prompt is.

The clock starts where the 202 would be sent (the comment is on disk) and stops where the agent's process has read the
prompt; between them lie worker, frozen turn, commit, socket, session host with its synced journal, and ACP.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from service.clock import SystemClock
from service.ports import make_harness
from sessions.process_tree import end_marked
from tests.fakes.core import comment
from tests.fakes.repositories import make_remote
from tests.fakes.service_in_process import ServiceInProcess

COMMENTS = 100
PEOPLE = "$item $branch\n\n${refused}\n\n$people"
TEMPLATES = {
    "webhook-autoexecute-prompt.md": PEOPLE,
    "webhook-event-prompt.md": PEOPLE,
    "webhook-resume-prompt.md": "$item $branch",
}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_remote(folder)
        with serving(folder) as service:
            service.begin()
            took_ms = [way_ms(service, folder, number) for number in range(2, COMMENTS + 2)]
            for (session_id,) in service.rows("SELECT session_id FROM sessions"):
                end_marked(session_id, grace_s=0.1)
    ordered = sorted(took_ms)
    print(
        f"from 202 to the prompt at a waiting agent: median {statistics.median(ordered):.1f} ms,"
        f" p90 {ordered[len(ordered) * 9 // 10]:.1f} ms, worst {ordered[-1]:.1f} ms"
    )


def serving(folder: Path) -> ServiceInProcess:
    """The service with a session host and an agent of its own, whose prompts say what to do in their first line."""
    (folder / "agent").mkdir()
    (folder / "templates").mkdir()
    for template, rest in TEMPLATES.items():
        text = f"{json.dumps([['say', 'Heard.']])}\n\n{rest}\n\nturn: $turn\n"
        (folder / "templates" / template).write_text(text, "utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "FAKE_AGENT_FOLDER": str(folder / "agent"),
    }
    return ServiceInProcess(
        folder,
        make_harness=lambda settings, state: make_harness(settings, state, environment),
        clock=SystemClock(),
        real_clones=True,
        sessions={
            "harness": "command",
            "command": (sys.executable, "-m", "benchmarks.prompt_agent"),
            "pass_variables": ("FAKE_AGENT_*", "PYTHONPATH"),
            "templates": folder / "templates",
        },
    )


def way_ms(service: ServiceInProcess, folder: Path, number: int) -> float:
    """How long one comment takes to the agent, whose turn before it has ended."""
    service.until(lambda: len(service.said("answer")) == number - 1)
    service.arrive(comment(number, "more"))
    accepted_ns = time.monotonic_ns()
    came = folder / "agent" / "came"
    service.until(lambda: came.read_text("utf-8").count("\n") == number)
    return (int(came.read_text("utf-8").split()[-1]) - accepted_ns) / 1e6


if __name__ == "__main__":
    main()
