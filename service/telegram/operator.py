"""The operator's chat as a resource of an application: notices come from any thread, and go as the chat can take them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.resource import StartContext
from service.telegram.sending import NAME as SENDING
from service.telegram.sending import Sending
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_notices import Dropped, OperatorChat
from telegrambot.operator_sending import BotSender

NAME = "telegram-operator"
DRAIN_S = 5.0
"""How long notices that wait at the end are still sent."""


@dataclass(slots=True)
class OperatorWork:
    """Sends what is posted until the end. Trouble with the chat is never trouble for the application: nothing needs this."""

    channel: OperatorChannel
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def resource(self, loop: EventLoop) -> Running:
        """This work as a resource on `loop`."""
        return Running(name=NAME, loop=loop, work=self._run, stop=self._stopping.set, needs=(SENDING,), required=False)

    async def _run(self, context: StartContext) -> None:
        running = asyncio.ensure_future(self.channel.run())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                await self.channel.drain(DRAIN_S)
        finally:
            stopping.cancel()
            self.channel.close()
            await running


def operator_channel(sending: Sending, chat: OperatorChat, on_dropped: Callable[[Dropped], object]) -> OperatorChannel:
    """The channel to a chat by the bot's shared connections."""
    return OperatorChannel(chat, BotSender(sending.api), sending.clock, on_dropped, sending.floods)
