"""The demo's agent, held once at a place of a turn when a test asks for it: a file `hold-<place>` becomes `held-<place>`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from acp import run_agent
from acp.interfaces import Agent
from acp.schema import NewSessionResponse, PromptResponse, TextContentBlock

from service.demo.agent import DemoAgent, what_was_read


class Place(StrEnum):
    """Where a turn may be held."""

    OPENING = "opening"
    """The conversation is asked for, and not open."""
    PROMPTED = "prompted"
    """The prompt is here, and would be forgotten."""
    REMEMBERED = "remembered"
    """The prompt is in the conversation, and nobody was given a sign of it."""
    TAKEN = "taken"
    """There was a sign."""
    ANSWERED = "answered"
    """All is said, and the turn has not ended."""


class GatedAgent(DemoAgent):
    """Takes turns as the demo's agent does, with gates between its steps."""

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Open a conversation."""
        await self._gate(Place.OPENING)
        return await super().new_session(cwd)

    async def prompt(self, session_id: str, prompt: Sequence[object], **_: Any) -> PromptResponse:
        """Take one turn."""
        conversation = self._conversations[session_id]
        text = "\n".join(block.text for block in prompt if isinstance(block, TextContentBlock))
        await self._gate(Place.PROMPTED)
        conversation.remember("user", text)
        await self._gate(Place.REMEMBERED)
        await self._say(session_id, "Looking. ")
        await self._gate(Place.TAKEN)
        answer = what_was_read(text)
        await self._say(session_id, answer)
        conversation.remember("agent", answer)
        await self._gate(Place.ANSWERED)
        return PromptResponse(stop_reason="end_turn")

    async def _gate(self, place: Place) -> None:
        hold, held = self._folder / f"hold-{place}", self._folder / f"held-{place}"
        if hold.exists():
            hold.rename(held)
        while held.exists():  # noqa: ASYNC110 - another process opens the gate
            await asyncio.sleep(0.01)


def main() -> None:
    """Run over standard input and output until the client goes; the one argument is where conversations are kept."""
    asyncio.run(run_agent(cast(Agent, GatedAgent(Path(sys.argv[1]), 0.0))))


if __name__ == "__main__":
    main()
