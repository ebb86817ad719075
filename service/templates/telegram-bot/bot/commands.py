"""The bot's menu, and what each of its commands does: a new command is a function and a line of the table."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.store import Store
from telegrambot.replies import Replies, Reply
from telegrambot.updates import Update, command_in

KINDS = ("message",)
"""The updates that Telegram is asked for."""


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of the menu: its line there, and what gives the answer to a message in that chat."""

    description: str
    answer: Callable[[int], str]


class Commands:
    """Answers messages that begin with a command; all others are none of its business."""

    def __init__(
        self,
        store: Store,
        replies: Replies,
        operator_chat: int | None,
        bot_name: Callable[[], str],
        restart: Callable[[], object],
    ) -> None:
        """`bot_name` tells the bot's own name; `restart` begins the shutdown and returns at once."""
        self._store, self._replies, self._operator_chat = store, replies, operator_chat
        self._bot_name, self._begin_restart = bot_name, restart
        self.table = {
            "start": Command("Get what is sent to all", self._start),
            "stop": Command("Get it no longer", self._stop),
            "help": Command("What can be asked for", self._help),
            "restart": Command("Begin anew; in the operator's chat alone", self._restart),
        }

    async def handle(self, update: Update) -> None:
        """Answer an update. May be called again with the same one: the process may have died before it was confirmed.

        Raises CallFailed where Telegram refused the answer, or nobody knows whether it arrived.
        """
        chat_id = update.chat_id
        word = command_in(update.text)
        command = self.table.get(word.name) if word is not None and word.is_for(self._bot_name()) else None
        if chat_id is not None and command is not None:
            await self._replies.reply(Reply(chat_id=chat_id, text=command.answer(chat_id)))

    def _start(self, chat_id: int) -> str:
        self._store.subscribe(chat_id)
        return "Welcome: from now on you get what is sent to all."

    def _stop(self, chat_id: int) -> str:
        self._store.unsubscribe(chat_id)
        return "You get nothing more."

    def _help(self, chat_id: int) -> str:
        return "\n".join(f"/{name} – {command.description}" for name, command in self.table.items())

    def _restart(self, chat_id: int) -> str:
        if chat_id != self._operator_chat:
            return "That is for the operator."
        # Begun and not waited for: the shutdown waits until this update is answered, and then confirms it.
        self._begin_restart()
        return "Back in a moment."
