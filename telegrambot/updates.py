"""What Telegram says happened, read one update at a time and leniently: one that cannot be read holds up no other.

https://core.telegram.org/bots/api#update
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UPDATE_ID_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One update: its number, what kind it is (`message`, `callback_query`, …), and its content as Telegram sent it."""

    update_id: int
    kind: str
    content: Mapping[str, object]

    @property
    def chat_id(self) -> int | None:
        """The chat that it belongs to; None where it belongs to none."""
        message = self.content.get("message")
        return _id_of(self.content, "chat") or (_id_of(message, "chat") if isinstance(message, dict) else None)

    @property
    def user_id(self) -> int | None:
        """The account that caused it; None where there is none, as in a channel."""
        return _id_of(self.content, "from") or _id_of(self.content, "user")

    @property
    def text(self) -> str:
        """The text of a message; empty where there is none."""
        text = self.content.get("text")
        return text if isinstance(text, str) else ""

    @property
    def line(self) -> str:
        """Updates of one line are handled one after another: a chat's, else an account's, else the update by itself."""
        if (chat_id := self.chat_id) is not None:
            return f"chat:{chat_id}"
        account = self.user_id or _id_of(self.content, "voter_chat")
        return f"account:{account}" if account is not None else f"update:{self.update_id}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An element of a batch that is no update; its number is None where even that cannot be read."""

    update_id: int | None
    why: str


@dataclass(frozen=True, slots=True)
class CommandWord:
    """The command that a text begins with, without its slash, and the bot that it names, without the @; in small letters."""

    name: str
    bot: str
    """Groups say which bot is meant; empty where none is named."""

    def is_for(self, bot: str) -> bool:
        """Whether a bot of that name is meant, or none is named."""
        return self.bot in ("", bot.lower())


def command_in(text: str) -> CommandWord | None:
    """What a text asks a bot for; None where it does not begin with a command."""
    word = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if not word.startswith("/"):
        return None
    name, _, bot = word[1:].partition("@")
    return CommandWord(name, bot)


def read_batch(result: Sequence[object]) -> Sequence[Update | Unreadable]:
    """The elements of an answer to getUpdates, in its order."""
    return tuple(read_update(element) for element in result)


def read_update(element: object) -> Update | Unreadable:
    """One update, or why it is none. Never raises."""
    if not isinstance(element, dict):
        return Unreadable(None, "not an object")
    update_id = element.get("update_id")
    if not isinstance(update_id, int) or isinstance(update_id, bool) or not 0 <= update_id <= UPDATE_ID_MAX:
        return Unreadable(None, "no update_id")
    kind = next((name for name in element if name != "update_id"), None)
    if kind is None:
        return Unreadable(update_id, "nothing beside its update_id")
    content = element[kind]
    if not isinstance(content, dict):
        return Unreadable(update_id, f"{kind[:40]} is no object")
    if kind == "message" and _id_of(content, "chat") is None:
        return Unreadable(update_id, "a message without a chat")
    return Update(update_id=update_id, kind=kind, content=content)


def _id_of(content: Mapping[str, object], name: str) -> int | None:
    held = content.get(name)
    held_id = held.get("id") if isinstance(held, dict) else None
    return held_id if isinstance(held_id, int) and not isinstance(held_id, bool) else None
