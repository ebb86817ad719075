"""What the operator may ask the bot for: how things stand, and who is asking. Strangers get no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from eventlog.event import LogEvent
from eventlog.events.telegram import TelegramCommand, TelegramUpdateFailed, TelegramUpdateIgnored
from telegrambot.calls import BotApi
from telegrambot.failures import CallFailed, Evidence, Failure, Reason
from telegrambot.replies import METHOD, HandedOver, HandOver, Replies, Reply
from telegrambot.texts import cut
from telegrambot.updates import Update, command_in


class Command(StrEnum):
    """What can be asked for."""

    STATUS = "status"
    """How the service and its work stand."""
    WHOAMI = "whoami"
    """The ids of who asks and where, for the settings."""
    HELP = "help"
    """What can be asked for."""


MENU = {
    Command.STATUS: "How the service and its work stand",
    Command.WHOAMI: "Your id and this chat's, for the settings",
    Command.HELP: "What can be asked for",
}
OTHER_NAMES = {"start": Command.HELP}
"""Telegram's own button for a new chat sends `/start`."""


class IgnoreReason(StrEnum):
    """Why an update is not answered."""

    NO_COMMAND = "no-command"
    """It is no message that begins with a command of ours."""
    NOT_AN_OPERATOR = "not-an-operator"
    """It comes from somebody whom `telegram.operators` does not name."""


def kept_for_later(tell: Callable[[HandedOver], object]) -> HandOver:
    """The outbox of answers is the update itself, which is on disk: it is handled again when Telegram takes messages.

    What it returns tells of the answer, then raises CallFailed, always.
    """

    async def keep(handed: HandedOver) -> None:
        tell(handed)
        raise CallFailed(
            handed.failure
            or Failure(
                method=METHOD,
                reason=Reason.RATE_LIMITED,
                evidence=Evidence.NOTHING,
                description="the chat takes nothing for now",
                retry_after_s=handed.not_before_s,
            )
        )

    return keep


@dataclass(slots=True, kw_only=True)
class OperatorCommands:
    """Answers updates, one call each. Safe to repeat: nothing is changed by asking."""

    api: BotApi
    replies: Replies
    operators: frozenset[int]
    standing: Callable[[], str]
    """How things stand, in lines; called in a thread of its own."""
    emit: Callable[[LogEvent], None]
    _bot_name: str = field(default="", init=False)

    async def __call__(self, update: Update) -> None:
        """Answer, or say in the log why not. Raises CallFailed where the answer is still owed."""
        command = await self._command(update)
        chat_id = update.chat_id
        if command is None or chat_id is None:
            return self._ignore(update, IgnoreReason.NO_COMMAND)
        if update.user_id not in self.operators:
            return self._ignore(update, IgnoreReason.NOT_AN_OPERATOR)
        text = await self._answer(command, update)
        try:
            await self.replies.reply(Reply(chat_id=chat_id, text=cut(text), thread_id=_thread_of(update)))
        except CallFailed as failed:
            if failed.failure.reason is not Reason.NO_ANSWER:
                raise
            # It may have arrived: asking again is up to the operator, who can see.
            self.emit(TelegramUpdateFailed(update_id=update.update_id, will_retry=False, error=str(failed)))
        else:
            self.emit(TelegramCommand(update_id=update.update_id, command=command))
        return None

    async def introduce(self) -> None:
        """Tell Telegram what the bot's menu holds. Safe to repeat. Raises CallFailed."""
        menu = [{"command": command.value, "description": said} for command, said in MENU.items()]
        await self.api.call("setMyCommands", {"commands": menu})

    async def _answer(self, command: Command, update: Update) -> str:
        match command:
            case Command.STATUS:
                return await asyncio.to_thread(self.standing)
            case Command.WHOAMI:
                return f"You are {update.user_id}, and this chat is {update.chat_id}."
            case Command.HELP:
                return "\n".join(f"/{command} – {said}" for command, said in MENU.items())
            case _:
                assert_never(command)

    async def _command(self, update: Update) -> Command | None:
        """The command that a message begins with; None for another bot's, and for anything else."""
        word = command_in(update.text) if update.kind == "message" else None
        if word is None or (word.bot and not word.is_for(await self._name())):
            return None
        known = {command.value: command for command in Command} | OTHER_NAMES
        return known.get(word.name)

    async def _name(self) -> str:
        """Our own @name, asked for once."""
        if not self._bot_name:
            told = await self.api.call("getMe")
            self._bot_name = str(told.get("username") or "") if isinstance(told, dict) else ""
        return self._bot_name

    def _ignore(self, update: Update, reason: IgnoreReason) -> None:
        self.emit(TelegramUpdateIgnored(update_id=update.update_id, reason=reason))


def _thread_of(update: Update) -> int | None:
    """The topic that a message stands in; None outside of topics."""
    thread_id = update.content.get("message_thread_id")
    return thread_id if update.content.get("is_topic_message") and isinstance(thread_id, int) else None
