"""An operator's chat as a channel's sender sees it: it does as it is told, and notes what it was sent and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from telegrambot.destinations import Destination
from telegrambot.failures import CallFailed, Evidence, Failure, Reason
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_notices import Dropped, OperatorChat
from tests.fakes.held_clock import HeldClock
from tests.fakes.telegram_clock import FakeClock

CHAT_ID = -5
LIMIT_S = 20.0
"""How long a test waits for what must happen, in real seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One call: its text, where it went, and the clock's reading."""

    text: str
    chat_id: int | str = CHAT_ID
    thread_id: int | None = None
    at: float


class ScriptedChat:
    """Fails as the script says, call by call, and takes everything when that is over. Is sender and observer at once."""

    def __init__(self, *script: Exception | None, clock: FakeClock | HeldClock | None = None, **chat: Any) -> None:
        self.clock = clock or FakeClock(now=0.0)
        self.said: list[Said] = []
        self.dropped: list[Dropped] = []
        self.called = asyncio.Event()
        self.hangs = False
        self._script = list(script)
        self.channel = OperatorChannel(
            OperatorChat(**({"chat_id": CHAT_ID, "deduping": None} | chat)), self, self.clock, self.dropped.append
        )

    @property
    def texts(self) -> list[str]:
        """What was sent, refused or not."""
        return [said.text for said in self.said]

    @property
    def drops(self) -> list[tuple[str, str]]:
        """What was dropped and why."""
        return [(dropped.text, str(dropped.reason)) for dropped in self.dropped]

    async def send(self, text: str, destination: Destination) -> None:
        """As a sender of the bot's."""
        chat_id, thread_id = destination.chat_id, destination.thread_id
        self.said.append(Said(text=text, chat_id=chat_id, thread_id=thread_id, at=self.clock.now))
        self.called.set()
        if self.hangs:
            await asyncio.Event().wait()
        if self._script and (problem := self._script.pop(0)) is not None:
            raise problem

    @asynccontextmanager
    async def running(self) -> AsyncIterator[OperatorChannel]:
        """The channel while it sends; it is closed at the end."""
        running = asyncio.ensure_future(self.channel.run())
        try:
            yield self.channel
        finally:
            self.channel.close()
            await asyncio.wait_for(running, LIMIT_S)

    async def take(self, *texts: str, topic: str | None = None) -> None:
        """Post these and have all sent or dropped."""
        async with self.running() as channel:
            for text in texts:
                channel.post(text, topic)
            assert await channel.drain(timeout_s=LIMIT_S)


def refusal(
    reason: Reason, *, retry_after_s: float | None = None, migrate_to_chat_id: int | None = None, words: str = ""
) -> CallFailed:
    """A failure as a call raises it."""
    failure = Failure(
        method="sendMessage",
        reason=reason,
        evidence=Evidence.DESCRIPTION,
        description=words,
        retry_after_s=retry_after_s,
        migrate_to_chat_id=migrate_to_chat_id,
    )
    return CallFailed(failure)
