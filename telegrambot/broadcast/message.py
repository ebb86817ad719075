"""What a broadcast sends: one method with its parameters, the same for every chat."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from telegrambot.calls import BotApi
from telegrambot.floods import ChatId

Send = Callable[[ChatId], Awaitable[None]]
"""Sends the message to one chat, once. Raises CallFailed; any other error leaves open whether the message arrived."""


@dataclass(frozen=True, slots=True)
class Message:
    """A method of the Bot API that sends (`sendMessage`, `copyMessage`), and its parameters but for the chat."""

    method: str
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Equal for equal messages, whatever the order of their parameters. Raises TypeError for what is no JSON."""
        content = json.dumps([self.method, dict(self.parameters)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def sender(api: BotApi, message: Message) -> Send:
    """Sends the message as a bot."""

    async def send(chat_id: ChatId) -> None:
        await api.call(message.method, {**message.parameters, "chat_id": chat_id})

    return send
