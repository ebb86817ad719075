"""Polling as a part of an application: what is fetched, and what is confirmed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from service.lifecycle.resource import Health, Phase
from service.lifecycle.shutdown import ShutdownBudget, ShutdownOutcome
from telegrambot.handling import recorded
from telegrambot.notices import HandlingFailed, Hearing, NothingMoved, PassedOver
from telegrambot.polling import Polling
from tests.fakes.bot_api.faults import Result
from tests.fakes.bot_api.samples import text_message
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.lifecycle import LIMIT_S, Hang
from tests.fakes.polled_bot import PolledBot
from tests.fakes.telegram_clock import FakeClock

IMPATIENT = ShutdownBudget(grace_s=0.3, force_s=5.0)


@pytest.fixture
def bot_api():
    with StandInBotApi(stands_at_s=1_000.0) as served:
        yield served


def answered(bot_api: StandInBotApi, polls: int) -> None:
    bot_api.wait_for(lambda: sum(poll.status is not None for poll in bot_api.polls) >= polls, f"{polls} answers")


def offsets(bot_api: StandInBotApi) -> list[int | None]:
    return [poll.offset for poll in bot_api.polls]


def test_nothing_is_asked_for_before_the_application_takes_work(bot_api) -> None:
    bot, opening = PolledBot(bot_api), Hang()
    bot.doorkeeper.script[Phase.START] = opening
    starting = threading.Thread(target=bot.application.start)
    starting.start()
    opening.await_entry()
    bot.settle()
    asked_before = bot_api.polls
    opening.let_go.set()
    starting.join(LIMIT_S)
    bot_api.wait_for_poll()
    bot.stop()
    assert (asked_before, len(bot_api.polls)) == ([], 1)


def test_while_the_application_is_degraded_no_poll_starts_and_updates_stay_with_telegram(bot_api) -> None:
    bot = PolledBot(bot_api)
    bot.doorkeeper.script[Phase.START] = lambda context: context.report_health(Health.DEGRADED)
    with bot:
        update_id = bot_api.push_text("anyone there?")
        bot.settle()
        assert (bot_api.polls, bot_api.unconfirmed_ids) == ([], [update_id])
        bot.recover()
        bot.wait_for(lambda: bot.handled == [update_id])


@pytest.fixture
def degraded_in_mid_poll(bot_api):
    """A bot whose application degraded while a poll was under way, which then brought update 10."""
    with PolledBot(bot_api) as bot:
        bot_api.wait_for_poll()
        bot.degrade()
        bot_api.push_text("too late")
        answered(bot_api, polls=1)
        bot.settle()
        yield bot


def test_a_batch_that_comes_while_the_application_is_degraded_is_neither_handled_nor_confirmed(
    bot_api, degraded_in_mid_poll
) -> None:
    assert (degraded_in_mid_poll.begun, offsets(bot_api)) == ([], [None])


def test_a_batch_that_was_never_admitted_is_handled_once_by_the_next_process(bot_api, degraded_in_mid_poll) -> None:
    result = degraded_in_mid_poll.stop()
    with PolledBot(bot_api) as second:
        second.wait_for(lambda: second.handled == [10])
    assert (result.outcome, degraded_in_mid_poll.begun) == (ShutdownOutcome.CLEAN, [])
    assert bot_api.confirmed_ids == [10]


def test_a_batch_in_hand_is_handled_and_confirmed_when_the_application_recovers(bot_api, degraded_in_mid_poll) -> None:
    degraded_in_mid_poll.recover()
    degraded_in_mid_poll.wait_for(lambda: degraded_in_mid_poll.handled == [10])
    bot_api.wait_for_poll()
    assert offsets(bot_api) == [None, 11]


def test_a_poll_that_waits_holds_no_lease(bot_api) -> None:
    with PolledBot(bot_api) as bot:
        bot_api.wait_for_poll()
        assert bot.application.admission.counts().pending == 0


def test_a_batch_is_held_under_one_lease_until_the_next_poll(bot_api) -> None:
    for text in "abc":
        bot_api.push_text(text)
    bot = PolledBot(bot_api)
    bot.hold(11)
    with bot:
        bot.wait_for(lambda: 11 in bot.begun)
        pending = bot.application.admission.counts().pending
        bot.release(11)
        bot_api.wait_for_poll()
        assert (pending, bot.application.admission.counts().pending, bot.handled) == (1, 0, [10, 11, 12])


def test_a_shutdown_finishes_the_batch_in_hand_and_confirms_it(bot_api) -> None:
    for text in "ab":
        bot_api.push_text(text)
    bot = PolledBot(bot_api)
    bot.hold(10)
    with bot:
        bot.wait_for(lambda: bot.begun == [10])
        ending = bot.application.begin_shutdown()
        bot.release(10)
        result = ending.result(LIMIT_S)
    assert (bot.handled, result.outcome, result.cleanup_complete) == ([10, 11], ShutdownOutcome.CLEAN, True)
    assert (offsets(bot_api), bot_api.unconfirmed_ids) == ([None, 12], [])


def test_a_forced_end_confirms_what_is_finished_and_begins_nothing_more(bot_api) -> None:
    for text in "abc":
        bot_api.push_text(text)
    bot = PolledBot(bot_api, budget=IMPATIENT)
    bot.hold(11)
    with bot:
        bot.wait_for(lambda: bot.begun == [10, 11])
        result = bot.stop()
        assert (result.outcome, bot.begun, bot.handled) == (ShutdownOutcome.FORCED, [10, 11], [10])
        assert (bot_api.highest_offset, bot_api.unconfirmed_ids) == (11, [11, 12])


def test_a_forced_end_with_nothing_finished_confirms_nothing(bot_api) -> None:
    for text in "ab":
        bot_api.push_text(text)
    bot = PolledBot(bot_api, budget=IMPATIENT)
    bot.hold(10)
    with bot:
        bot.wait_for(lambda: bot.begun == [10])
        result = bot.stop()
        assert (result.outcome, bot.begun, bot_api.highest_offset) == (ShutdownOutcome.FORCED, [10], None)


def test_an_idle_poller_ends_at_once_and_asks_for_nothing_more(bot_api) -> None:
    with PolledBot(bot_api) as bot:
        bot_api.wait_for_poll()
        result = bot.stop()
    assert (result.outcome, offsets(bot_api)) == (ShutdownOutcome.CLEAN, [None])
    assert result.duration_s < 1.0


def test_a_poller_that_waits_for_admission_ends_without_a_poll(bot_api) -> None:
    bot = PolledBot(bot_api)
    bot.doorkeeper.script[Phase.START] = lambda context: context.report_health(Health.DEGRADED)
    with bot:
        result = bot.stop()
    assert (result.outcome, bot_api.polls, bot.failures) == (ShutdownOutcome.CLEAN, [], [])


def test_an_update_whose_handler_fails_holds_up_no_other_and_is_confirmed_once_that_is_written_down(bot_api) -> None:
    for text in "ab":
        bot_api.push_text(text)

    def fail_at_first(update) -> None:
        if update.update_id == 10:
            raise ValueError("no good")

    bot = PolledBot(bot_api)
    bot.act = fail_at_first
    bot.hold(-10)
    with bot:
        bot.wait_for(lambda: bot.begun == [10])
        bot.settle()
        confirmed_before = bot_api.highest_offset
        bot.release(-10)
        bot_api.wait_for_poll()
        assert (confirmed_before, offsets(bot_api)) == (None, [None, 12])
        assert ([update_id for update_id, _ in bot.failed], bot.handled) == ([10], [11])


def test_an_update_that_cannot_be_read_is_told_of_confirmed_and_passed_over(bot_api) -> None:
    bot_api.push(text_message("a"))
    bot_api.push({"message": {"text": "in no chat"}})
    bot_api.push(text_message("c"))
    with PolledBot(bot_api) as bot:
        bot_api.wait_for_poll()
        assert (bot.handled, offsets(bot_api)) == ([10, 12], [None, 13])
        assert [notice for notice in bot.notices if isinstance(notice, PassedOver)] == [
            PassedOver(11, "a message without a chat")
        ]


def test_the_offset_follows_a_server_whose_numbers_are_lower(bot_api) -> None:
    bot_api.restart_ids(500)
    bot_api.push_text("on one server")
    with PolledBot(bot_api) as bot:
        bot_api.wait_for_poll()
        bot_api.restart_ids(3)
        bot_api.push_text("on another")
        bot.wait_for(lambda: bot.handled == [500, 3])
        bot_api.wait_for_poll()
        assert offsets(bot_api) == [None, 501, 4]


def test_a_batch_that_nothing_could_confirm_makes_the_poller_slower_and_slower(bot_api) -> None:
    clock = FakeClock()
    bot_api.arm("getUpdates", Result([{"message": {}}]), times=3)
    with PolledBot(bot_api, clock=clock) as bot:
        bot_api.wait_for_poll()
        moves = [notice for notice in bot.notices if isinstance(notice, NothingMoved)]
        assert moves == [NothingMoved(None, 1.0), NothingMoved(None, 2.0), NothingMoved(None, 4.0)]
        assert clock.sleeps == [1.0, 2.0, 4.0]


def test_a_batch_that_could_not_be_written_down_is_asked_for_again(bot_api) -> None:
    bot_api.push_text("a")
    fault = OSError("disk full")
    bot = PolledBot(bot_api, clock=FakeClock())
    taken = bot.work.handler
    refusals = [fault]

    async def refuse_once(updates, finished) -> None:
        if refusals:
            raise refusals.pop()
        await taken(updates, finished)

    bot.work.handler = refuse_once
    with bot:
        bot.wait_for(lambda: bot.handled == [10])
        bot_api.wait_for_poll()
        assert offsets(bot_api) == [None, None, 11]
        assert bot.notices == [Hearing(), HandlingFailed(fault, 1.0)]


def test_a_handler_that_cancels_itself_has_failed_and_polling_goes_on(bot_api) -> None:
    bot_api.push_text("a")
    bot, cancellations = PolledBot(bot_api, clock=FakeClock()), [asyncio.CancelledError()]

    def give_up_once(_) -> None:
        if cancellations:
            raise cancellations.pop()

    bot.act = give_up_once
    with bot:
        bot.wait_for(lambda: bot.handled == [10])
        bot_api.wait_for_poll()
        failed = [notice for notice in bot.notices if isinstance(notice, HandlingFailed)]
        assert (offsets(bot_api), [type(notice.error) for notice in failed]) == (
            [None, None, 11],
            [asyncio.CancelledError],
        )


def test_an_update_that_asks_for_the_shutdown_is_confirmed_and_does_not_come_again(bot_api) -> None:
    bot_api.push_text("/restart")
    bot = PolledBot(bot_api)
    bot.act = lambda _: bot.application.begin_shutdown()
    with bot:
        bot.wait_for(lambda: bot.handled == [10])
        result = bot.stop()
    with PolledBot(bot_api) as second:
        bot_api.wait_for_poll()
    assert (result.outcome, bot_api.confirmed_ids, second.begun) == (ShutdownOutcome.CLEAN, [10], [])


def test_a_poll_asks_for_what_the_settings_say(bot_api) -> None:
    polling = Polling(wait_s=20, limit=7, allowed_updates=("message", "callback_query"))
    with PolledBot(bot_api, polling=polling):
        bot_api.wait_for_poll()
    (poll,) = bot_api.polls
    assert (poll.timeout_s, poll.limit, poll.allowed_updates) == (20, 7, ("message", "callback_query"))


def test_a_batch_is_written_down_under_its_lease_and_a_forced_end_before_that_confirms_nothing(bot_api) -> None:
    bot_api.push_text("a")
    bot, begun = PolledBot(bot_api, budget=IMPATIENT), threading.Event()

    async def record(updates) -> None:
        begun.set()
        await asyncio.Event().wait()

    bot.work.handler = recorded(record)
    with bot:
        assert begun.wait(LIMIT_S)
        pending = bot.application.admission.counts().pending
        result = bot.stop()
    assert (pending, result.outcome, bot_api.highest_offset) == (1, ShutdownOutcome.FORCED, None)
