"""The poller by itself, without an application."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from telegrambot.admission import OpenAdmission
from telegrambot.calls import BotApi, Token, polling_client
from telegrambot.endings import Cause, Ended
from telegrambot.polling import Poller
from telegrambot.updates import Update
from tests.fakes.bot_api.answers import RESTARTING
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.telegram_clock import FakeClock


async def stopped_after_a_batch(bot_api: StandInBotApi, turns: int) -> Ended:
    """Poll until a batch is finished and the event loop has turned so often."""

    async def stop_later() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        poller.stop()

    stopping: list[asyncio.Task[None]] = []

    async def take(updates: Sequence[Update], finished) -> None:
        for update in updates:
            finished(update.update_id)
        stopping.append(asyncio.ensure_future(stop_later()))

    async with polling_client(40.0) as client:
        poller = Poller(
            BotApi(Token(bot_api.token), client, bot_api.root_url), OpenAdmission(), take, clock=FakeClock()
        )
        return await poller.run()


@pytest.mark.parametrize("turns", range(16))
def test_a_finished_batch_is_confirmed_wherever_the_end_meets_the_next_poll(turns: int) -> None:
    with StandInBotApi(stands_at_s=1_000.0) as bot_api:
        bot_api.push_text("a")
        ended = asyncio.run(stopped_after_a_batch(bot_api, turns))
        bot_api.wait_for(lambda: bot_api.confirmed_ids == [10], "the confirmation")
    assert ended == Ended(cause=Cause.STOPPED)


def test_a_batch_is_confirmed_at_the_end_where_the_poll_after_it_failed() -> None:
    with StandInBotApi(stands_at_s=1_000.0) as bot_api:
        bot_api.push_text("a")

        async def run() -> None:
            async def take(updates: Sequence[Update], finished) -> None:
                finished(10)
                bot_api.arm("getUpdates", RESTARTING, 1)

            class StopsInAPause(FakeClock):
                async def sleep(self, seconds: float) -> None:
                    poller.stop()
                    await asyncio.sleep(0)

            async with polling_client(40.0) as client:
                api = BotApi(Token(bot_api.token), client, bot_api.root_url)
                poller = Poller(api, OpenAdmission(), take, clock=StopsInAPause())
                await poller.run()

        asyncio.run(run())
        assert ([poll.offset for poll in bot_api.polls], bot_api.confirmed_ids) == ([None, 11, 11], [10])


def test_a_poller_that_is_cancelled_while_it_ends_is_cancelled() -> None:
    async def run(bot_api: StandInBotApi) -> None:
        begun = asyncio.Event()

        async def take(updates: Sequence[Update], finished) -> None:
            begun.set()
            await asyncio.Event().wait()

        async with polling_client(40.0) as client:
            poller = Poller(BotApi(Token(bot_api.token), client, bot_api.root_url), OpenAdmission(), take)
            running = asyncio.ensure_future(poller.run())
            await begun.wait()
            poller.stop()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    with StandInBotApi(stands_at_s=1_000.0) as bot_api:
        bot_api.push_text("a")
        asyncio.run(run(bot_api))
        assert [poll.offset for poll in bot_api.polls] == [None]


def test_a_poller_without_an_application_holds_no_lease_when_it_has_ended() -> None:
    admission = OpenAdmission()

    async def run(bot_api: StandInBotApi) -> None:
        async def take(updates: Sequence[Update], finished) -> None:
            finished(10)
            poller.stop()

        async with polling_client(40.0) as client:
            poller = Poller(BotApi(Token(bot_api.token), client, bot_api.root_url), admission, take)
            await poller.run()

    with StandInBotApi(stands_at_s=1_000.0) as bot_api:
        bot_api.push_text("a")
        asyncio.run(run(bot_api))
    assert admission.pending == 0
