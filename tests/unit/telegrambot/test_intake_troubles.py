"""The intake when a process dies, when it is to end, and when the store is ill: nothing is lost, and nothing ends the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from telegrambot.attempts import LEASE_S, Settlement
from telegrambot.intake import ClaimLost, GivenUp, Intake, IntakeNotice, StoreFailed
from telegrambot.update_store import Claimed
from telegrambot.updates import Update
from tests.fakes.held_clock import HeldClock, settled
from tests.fakes.intake_desk import Desk, hold, running, update
from tests.fakes.update_store import UpdatesInMemory


def failing(method: str, error: Exception) -> Callable[[str], None]:
    """What lets one method of the store fail."""

    def fail(called: str) -> None:
        if called == method:
            raise error

    return fail


# Claims


def test_a_claim_is_renewed_every_quarter_of_its_lease_while_the_handler_runs() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        await desk.clock.advance(10 * LEASE_S)
        assert (desk.begun, len(desk.store.renewed)) == ([10], 40)
        await desk.release(10)
        assert desk.store.states() == {10: "completed"}

    running(work)


def test_a_handler_whose_claim_is_lost_is_cancelled_and_told_of() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        desk.store.rows[0].claim_id = "another process's"
        await desk.clock.advance(30.0)
        assert (desk.cancelled, desk.notices, desk.store.states()) == (
            [10],
            [ClaimLost(update(10))],
            {10: "processing"},
        )

    running(work)


def test_what_an_attempt_comes_to_after_its_claim_was_lost_is_not_written_down() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        desk.store.rows[0].attempt = 2
        await desk.release(10)
        assert (desk.ended, desk.notices, desk.store.states()) == ([10], [ClaimLost(update(10))], {10: "processing"})

    running(work)


def test_an_update_whose_process_died_is_handled_again_when_its_lease_has_run_out() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        await desk.kill()
        desk.held.clear()
        await desk.start()
        await desk.clock.advance(LEASE_S - 1)
        before = list(desk.begun)
        await desk.clock.advance(31.0)
        assert (before, desk.ended, desk.store.states()) == ([10], [10], {10: "completed"})

    running(work)


def test_an_update_whose_last_attempt_died_with_its_process_is_given_up_and_told_of() -> None:
    async def work(desk: Desk) -> None:
        await desk.store.record([update(10)])
        for _ in range(5):
            await desk.store.claim(1)
            desk.store.rows[0].due_at = desk.clock.now
        await desk.clock.advance(30.0)
        assert (desk.notices, desk.begun, desk.store.states()) == ([GivenUp(update(10))], [], {10: "abandoned"})

    running(work)


def test_a_claim_that_ends_while_it_is_renewed_was_not_lost() -> None:
    async def work(desk: Desk) -> None:
        settle, told = desk.store.settle, asyncio.Event()

        async def slow(claimed: Claimed, settlement: Settlement) -> bool:
            written = await settle(claimed, settlement)
            await told.wait()
            return written

        desk.store.settle = slow  # type: ignore[method-assign]
        await desk.arrive(update(10))
        await desk.clock.advance(30.0)
        told.set()
        await settled()
        assert (desk.notices, desk.store.states()) == ([], {10: "completed"})

    running(work)


# The end


def test_asked_to_end_it_takes_nothing_new_and_finishes_what_is_in_hand() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        await desk.stop()
        await desk.arrive(update(11, chat_id=2))
        assert not desk.has_ended
        await desk.release(10)
        assert desk.has_ended
        assert desk.store.states() == {10: "completed", 11: "pending"}

    running(work)


def test_while_it_is_ending_the_claims_in_hand_are_renewed() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        await desk.stop()
        await desk.clock.advance(LEASE_S)
        assert desk.store.renewed == [10, 10, 10, 10]

    running(work)


def test_with_nothing_in_hand_it_ends_at_once() -> None:
    async def work(desk: Desk) -> None:
        await desk.stop()
        assert desk.has_ended

    running(work)


def test_a_forced_end_cancels_the_handlers_and_leaves_their_updates_claimed() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))
        await desk.kill()
        assert (desk.cancelled, desk.store.states()) == ([10], {10: "processing"})

    running(work)


# A store in trouble


@pytest.mark.parametrize("method", ["sweep", "claim"])
def test_a_store_that_fails_is_told_of_and_asked_again_ever_more_rarely(method: str) -> None:
    async def work(desk: Desk) -> None:
        error = OSError("disk full")
        desk.store.fail = failing(method, error)
        await desk.clock.advance(33.0)
        assert desk.notices == [StoreFailed(error, 1.0), StoreFailed(error, 2.0), StoreFailed(error, 4.0)]
        desk.store.fail = lambda _: None
        await desk.clock.advance(4.0)
        await desk.arrive(update(10))
        assert desk.ended == [10]
        desk.store.fail = failing(method, error)
        await desk.clock.advance(30.0)
        assert desk.notices[3] == StoreFailed(error, 1.0)

    running(work)


def test_what_was_handled_is_written_down_as_soon_as_the_store_takes_it_and_not_handled_again() -> None:
    async def work(desk: Desk) -> None:
        desk.store.fail = failing("settle", OSError("disk full"))
        await desk.arrive(update(10), update(11))
        await desk.clock.advance(3 * LEASE_S)
        assert desk.store.states() == {10: "processing", 11: "pending"}
        desk.store.fail = lambda _: None
        await desk.clock.advance(30.0)
        assert (desk.begun, desk.store.states()) == ([10, 11], {10: "completed", 11: "completed"})

    running(work)


def test_a_store_that_was_ill_for_longer_than_a_lease_has_nothing_handled_twice() -> None:
    async def work(desk: Desk) -> None:
        hold(desk, 10)
        await desk.arrive(update(10))

        def ill(_: str) -> None:
            raise OSError("disk full")

        desk.store.fail = ill
        await desk.clock.advance(3 * LEASE_S)
        desk.store.fail = lambda _: None
        await desk.clock.advance(30.0)
        await desk.release(10)
        assert (desk.begun, desk.store.states()) == ([10], {10: "completed"})

    running(work)


def test_a_watcher_that_raises_changes_nothing() -> None:
    async def run() -> None:
        clock = HeldClock()
        store = UpdatesInMemory(clock.monotonic)

        def watch(_: IntakeNotice) -> None:
            raise RuntimeError

        async def handle(_: Update) -> None:
            raise OSError("no")

        intake = Intake(store, handle, report=watch, clock=clock)
        await store.record([update(10)])
        task = asyncio.ensure_future(intake.run())
        await settled()
        intake.stop()
        await task
        assert store.states() == {10: "failed"}

    asyncio.run(run())
