"""The agent that the prompt benchmark talks to: it notes when a prompt has come, and answers at once."""

from __future__ import annotations

import time

from tests.fakes.acp_agent import FOLDER, FakeAgent


class TimingAgent(FakeAgent):
    """Notes each prompt by the clock that all processes of a machine share."""

    def turn(self, request_id: int, prompt: str) -> None:
        """Note the time, then do as told."""
        came_ns = time.monotonic_ns()
        with (FOLDER / "came").open("a") as came:
            came.write(f"{came_ns}\n")
        super().turn(request_id, prompt)


if __name__ == "__main__":
    TimingAgent().serve()
