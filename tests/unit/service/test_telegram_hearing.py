"""Whether the bot hears, in words: only while a poller runs whose last poll was answered in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from service.telegram.polling import HEARS
from telegrambot.endings import Ended
from telegrambot.notices import Recovered, Retrying
from tests.fakes.bot_api.answers import Refusal, conflict
from tests.fakes.bot_api.faults import Fault, NotJson
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.lifecycle import LIMIT_S
from tests.fakes.polled_bot import PolledBot
from tests.fakes.telegram_clock import FakeClock

REVOKED = Refusal(status=401, description="Unauthorized")
WEBHOOK = conflict("can't use getUpdates method while webhook is active")


class HeldClock(FakeClock):
    """Time passes by the test's word alone: a pause lasts until the test lets it end."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = threading.Event()
        self.let_go = threading.Event()

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.paused.set()
        await asyncio.to_thread(self.let_go.wait, LIMIT_S)


@pytest.fixture
def bot_api() -> Iterator[StandInBotApi]:
    with StandInBotApi(stands_at_s=1_000.0) as served:
        yield served


@pytest.fixture
def clock() -> Iterator[HeldClock]:
    made = HeldClock()
    yield made
    made.let_go.set()


def hear(bot: PolledBot, bot_api: StandInBotApi) -> None:
    """Return when a poll was answered, and the next one waits."""
    update_id = bot_api.push_text("a")
    bot.wait_for(lambda: update_id in bot.handled)
    bot_api.wait_for_poll()


def in_ten_minutes(_: Ended) -> float:
    return 600.0


def test_a_bot_that_is_not_started_has_not_begun(bot_api, clock) -> None:
    assert PolledBot(bot_api, clock=clock).work.hearing() == "the bot does not hear: polling has not begun"


def test_a_bot_whose_first_poll_still_waits_has_not_heard_yet(bot_api, clock) -> None:
    with PolledBot(bot_api, clock=clock) as bot:
        bot_api.wait_for_poll()
        clock.advance(12.0)
        assert bot.work.hearing() == "the bot has not heard yet, for 12 s"


@pytest.mark.parametrize(
    ("passed_s", "words"),
    [
        pytest.param(0.0, HEARS, id="just answered"),
        pytest.param(40.0, HEARS, id="within what a poll may take"),
        pytest.param(41.0, "the bot has heard nothing for 41 s", id="for longer"),
    ],
)
def test_a_bot_hears_for_as_long_as_a_poll_may_take(bot_api, clock, passed_s, words) -> None:
    with PolledBot(bot_api, clock=clock) as bot:
        hear(bot, bot_api)
        clock.advance(passed_s)
        assert bot.work.hearing() == words


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(NotJson(), id="garbage"),
        pytest.param(conflict("terminated by other getUpdates request"), id="another poller"),
        pytest.param(Refusal(status=500, description="Internal Server Error"), id="an error of the server"),
    ],
)
def test_a_poll_that_fails_ends_the_hearing_at_once_and_the_next_answer_brings_it_back(bot_api, clock, fault) -> None:
    with PolledBot(bot_api, clock=clock) as bot:
        hear(bot, bot_api)
        bot_api.arm("getUpdates", fault)
        bot_api.push_text("brings the waiting poll to its end")
        bot.wait_for(lambda: any(isinstance(notice, Retrying) for notice in bot.notices))
        clock.advance(5.0)
        failed = bot.work.hearing()
        clock.let_go.set()
        bot_api.push_text("after the pause")
        bot.wait_for(lambda: any(isinstance(notice, Recovered) for notice in bot.notices))
        bot.settle()
        assert (failed, bot.work.hearing()) == ("the bot has heard nothing for 5 s", HEARS)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [pytest.param(REVOKED, "unauthorized", id="revoked"), pytest.param(WEBHOOK, "webhook", id="a webhook")],
)
def test_a_bot_whose_polling_has_ended_says_why_and_when_it_begins_anew(
    bot_api, clock, fault: Fault, cause: str
) -> None:
    bot_api.arm("getUpdates", fault, times=None)
    with PolledBot(bot_api, clock=clock, again_after_s=in_ten_minutes) as bot:
        assert clock.paused.wait(LIMIT_S)
        clock.advance(1.0)
        said = bot.work.hearing()
        clock.let_go.set()
    assert said == f"the bot hears nothing: polling has ended ({cause}), and is begun anew in 599 s"


def test_a_poller_that_was_begun_anew_hears_with_its_first_answer_alone(bot_api, clock) -> None:
    with PolledBot(bot_api, clock=clock, again_after_s=in_ten_minutes) as bot:
        hear(bot, bot_api)
        bot_api.arm("getUpdates", WEBHOOK)
        bot_api.push_text("brings the waiting poll to its end")
        assert clock.paused.wait(LIMIT_S)
        clock.advance(7.0)
        bot_api.arm("getUpdates", NotJson())
        clock.paused.clear()
        clock.let_go.set()
        bot.wait_for(lambda: any(isinstance(notice, Retrying) for notice in bot.notices))
        assert bot.work.hearing() == "the bot has heard nothing for 7 s"


def test_polling_that_ended_for_good_says_so(bot_api, clock) -> None:
    bot_api.arm("getUpdates", REVOKED, times=None)
    with PolledBot(bot_api, clock=clock) as bot:
        bot.wait_for(lambda: bool(bot.failures))
        assert bot.work.hearing() == "the bot hears nothing: polling has ended (unauthorized)"
