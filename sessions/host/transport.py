"""The agent's standard streams as bounded lines of JSON: an agent that floods cannot fill our memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any

AGENT_LINE_BYTES_MAX = 8 * 1024 * 1024


class AgentFlooded(Exception):
    """The agent sent a line longer than any message may be."""


class BoundedTransport:
    """The protocol library's transport over an agent's stdin and stdout."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """`reader` must have been made with the limit `AGENT_LINE_BYTES_MAX`."""
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()
        self.finished = asyncio.Event()
        """Set when the agent will say nothing more."""
        self.flooded = False

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message; raises OSError when the agent is gone."""
        async with self._sending:
            self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message, None at the end; lines that are no JSON object are passed over."""
        while (line := await self._line()) is not None:
            # One turn of the loop for each message: what it started is carried out before the next is read,
            # so updates keep their order and a flood never piles up unhandled.
            await asyncio.sleep(0)
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                return message
        self.finished.set()
        return None

    async def close(self) -> None:
        """Close the agent's stdin; safe to repeat."""
        self._writer.close()

    async def _line(self) -> bytes | None:
        try:
            line = await self._reader.readline()
        except ValueError:
            self.flooded = True
            return None
        return line or None
