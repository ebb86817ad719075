"""Who wrote to the bot lately, with the ids that the settings ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from telegrambot.calls import UPDATES_BYTES_MAX, BotApi
from telegrambot.updates import Update, read_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An account that wrote, and the chat in which it did."""

    user_id: int
    chat_id: int
    name: str
    chat_name: str


async def peek(api: BotApi) -> list[Seen]:
    """Who stands in the updates that wait at Telegram; none of them is confirmed. Raises CallFailed.

    It interrupts a poller of the same bot, which then asks again.
    """
    result = await api.call("getUpdates", {"limit": 100, "timeout": 0}, answer_bytes_max=UPDATES_BYTES_MAX)
    batch = read_batch(result if isinstance(result, list) else ())
    return seen_in(element for element in batch if isinstance(element, Update))


def seen_in(updates: Iterable[Update]) -> list[Seen]:
    """The accounts and chats of messages, the newest first, each pair once."""
    found: dict[tuple[int, int], Seen] = {}
    for update in reversed(list(updates)):
        user_id, chat_id = update.user_id, update.chat_id
        if update.kind == "message" and user_id is not None and chat_id is not None:
            seen = Seen(
                user_id=user_id,
                chat_id=chat_id,
                name=_name(update.content.get("from")),
                chat_name=_name(update.content.get("chat")),
            )
            found.setdefault((user_id, chat_id), seen)
    return list(found.values())


def _name(held: object) -> str:
    """How Telegram shows an account or a chat."""
    if not isinstance(held, dict):
        return ""
    if isinstance(held.get("username"), str):
        return f"@{held['username']}"
    names = (held.get("title"), held.get("first_name"), held.get("last_name"))
    return " ".join(name for name in names if isinstance(name, str))
