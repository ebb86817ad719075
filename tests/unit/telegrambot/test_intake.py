"""The intake: many chats at once, one chat in order, and each update to its end."""

from __future__ import annotations

import asyncio

from telegrambot.attempts import Abandoned, Failed
from telegrambot.failures import CallFailed, Evidence, Failure, Reason
from telegrambot.intake import AttemptFailed, Pace
from tests.fakes.held_clock import settled
from tests.fakes.intake_desk import Desk, hold, running, update


def sends_blocked() -> CallFailed:
    return CallFailed(Failure(method="sendMessage", reason=Reason.BLOCKED_BY_USER, evidence=Evidence.DESCRIPTION))


def test_what_it_records_is_handled_at_once() -> None:
    async def work(desk: Desk) -> None:
        new = [await desk.intake.record(arrived) for arrived in ([update(10), update(11)], [update(11)])]
        await settled()
        assert (new, desk.ended) == ([2, 0], [10, 11])
        assert desk.store.states() == {10: "completed", 11: "completed"}

    running(work)


def test_what_was_recorded_elsewhere_is_handled_when_it_is_woken() -> None:
    async def work(desk: Desk) -> None:
        await desk.store.record([update(10)])
        desk.intake.wake()
        await settled()
        assert desk.ended == [10]

    running(work)


def test_what_nobody_woke_it_for_is_found_by_the_next_sweep() -> None:
    async def work(desk: Desk) -> None:
        await desk.store.record([update(10)])
        await desk.clock.advance(29.9)
        before = list(desk.ended)
        await desk.clock.advance(0.1)
        assert (before, desk.ended) == ([], [10])

    running(work)


def test_updates_of_one_chat_are_handled_in_the_order_of_their_arrival_one_after_another() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 900)
        await desk.arrive(update(900), update(3), update(901))
        assert desk.begun == [900]
        await desk.release(900)
        assert desk.ended == [900, 3, 901]

    running(work)


def test_a_chat_whose_first_update_fails_waits_for_it_and_others_do_not() -> None:
    async def work(desk: Desk) -> None:
        desk.faults[10] = [OSError("no")]
        await desk.arrive(update(10, chat_id=1), update(11, chat_id=1), update(12, chat_id=2))
        assert (desk.ended, desk.store.states()) == ([12], {10: "failed", 11: "pending", 12: "completed"})
        await desk.clock.advance(5.0)
        assert desk.ended == [12, 10, 11]

    running(work)


def test_a_chat_goes_on_when_its_first_update_is_given_up() -> None:
    async def work(desk: Desk) -> None:
        desk.faults[10] = [sends_blocked()]
        await desk.arrive(update(10), update(11))
        assert (desk.ended, desk.store.states()) == ([11], {10: "abandoned", 11: "completed"})

    running(work)


def test_of_thirty_three_chats_thirty_two_are_handled_at_once_and_the_last_when_one_has_ended() -> None:
    async def work(desk: Desk) -> None:
        ids = range(100, 133)
        hold(desk, *ids)
        await desk.arrive(*(update(number, chat_id=number) for number in ids))
        assert desk.begun == list(range(100, 132))
        await desk.release(105)
        assert desk.begun == list(ids)

    running(work)


def test_one_claim_is_bounded_and_the_next_follows_at_once() -> None:
    async def work(desk: Desk) -> None:
        ids = range(100, 105)
        hold(desk, *ids)
        await desk.arrive(*(update(number, chat_id=number) for number in ids))
        assert desk.begun == list(ids)

    running(work, Pace(concurrency=10, batch=2))


def test_a_handler_that_raises_is_told_of_with_what_follows_and_the_next_update_is_handled() -> None:
    async def work(desk: Desk) -> None:
        error = OSError("no")
        desk.faults[10] = [error]
        await desk.arrive(update(10, chat_id=1), update(11, chat_id=2))
        then = Failed(why="OSError: no", retry_in_s=5.0)
        assert desk.notices == [AttemptFailed(update=update(10, chat_id=1), attempt=1, error=error, then=then)]
        assert desk.ended == [11]

    running(work)


def test_an_update_is_tried_five_times_with_growing_pauses_and_then_given_up() -> None:
    async def work(desk: Desk) -> None:
        desk.faults[10] = [OSError("no") for _ in range(9)]
        await desk.arrive(update(10))
        attempts = [len(desk.begun)]
        for pause_s in (5.0, 20.0, 80.0, 320.0, 3_600.0):
            await desk.clock.advance(pause_s)
            attempts.append(len(desk.begun))
        assert (attempts, desk.store.states()) == ([1, 2, 3, 4, 5, 5], {10: "abandoned"})
        last = desk.notices[-1]
        assert isinstance(last, AttemptFailed)
        assert (last.attempt, last.then) == (5, Abandoned("OSError: no"))

    running(work)


def test_a_handler_that_cancels_itself_has_failed() -> None:
    async def work(desk: Desk) -> None:
        desk.faults[10] = [asyncio.CancelledError()]
        await desk.arrive(update(10))
        assert desk.store.states() == {10: "failed"}
        await desk.clock.advance(5.0)
        assert desk.ended == [10]

    running(work)
