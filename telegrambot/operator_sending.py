"""How one notice is sent into the operator's chat, and how its failure is read."""

from typing import Protocol

from telegrambot.calls import BotApi
from telegrambot.destinations import Destination
from telegrambot.failures import Evidence, Failure, Reason, failure_in

METHOD = "sendMessage"


class Sender(Protocol):
    """The way into Telegram."""

    async def send(self, text: str, destination: Destination) -> None:
        """Send one message. Raises CallFailed."""


class BotSender:
    """Sends as a bot: plain text, without a preview of what it links to, and never with its own token in it."""

    __slots__ = ("_api",)

    def __init__(self, api: BotApi) -> None:
        self._api = api

    async def send(self, text: str, destination: Destination) -> None:
        parameters = {
            "chat_id": destination.chat_id,
            "message_thread_id": destination.thread_id,
            "text": self._api.mask(text),
            "link_preview_options": {"is_disabled": True},
        }
        await self._api.call(METHOD, parameters)


def failure_of(error: Exception) -> Failure:
    """The failed call in what a sender raised; a fault of the sender itself is told by its type alone."""
    return failure_in(error) or Failure(
        method=METHOD, reason=Reason.UNKNOWN, evidence=Evidence.NOTHING, description=type(error).__name__
    )
