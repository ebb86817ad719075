"""A broadcast as the operator asks for it: who is written to, what is said, and the run until its end or a signal."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.settings import Settings
from service.telegram.seat import token_of
from telegrambot.broadcast.message import Message, sender, text_message
from telegrambot.broadcast.report import Report
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.calls import BotApi, sending_client
from telegrambot.clock import SystemClock
from telegrambot.failures import CallFailed
from telegrambot.floods import ChatId

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_CHANNEL = re.compile(r"@[A-Za-z][A-Za-z0-9_]{3,31}")
_NUMBER = re.compile(r"-?[1-9][0-9]{0,18}")
_COPIED = re.compile(r"(?P<chat>-?[0-9]{1,19}|@[A-Za-z][A-Za-z0-9_]{3,31})/(?P<message>[1-9][0-9]{0,18})")


class NotUnderstood(ValueError):
    """What was given is no recipient or no message; the text says which line, and what to write."""


def recipients_in(text: str) -> list[ChatId]:
    """A chat id or an @channel on each line; empty lines and what follows a `#` do not count. Raises NotUnderstood."""
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1)]
    return [_recipient(number, line) for number, line in lines if line]


def message_of(text: str | None, copied: str | None) -> Message:
    """What is sent: a plain text, or a copy of CHAT/MESSAGE. Raises NotUnderstood and TextRefused."""
    if (text is None) == (copied is None):
        raise NotUnderstood("say what to send, once: --text, --text-file or --copy")
    if copied is not None:
        found = _COPIED.fullmatch(copied)
        if found is None:
            raise NotUnderstood(f"{copied!r} is no message: write --copy CHAT/MESSAGE, as in -1001234567890/17")
        from_chat: ChatId = found["chat"] if found["chat"].startswith("@") else int(found["chat"])
        return Message("copyMessage", {"from_chat_id": from_chat, "message_id": int(found["message"])})
    return text_message(text or "")


def run(settings: Settings, order: Order, recipients: list[ChatId], observe: Callable[[Report], object]) -> Report:
    """Send until the end. The first signal ends it after the send that is under way, the second one at once.

    Raises BroadcastRefused, NotUnderstood, SettingsRefused, EnvironmentUnusable, Interrupted, and OSError for a full disk.
    """
    token = token_of(settings)

    async def sent() -> Report:
        oversight = Oversight(observe=observe)
        with _ended_by_signals(oversight.stop):
            async with sending_client(trust_env=True) as client:
                api = BotApi(token, client, settings.telegram.api_url)
                await _look_at_source(api, order)
                return await broadcast(order, recipients, sender(api, order.message), SystemClock(), oversight)

    try:
        return asyncio.run(sent())
    except asyncio.CancelledError:
        raise Interrupted("ended at once: whoever was being written to counts as uncertain") from None


class Interrupted(Exception):
    """The run was ended in the middle of a send."""


@contextmanager
def _ended_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Signals ask for the end while the block runs, and then for one that does not wait."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def end() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _look_at_source(api: BotApi, order: Order) -> None:
    """A chat that is not there would look like so many recipients that are not: it is asked for by itself."""
    source = order.message.parameters.get("from_chat_id")
    if source is None or order.is_dry:
        return
    try:
        await api.call("getChat", {"chat_id": source})
    except CallFailed as failed:
        raise NotUnderstood(f"the chat {source} that is to be copied from gives no answer: {failed}") from failed


def _recipient(number: int, line: str) -> ChatId:
    if _NUMBER.fullmatch(line):
        return int(line)
    if _CHANNEL.fullmatch(line):
        return line
    raise NotUnderstood(f"line {number} of the recipients is neither a chat id nor an @channel")
