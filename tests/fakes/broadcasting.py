"""A broadcast to chats that answer as a test says, in a folder and on a clock of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from telegrambot.broadcast.audience import Recipients
from telegrambot.broadcast.delivery import Pace
from telegrambot.broadcast.message import Message
from telegrambot.broadcast.report import Report
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.failures import CallFailed, Evidence, Failure, Reason, failure_of_answer
from telegrambot.floods import ChatId
from tests.fakes.bot_api.answers import Refusal
from tests.fakes.telegram_clock import FakeClock

HELLO = Message("sendMessage", {"text": "hello"})
NEVER_SENT = Failure(method="sendMessage", reason=Reason.NOT_DISPATCHED, evidence=Evidence.TRANSPORT)
NO_ANSWER = Failure(method="sendMessage", reason=Reason.NO_ANSWER, evidence=Evidence.TRANSPORT)

Answer = Failure | Refusal | BaseException


class Chats:
    """Takes one message after the other; `answers` holds what a chat says to the next ones instead of taking them."""

    def __init__(self, answers: Mapping[ChatId, list[Answer]] | None = None) -> None:
        self.answers = dict(answers or {})
        self.attempts: list[ChatId] = []
        self.got: list[ChatId] = []
        self.before_each: Callable[[ChatId], object] = lambda chat_id: None

    async def send(self, chat_id: ChatId) -> None:
        self.before_each(chat_id)
        self.attempts.append(chat_id)
        if self.answers.get(chat_id):
            answer = self.answers[chat_id].pop(0)
            raise answer if isinstance(answer, BaseException) else refused(answer)
        self.got.append(chat_id)


class Broadcasting:
    """Runs of the broadcast `news`."""

    def __init__(self, directory: Path, chats: Chats | None = None, pace: Pace | None = None) -> None:
        self.directory = directory
        self.chats = chats or Chats()
        self.pace = pace or Pace()
        self.clock = FakeClock()
        self.oversight = Oversight()

    @property
    def journal(self) -> Path:
        return self.directory / "news.journal.ndjson"

    def order(self, message: Message = HELLO, *, is_dry: bool = False, may_differ: bool = False) -> Order:
        return Order(
            name="news",
            directory=self.directory,
            message=message,
            pace=self.pace,
            is_dry=is_dry,
            may_differ=may_differ,
        )

    def run(self, recipients: Recipients = "ABCD", order: Order | None = None) -> Report:
        """Run it on a loop of its own."""
        run = broadcast(order or self.order(), recipients, self.chats.send, self.clock, self.oversight)
        return asyncio.run(run)

    def stop_at(self, chat_id: ChatId) -> None:
        """The next run is stopped while it sends to this chat."""
        self.oversight = Oversight()
        stop = self.oversight.stop
        self.chats.before_each = lambda sent_to: stop.set() if sent_to == chat_id else None

    def is_killed_at(self, chat_id: ChatId, recipients: Recipients = "ABCD") -> None:
        """A run ends without another word while it sends to this chat; whether the message arrived is open."""
        self.chats.answers[chat_id] = [Killed()]
        try:
            self.run(recipients)
        except Killed:
            return
        raise AssertionError(f"{chat_id} was not written to")


class Killed(BaseException):
    """Nothing that the code could catch and go on."""


def counts(report: Report) -> dict[str, int]:
    """The numbers of a report that are not 0."""
    names = ("delivered", "unreachable", "failed", "uncertain", "pending")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def refused(answer: Failure | Refusal) -> CallFailed:
    """What a sender raises at such an answer."""
    if isinstance(answer, Failure):
        return CallFailed(answer)
    parameters = {"retry_after": answer.retry_after_s, "migrate_to_chat_id": answer.migrate_to_chat_id}
    return CallFailed(failure_of_answer("sendMessage", answer.status, answer.description, parameters))
