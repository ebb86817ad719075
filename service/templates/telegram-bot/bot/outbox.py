"""Sends later what Telegram would not take at once; until then it is on disk."""

import asyncio
import contextlib
import logging

from bot.store import Store
from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.resource import StartContext
from service.telegram.sending import NAME as SENDING
from service.telegram.sending import Sending
from telegrambot.failures import CallFailed
from telegrambot.replies import HandedOver, Replies

NAME = "outbox"
LOOK_S = 1.0
"""How often is looked for replies whose time has come."""

log = logging.getLogger(__name__)


class Outbox:
    """The way of all replies: `replies` sends them, and hands those over that would hold up their handler."""

    def __init__(self, sending: Sending, store: Store) -> None:
        self._clock, self._store = sending.clock, store
        self._stopping = asyncio.Event()
        self.replies = Replies(sending.api, sending.clock, self._keep, _tell, floods=sending.floods)

    def resource(self, loop: EventLoop) -> Running:
        """This work as a resource on `loop`."""
        return Running(name=NAME, loop=loop, work=self._run, stop=self._stopping.set, needs=(SENDING, self._store.name))

    async def _run(self, context: StartContext) -> None:
        while not self._stopping.is_set():
            for waiting in self._store.due(self._clock.wall()):
                try:
                    # What still cannot be sent is handed over anew, and so is a row of its own by now.
                    await self.replies.reply(waiting.reply)
                except CallFailed as failed:
                    log.warning("a reply is given up: %s", failed)
                self._store.done_with(waiting)
                if self._stopping.is_set():
                    return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOOK_S)

    async def _keep(self, handed: HandedOver) -> None:
        self._store.put_by(handed.reply, self._clock.wall() + handed.not_before_s)


def _tell(handed: HandedOver) -> None:
    log.warning(
        "a reply has to wait %.0f s: %s", handed.not_before_s, handed.failure or "its chat takes nothing for now"
    )
