"""Chats of the stand-in: who may be written to, which topics there are, and the messages they hold."""

from __future__ import annotations

from typing import Any

from tests.fakes.bot_api.answers import THREAD_NOT_FOUND, TOPIC_CLOSED, Refusal, Refused, bad_request, flood, migrated

Message = dict[str, Any]


class Chat:
    """One chat. It takes every message until it is told to refuse."""

    def __init__(self, chat_id: int, name: str | None = None) -> None:
        self.chat_id = chat_id
        self.messages: dict[int, Message] = {}
        self._name = name
        self._refusals: list[tuple[Refusal, int | None]] = []
        self._topics: dict[int, Refusal | None] = {}

    def refuses(self, refusal: Refusal, times: int | None = None) -> None:
        """So many sends, after those that earlier refusals have taken; None: until it accepts again."""
        self._refusals.append((refusal, times))

    def floods(self, retry_after_s: int, times: int | None = 1) -> None:
        self.refuses(flood(retry_after_s), times)

    def migrates(self, to_chat_id: int) -> None:
        """A group that has become a supergroup under another id."""
        self.refuses(migrated(to_chat_id))

    def accepts(self) -> None:
        self._refusals.clear()

    def open_topic(self, thread_id: int) -> None:
        self._topics[thread_id] = None

    def close_topic(self, thread_id: int) -> None:
        self._topics[thread_id] = TOPIC_CLOSED

    def delete_topic(self, thread_id: int) -> None:
        self._topics[thread_id] = THREAD_NOT_FOUND

    def holds(self, message_id: int, text: str = "") -> None:
        """A message that somebody else wrote there."""
        self.messages[message_id] = {"message_id": message_id, "text": text}

    def admit(self, thread_id: int | None) -> None:
        """Raises Refused when a message may not come here; a refusal that was told for so many sends is used up."""
        if self._refusals:
            refusal, times = self._refusals[0]
            if times is not None:
                self._refusals[0] = (refusal, times - 1)
                if times == 1:
                    del self._refusals[0]
            raise Refused(refusal)
        # The general topic is written to without a number, so a topic 1 is as unknown as any other.
        closed = None if thread_id is None else self._topics.get(thread_id, THREAD_NOT_FOUND)
        if closed is not None:
            raise Refused(closed)

    def write(self, content: Message, at_s: float) -> Message:
        """Keep a message of the bot and say what the server says of it."""
        message_id = max(self.messages, default=0) + 1
        message = {"message_id": message_id, "date": int(at_s), "chat": self.described(), **content}
        self.messages[message_id] = message
        return message

    def find(self, message_id: int, wanted_for: str) -> Message:
        """Raises Refused when there is no such message; `wanted_for` is a word of the server's answer."""
        if message_id not in self.messages:
            raise Refused(bad_request(f"message to {wanted_for} not found"))
        return self.messages[message_id]

    def described(self) -> Message:
        if self._name is not None:
            return {"id": self.chat_id, "type": "channel", "title": self._name, "username": self._name}
        if self.chat_id > 0:
            return {"id": self.chat_id, "type": "private", "first_name": f"User {self.chat_id}"}
        kind = "supergroup" if str(self.chat_id).startswith("-100") else "group"
        return {"id": self.chat_id, "type": kind, "title": f"Group {self.chat_id}"}


class Chats:
    """All chats; one that nobody has spoken of is made when it is first written to."""

    def __init__(self) -> None:
        self._by_id: dict[int | str, Chat] = {}

    def chat(self, chat_id: int | str) -> Chat:
        """By number, which may be written as text, or by @name."""
        spoken = _number_if_it_is_one(chat_id)
        if spoken not in self._by_id:
            self._by_id[spoken] = (
                Chat(spoken) if isinstance(spoken, int) else Chat(-1_009_000_000_000 - len(self._by_id), spoken[1:])
            )
        return self._by_id[spoken]

    def asked(self, chat_id: str) -> Chat:
        """Raises Refused for what names no chat at all."""
        spoken = _number_if_it_is_one(chat_id)
        if spoken == "":
            raise Refused(bad_request("chat_id is empty"))
        if isinstance(spoken, str) and not spoken.startswith("@"):
            raise Refused(bad_request("chat not found"))
        return self.chat(spoken)


def _number_if_it_is_one(chat_id: int | str) -> int | str:
    try:
        return int(chat_id)
    except ValueError:
        return str(chat_id)
