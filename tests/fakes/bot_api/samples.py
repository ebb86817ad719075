"""Updates as Telegram writes them, without the id that the queue gives."""

from __future__ import annotations

import itertools
import time
from typing import Any

from tests.fakes.bot_api.chats import Chat

_numbers = itertools.count(1001)


def text_message(
    text: str, chat_id: int = 5, sender_id: int = 5, thread_id: int | None = None, message_id: int | None = None
) -> dict[str, Any]:
    """Somebody writes to the bot; a text that starts with a slash is marked as a command."""
    message = {
        "message_id": message_id or next(_numbers),
        "date": int(time.time()),
        "chat": Chat(chat_id).described(),
        "from": _person(sender_id),
        "text": text,
    }
    if text.startswith("/"):
        message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text.split()[0])}]
    if thread_id is not None:
        message |= {"message_thread_id": thread_id, "is_topic_message": True}
    return {"message": message}


def button_press(data: str, chat_id: int = 5, sender_id: int = 5, message_id: int = 1) -> dict[str, Any]:
    """Somebody presses a button under a message of the bot."""
    message = {"message_id": message_id, "date": int(time.time()), "chat": Chat(chat_id).described(), "text": "?"}
    query = {"id": str(next(_numbers)), "from": _person(sender_id), "message": message, "chat_instance": "1"}
    return {"callback_query": query | {"data": data}}


def reaction(chat_id: int = 5) -> dict[str, Any]:
    """Somebody reacts to a message: of the kinds that nobody gets who did not ask for them."""
    said = {"message_id": 1, "date": int(time.time()), "chat": Chat(chat_id).described()}
    return {"message_reaction": said | {"old_reaction": [], "new_reaction": []}}


def _person(sender_id: int) -> dict[str, Any]:
    return {"id": sender_id, "is_bot": False, "first_name": f"User {sender_id}"}
