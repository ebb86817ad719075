"""The bot's connections for everything but polling, on the event loop of its resources."""

import asyncio

from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.resource import StartContext
from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.clock import Clock, SystemClock
from telegrambot.floods import Floods

NAME = "telegram-sending"


class Sending:
    """What all senders of one bot share: its connections, and what Telegram said about waiting."""

    def __init__(self, token: Token, root_url: str, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self.token = token
        self.floods = Floods(self.clock)
        self._client = sending_client(trust_env=True)
        self.api = BotApi(token, self._client, root_url)
        self._stopping = asyncio.Event()

    def resource(self, loop: EventLoop, *, required: bool = True) -> Running:
        """Keeps the connections open until those who depend on it have ended."""
        return Running(name=NAME, loop=loop, work=self._hold, stop=self._stopping.set, required=required)

    async def _hold(self, context: StartContext) -> None:
        async with self._client:
            await self._stopping.wait()
