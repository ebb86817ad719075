"""A broadcast through a Bot API server: what the wire does to a message, and what the broadcast makes of it."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from telegrambot.broadcast.delivery import HaltCause
from telegrambot.broadcast.message import Message, sender
from telegrambot.broadcast.report import Report
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.clock import Clock
from tests.fakes.bot_api.faults import DropUnanswered
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.broadcasting import HELLO, counts
from tests.fakes.telegram_clock import FakeClock


class Wire:
    """A broadcast through the stand-in Bot API server."""

    def __init__(self, bot_api: StandInBotApi, directory: Path) -> None:
        self.bot_api, self.directory = bot_api, directory

    def run(self, recipients: list[int], message: Message = HELLO, clock: Clock | None = None) -> Report:
        async def run() -> Report:
            async with sending_client() as client:
                send = sender(BotApi(Token(self.bot_api.token), client, self.bot_api.root_url), message)
                order = Order(name="news", directory=self.directory, message=message)
                return await broadcast(order, recipients, send, clock or FakeClock(), Oversight())

        return asyncio.run(run())

    @property
    def arrived(self) -> list[int | str]:
        return [send.chat_id for send in self.bot_api.sends]


class RecoveringClock(FakeClock):
    """While it sleeps, the outage ends."""

    def __init__(self, outage: ExitStack) -> None:
        super().__init__()
        self._outage = outage

    async def sleep(self, seconds: float) -> None:
        self._outage.close()
        await super().sleep(seconds)


@pytest.fixture
def wire(tmp_path: Path):
    with StandInBotApi() as bot_api:
        yield Wire(bot_api, tmp_path)


def test_a_connection_that_drops_after_the_request_leaves_one_message_and_an_uncertain_recipient(wire: Wire) -> None:
    wire.bot_api.arm("sendMessage", DropUnanswered())
    halted = wire.run([5, 6])
    assert halted.halt is not None
    assert (halted.halt.cause, counts(halted)) == (HaltCause.UNCERTAIN, {"uncertain": 1, "pending": 1})
    assert counts(wire.run([5, 6])) == {"uncertain": 1, "delivered": 1}
    assert wire.arrived == [5, 6]


def test_a_refused_connection_is_tried_again_and_delivers_once_when_it_recovers(wire: Wire) -> None:
    with ExitStack() as outage:
        outage.enter_context(wire.bot_api.unreachable())
        report = wire.run([5], clock=RecoveringClock(outage))
    assert (counts(report), wire.arrived) == ({"delivered": 1}, [5])


def test_a_copied_message_goes_out_with_its_parameters(wire: Wire) -> None:
    wire.bot_api.chat(1).holds(77, "the original")
    wire.run([5], Message("copyMessage", {"from_chat_id": 1, "message_id": 77}))
    [call] = wire.bot_api.calls_of("copyMessage")
    assert dict(call.values) == {"chat_id": 5, "from_chat_id": 1, "message_id": 77}
    assert wire.arrived == [5]


def test_a_refused_recipient_is_told_with_telegrams_own_words_and_without_the_token(wire: Wire) -> None:
    wire.bot_api.revoke()
    report = wire.run([5])
    assert str(report.halt) == "unauthorized: sendMessage: unauthorized 401 Unauthorized"
    assert wire.bot_api.token not in repr(report)
