"""An unmodified python-telegram-bot against the Bot API server that it is told: prints as JSON what it made of the answers."""

from __future__ import annotations

import asyncio
import json
import sys

from telegram import Bot, BotCommand, Update
from telegram.error import ChatMigrated, Forbidden, RetryAfter, TelegramError
from telegram.ext import Application, ContextTypes, MessageHandler, filters


async def main(root_url: str, token: str) -> None:
    builder = Application.builder().token(token)
    application = builder.base_url(f"{root_url}/bot").base_file_url(f"{root_url}/file/bot").build()
    async with application:
        bot = application.bot
        seen = {"me": (await bot.get_me()).username, **await sending(bot), "received": await polling(application)}
        print(json.dumps(seen))


async def sending(bot: Bot) -> dict[str, object]:
    """Call what a bot calls, repeat what is to be repeated, and name what was refused."""
    seen: dict[str, object] = {}
    await bot.set_my_commands([BotCommand("start", "Start")])
    seen["commands"] = [command.command for command in await bot.get_my_commands()]
    try:
        sent = await bot.send_message(5, "hello")
    except RetryAfter as flood:
        seen["retry_after"] = int(flood.retry_after)
        sent = await bot.send_message(5, "hello")
    await bot.edit_message_text("hello again", chat_id=5, message_id=sent.message_id)
    document = (await bot.send_document(5, b"\0content", filename="log.txt")).document
    seen["file"] = (await (await bot.get_file(document.file_id)).download_as_bytearray()).decode()
    try:
        await bot.send_message(6, "to one who blocked it")
    except Forbidden as refused:
        seen["blocked"] = refused.message
    try:
        await bot.send_message(-77, "to a group of old")
    except ChatMigrated as moved:
        seen["migrated"] = moved.new_chat_id
    try:
        await bot.send_message(5, "")
    except TelegramError as refused:
        seen["refused"] = refused.message
    return seen


async def polling(application: Application) -> list[str | None]:
    """Receive messages until one says stop."""
    received: list[str | None] = []
    is_over = asyncio.Event()

    async def take(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        if update.message.text == "stop":
            is_over.set()
        else:
            received.append(update.message.text)

    application.add_handler(MessageHandler(filters.TEXT, take))
    await application.updater.start_polling(timeout=30)
    await application.start()
    await is_over.wait()
    await application.updater.stop()
    await application.stop()
    return received


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
