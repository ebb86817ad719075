"""An unmodified aiogram against the Bot API server that it is told: prints as JSON what it made of the answers."""

from __future__ import annotations

import asyncio
import json
import sys

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    TelegramAPIError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramRetryAfter,
)
from aiogram.types import BotCommand, BufferedInputFile, Message


async def main(root_url: str, token: str) -> None:
    bot = Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(root_url)))
    try:
        seen = {"me": (await bot.get_me()).username, **await sending(bot), "received": await polling(bot)}
        print(json.dumps(seen))
    finally:
        await bot.session.close()


async def sending(bot: Bot) -> dict[str, object]:
    """Call what a bot calls, repeat what is to be repeated, and name what was refused."""
    seen: dict[str, object] = {}
    await bot.set_my_commands([BotCommand(command="start", description="Start")])
    seen["commands"] = [command.command for command in await bot.get_my_commands()]
    try:
        sent = await bot.send_message(5, "hello")
    except TelegramRetryAfter as flood:
        seen["retry_after"] = flood.retry_after
        sent = await bot.send_message(5, "hello")
    await bot.edit_message_text("hello again", chat_id=5, message_id=sent.message_id)
    document = (await bot.send_document(5, BufferedInputFile(b"\0content", "log.txt"))).document
    stored = await bot.get_file(document.file_id)
    seen["file"] = (await bot.download_file(stored.file_path)).read().decode()
    try:
        await bot.send_message(6, "to one who blocked it")
    except TelegramForbiddenError as refused:
        seen["blocked"] = refused.message
    try:
        await bot.send_message(-77, "to a group of old")
    except TelegramMigrateToChat as moved:
        seen["migrated"] = moved.migrate_to_chat_id
    try:
        await bot.send_message(5, "")
    except TelegramAPIError as refused:
        seen["refused"] = refused.message
    return seen


async def polling(bot: Bot) -> list[str | None]:
    """Receive messages until one says stop."""
    received: list[str | None] = []
    dispatcher = Dispatcher()

    @dispatcher.message()
    async def take(message: Message) -> None:
        if message.text == "stop":
            await dispatcher.stop_polling()
        else:
            received.append(message.text)

    await dispatcher.start_polling(bot, handle_signals=False, polling_timeout=30, close_bot_session=False)
    return received


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
