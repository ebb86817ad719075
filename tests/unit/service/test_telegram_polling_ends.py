"""How polling ends by itself: told once, and for the application to judge."""

from __future__ import annotations

import asyncio

import pytest

from service.lifecycle.resource import Health, Phase
from service.lifecycle.shutdown import ShutdownOutcome, exit_code
from service.telegram.polling import PollingEnded, WebhookSet, refuse_webhook
from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.clock import SystemClock
from telegrambot.endings import Cause
from telegrambot.failures import Reason
from telegrambot.notices import Recovered, Retrying
from telegrambot.polling import Polling
from tests.fakes.bot_api import faults
from tests.fakes.bot_api.answers import Refusal, conflict
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.polled_bot import PolledBot
from tests.fakes.telegram_clock import FakeClock

OTHER = conflict("terminated by other getUpdates request; make sure that only one bot instance is running")


class NoPauses(SystemClock):
    """The machine's clock, on which a pause takes no time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@pytest.fixture
def bot_api():
    with StandInBotApi(stands_at_s=1_000.0) as served:
        yield served


def ended(bot: PolledBot) -> list[Cause]:
    """The causes of the ends that the application was told of."""
    assert all(failure.phase is Phase.COMPLETION for failure in bot.failures)
    return [failure.error.ended.cause for failure in bot.failures if isinstance(failure.error, PollingEnded)]


def test_a_token_that_is_revoked_ends_polling_at_once_and_the_process_with_1(bot_api) -> None:
    with PolledBot(bot_api) as bot:
        bot_api.wait_for_poll()
        bot_api.revoke()
        bot.wait_for(lambda: bool(bot.failures))
        result = bot.stop()
    assert (ended(bot), bot.failures[0].error.ended.failure.status) == ([Cause.UNAUTHORIZED], 401)
    assert (result.outcome, exit_code(result)) == (ShutdownOutcome.CLEAN, 1)


def test_another_poller_that_stays_ends_this_one_after_a_minute(bot_api) -> None:
    clock = FakeClock()
    bot_api.arm("getUpdates", OTHER, times=None)
    with PolledBot(bot_api, clock=clock) as bot:
        bot.wait_for(lambda: bool(bot.failures))
        assert ended(bot) == [Cause.CONFLICT]
        assert clock.sleeps == [1, 2, 4, *[8] * 7]


def test_another_poller_that_leaves_is_forgotten_with_the_next_answer(bot_api) -> None:
    clock = FakeClock()
    bot_api.arm("getUpdates", OTHER, times=3)
    with PolledBot(bot_api, clock=clock) as bot:
        bot_api.push_text("a")
        bot.wait_for(lambda: bot.handled == [10])
        bot_api.wait_for_poll()
        bot_api.arm("getUpdates", OTHER, times=3)
        bot_api.push_text("b")
        bot.wait_for(lambda: bot.handled == [10, 11])
        bot_api.push_text("c")
        bot.wait_for(lambda: bot.handled == [10, 11, 12])
        assert (bot.failures, clock.sleeps) == ([], [1, 2, 4, 1, 2, 4])


def test_a_poller_that_was_asked_to_end_is_not_reported(bot_api) -> None:
    told = []
    with PolledBot(bot_api, again_after_s=told.append) as bot:
        bot_api.wait_for_poll()
        result = bot.stop()
    assert (told, bot.failures, exit_code(result)) == ([], [], 0)


def test_an_observer_that_shuts_the_application_down_finds_the_end_recorded(bot_api) -> None:
    def shut_down(_) -> None:
        bot.application.begin_shutdown()

    bot_api.arm("getUpdates", Refusal(status=401, description="Unauthorized"), times=None)
    bot = PolledBot(bot_api, observe=shut_down)
    with bot:
        bot.wait_for(lambda: bool(bot.failures))
        result = bot.stop()
    polling = next(each for each in result.resources if each.name == "telegram-polling")
    assert [failure.phase for failure in polling.failures] == [Phase.COMPLETION]
    assert (len(bot.failures), result.outcome, polling.ended_early) == (1, ShutdownOutcome.CLEAN, True)


def test_observers_that_raise_change_nothing(bot_api) -> None:
    def refuse(_) -> None:
        raise RuntimeError("not now")

    bot_api.push_text("a")
    with PolledBot(bot_api, watch=refuse, observe=refuse) as bot:
        bot.wait_for(lambda: bot.handled == [10])
        bot_api.revoke()
        bot.wait_for(lambda: bool(bot.failures))
        result = bot.stop()
    assert (ended(bot), result.outcome) == ([Cause.UNAUTHORIZED], ShutdownOutcome.CLEAN)


def test_a_poll_that_is_never_answered_is_given_up_and_three_of_them_are_an_end(bot_api) -> None:
    bot_api.arm("getUpdates", faults.Hang(), times=None)
    with PolledBot(bot_api, polling=Polling(wait_s=0, margin_s=0.05), clock=NoPauses()) as bot:
        bot.wait_for(lambda: bool(bot.failures))
        bot_api.lift()
        failures = [notice.failure for notice in bot.notices if isinstance(notice, Retrying)]
        assert (ended(bot), [failure.reason for failure in failures]) == ([Cause.DEAF], [Reason.NO_ANSWER] * 2)


def test_an_answer_that_trickles_is_given_up_at_the_deadline_too(bot_api) -> None:
    bot_api.arm("getUpdates", faults.Trickle(interval_s=0.02), times=None)
    with PolledBot(bot_api, polling=Polling(wait_s=0, margin_s=0.1), clock=NoPauses()) as bot:
        bot.wait_for(lambda: any(isinstance(notice, Retrying) for notice in bot.notices))
        bot_api.lift()


def test_the_pause_that_telegram_asks_for_is_kept(bot_api) -> None:
    clock = FakeClock()
    bot_api.arm("getUpdates", Refusal(status=429, description="Too Many Requests", retry_after_s=7))
    with PolledBot(bot_api, clock=clock) as bot:
        bot_api.push_text("a")
        bot.wait_for(lambda: bot.handled == [10])
        assert (clock.sleeps, bot.failures) == ([7.0], [])


@pytest.mark.parametrize(
    "fault",
    [
        faults.DropUnread(),
        faults.DropUnanswered(),
        faults.DropHalfway(),
        faults.NotJson(),
        faults.Result("no list"),
        faults.Oversized(body_bytes=20 * 2**20),
        Refusal(status=500, description="Internal Server Error: restart"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_poll_that_fails_loses_nothing_and_is_repeated(bot_api, fault) -> None:
    bot_api.push_text("a")
    bot_api.arm("getUpdates", fault)
    with PolledBot(bot_api, clock=FakeClock()) as bot:
        bot.wait_for(lambda: bot.handled == [10])
        bot_api.wait_for_poll()
        assert bot_api.confirmed_ids == [10]


def test_polling_that_is_begun_anew_goes_on_where_it_ended_and_says_how_it_is(bot_api) -> None:
    causes, health = [], []

    def again(end) -> float:
        causes.append(end.cause)
        return 5.0

    bot = PolledBot(bot_api, again_after_s=again, clock=FakeClock())
    with bot:
        bot_api.push_text("a")
        bot_api.arm("getUpdates", conflict("can't use getUpdates method while webhook is active"))
        bot.wait_for(lambda: bot.handled == [10])
        health.append(bot.application.snapshot().health)
        assert (causes, bot.failures, health) == ([Cause.WEBHOOK], [], [Health.HEALTHY])


def test_a_recovery_is_told_with_how_long_it_took(bot_api) -> None:
    with PolledBot(bot_api, clock=FakeClock()) as bot:
        bot_api.push_text("a")
        bot.wait_for(lambda: bot.handled == [10])
        bot_api.wait_for_poll()
        bot_api.arm("getUpdates", Refusal(status=500, description="Internal Server Error: restart"), times=2)
        bot_api.push_text("b")
        bot.wait_for(lambda: bot.handled == [10, 11])
        bot_api.push_text("c")
        bot.wait_for(lambda: bot.handled == [10, 11, 12])
        assert [notice for notice in bot.notices if isinstance(notice, Recovered)] == [Recovered(3.0)]


def test_a_webhook_is_named_and_left_where_it_is(bot_api) -> None:
    async def look() -> None:
        async with sending_client() as client:
            api = BotApi(Token(bot_api.token), client, bot_api.root_url)
            await api.call("setWebhook", {"url": "https://elsewhere.example/hook?key=secret"})
            await refuse_webhook(api)

    with pytest.raises(WebhookSet, match=r"a webhook at elsewhere\.example: delete it"):
        asyncio.run(look())
    assert bot_api.calls_of("deleteWebhook") == []
