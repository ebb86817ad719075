"""Who gets a broadcast: gathered and written down once, and from then on read."""

import inspect
import json
from collections.abc import AsyncIterable, Awaitable, Iterable, Sequence
from pathlib import Path

from telegrambot.broadcast.files import write_once
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
from telegrambot.floods import ChatId

Recipients = Iterable[ChatId] | AsyncIterable[ChatId] | Awaitable[Iterable[ChatId]]
"""Chats as the application has them: at hand, to be asked for one by one, or to be waited for."""

NAME_CHARACTERS_MAX = 64


async def gathered(recipients: Recipients) -> tuple[ChatId, ...]:
    """Each chat once, at its first place; 5 and "5" are two, @News and @news one.

    Raises BroadcastRefused for what is no chat, and where there is none.
    """
    if isinstance(recipients, AsyncIterable):
        chats: Iterable[ChatId] = [chat async for chat in recipients]
    else:
        chats = await recipients if isinstance(recipients, Awaitable) else recipients
    once: dict[ChatId, ChatId] = {}
    for chat in chats:
        once.setdefault(_spelled_alike(_checked(chat)), chat)
    if not once:
        raise BroadcastRefused(Refusal.NOBODY, "there is nobody to write to: nothing was begun")
    return tuple(once.values())


def forgo(recipients: Recipients) -> None:
    """Leave a source unasked, and let Python not complain that a coroutine was never awaited."""
    if inspect.iscoroutine(recipients):
        recipients.close()


def keep(path: Path, audience: Sequence[ChatId]) -> None:
    """Write the audience down for good. Raises FileExistsError where there is one."""
    write_once(path, json.dumps(audience).encode() + b"\n")


def kept(path: Path) -> tuple[ChatId, ...] | None:
    """The audience as it was written down; None: it never was. Raises BroadcastRefused where it cannot be read."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        audience = json.loads(content)
    except (ValueError, RecursionError):
        audience = None
    if not isinstance(audience, list) or not all(map(_is_chat, audience)) or len(set(audience)) != len(audience):
        why = f"{path.name} is no list of chats: put back the one that was written, or give the broadcast another name"
        raise BroadcastRefused(Refusal.AUDIENCE_UNREADABLE, why)
    return tuple(audience)


def _checked(chat: ChatId) -> ChatId:
    if not _is_chat(chat):
        why = f"a recipient is a chat's number, or a name of at most {NAME_CHARACTERS_MAX} characters"
        raise BroadcastRefused(Refusal.RECIPIENT, why)
    return chat


def _spelled_alike(chat: ChatId) -> ChatId:
    """Telegram's names know no capitals."""
    return chat.lower() if isinstance(chat, str) else chat


def _is_chat(value: object) -> bool:
    # True and 1.0 would count as the same recipient as 1.
    if isinstance(value, str):
        return 1 <= len(value) <= NAME_CHARACTERS_MAX
    return isinstance(value, int) and not isinstance(value, bool)
