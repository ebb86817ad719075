"""What a broadcast sends: one method with its parameters, the same for every chat."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from telegrambot.calls import BotApi
from telegrambot.floods import ChatId
from telegrambot.texts import TEXT_UNITS_MAX, utf16_units

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


class TextRefused(ValueError):
    """Telegram takes such a text from nobody; what is wrong with it is said."""


def text_message(text: str) -> Message:
    """A message of that text, without what surrounds it. Raises TextRefused."""
    said = text.strip()
    if not said:
        raise TextRefused("the text is empty")
    if any("\ud800" <= sign <= "\udfff" for sign in said):
        raise TextRefused("the text is not UTF-8: this terminal, or whoever wrote it, uses another encoding")
    if (units := utf16_units(said)) > TEXT_UNITS_MAX:
        raise TextRefused(f"the text is too long: {units} of {TEXT_UNITS_MAX} characters, an emoji counted twice")
    return Message("sendMessage", {"text": said})


def sender(api: BotApi, message: Message) -> Send:
    """Sends the message as a bot."""

    async def send(chat_id: ChatId) -> None:
        await api.call(message.method, {**message.parameters, "chat_id": chat_id})

    return send
