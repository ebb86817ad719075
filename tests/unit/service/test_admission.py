"""Admission: leases, counters, and waiting for admission from a thread and from a coroutine."""

import asyncio
import threading

import pytest

from service.lifecycle.admission import AdmissionClosed, AdmissionCounts, AdmissionGate
from service.lifecycle.latch import CancelToken
from tests.fakes.lifecycle import LIMIT_S, ManualClock, in_thread


class Impatient(Exception):
    """The reason a test cancels with."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def gate(clock: ManualClock) -> AdmissionGate:
    return AdmissionGate(clock)


def counts(accepted: int, pending: int, completed: int) -> AdmissionCounts:
    return AdmissionCounts(accepted=accepted, pending=pending, completed=completed)


def test_there_is_no_lease_before_work_is_accepted(gate):
    assert gate.acquire() is None
    assert gate.counts() == counts(0, 0, 0)


def test_a_lease_is_pending_until_it_is_released(gate):
    gate.set_accepting(True)
    lease = gate.acquire()
    assert gate.counts() == counts(1, 1, 0)
    lease.release()
    assert gate.counts() == counts(1, 0, 1)


def test_releasing_a_lease_twice_counts_once(gate):
    gate.set_accepting(True)
    first, second = gate.acquire(), gate.acquire()
    first.release()
    first.release()
    assert gate.counts() == counts(2, 1, 1)
    second.release()
    assert gate.counts() == counts(2, 0, 2)


def test_a_with_block_releases_its_lease_also_after_an_error(gate):
    gate.set_accepting(True)
    with pytest.raises(Impatient), gate.acquire():
        raise Impatient
    assert gate.counts() == counts(1, 0, 1)


def test_a_lease_given_out_stays_good_after_admission_was_closed(gate):
    gate.set_accepting(True)
    lease = gate.acquire()
    gate.close()
    assert gate.counts() == counts(1, 1, 0)
    lease.release()
    assert gate.counts() == counts(1, 0, 1)


def test_admission_never_opens_again_after_it_was_closed(gate):
    gate.close()
    gate.set_accepting(True)
    assert not gate.accepting
    assert gate.acquire() is None


def test_a_thread_waits_out_a_degradation_and_gets_exactly_one_lease(gate, clock):
    waiter = in_thread(lambda: gate.acquire_when_accepting(CancelToken(), timeout_s=60))
    clock.await_waiters(1)
    gate.set_accepting(True)
    lease = waiter.result(timeout=LIMIT_S)
    assert gate.counts() == counts(1, 1, 0)
    gate.set_accepting(False)
    gate.set_accepting(True)
    assert gate.counts() == counts(1, 1, 0)
    lease.release()


def test_a_thread_that_waits_in_vain_gets_none_when_its_time_is_over(gate, clock):
    waiter = in_thread(lambda: gate.acquire_when_accepting(CancelToken(), timeout_s=60))
    clock.await_waiters(1)
    clock.advance(59)
    clock.await_waiters(1)
    assert not waiter.done()
    clock.advance(1)
    assert waiter.result(timeout=LIMIT_S) is None
    assert gate.counts() == counts(0, 0, 0)


def test_a_cancelled_thread_gets_the_very_reason_of_the_cancelling(gate, clock):
    cancel, reason = CancelToken(), Impatient("enough")
    waiter = in_thread(lambda: gate.acquire_when_accepting(cancel, timeout_s=60))
    clock.await_waiters(1)
    cancel.cancel(reason)
    assert waiter.exception(timeout=LIMIT_S) is reason


def test_closing_turns_a_waiting_thread_away(gate, clock):
    waiter = in_thread(lambda: gate.acquire_when_accepting(CancelToken(), timeout_s=60))
    clock.await_waiters(1)
    gate.close()
    assert isinstance(waiter.exception(timeout=LIMIT_S), AdmissionClosed)


def test_a_thread_that_asks_after_the_closing_is_turned_away_at_once(gate):
    gate.close()
    with pytest.raises(AdmissionClosed):
        gate.acquire_when_accepting(CancelToken(), timeout_s=60)


def test_a_cancelling_wins_over_a_closed_admission_and_over_an_open_one(gate):
    cancel = CancelToken()
    cancel.cancel(Impatient("enough"))
    gate.set_accepting(True)
    with pytest.raises(Impatient):
        gate.acquire_when_accepting(cancel, timeout_s=60)
    gate.close()
    with pytest.raises(Impatient):
        gate.acquire_when_accepting(cancel, timeout_s=60)
    assert gate.counts() == counts(0, 0, 0)


def test_waiting_for_idle_ends_with_the_last_release(gate, clock):
    gate.set_accepting(True)
    first, second = gate.acquire(), gate.acquire()
    waiter = in_thread(lambda: gate.wait_until_idle(CancelToken(), clock.monotonic() + 30))
    clock.await_waiters(1)
    first.release()
    assert not waiter.done()
    second.release()
    assert waiter.result(timeout=LIMIT_S) is True


def test_waiting_for_idle_ends_in_vain_at_its_deadline_or_when_cancelled(gate, clock):
    gate.set_accepting(True)
    lease, cancel = gate.acquire(), CancelToken()
    by_time = in_thread(lambda: gate.wait_until_idle(CancelToken(), clock.monotonic() + 30))
    clock.await_waiters(1)
    clock.advance(30)
    assert by_time.result(timeout=LIMIT_S) is False
    by_token = in_thread(lambda: gate.wait_until_idle(cancel, clock.monotonic() + 30))
    clock.await_waiters(1)
    cancel.cancel()
    assert by_token.result(timeout=LIMIT_S) is False
    lease.release()


def run_waiting(gate: AdmissionGate, cancel: CancelToken, then):
    """Let a coroutine wait for admission, do `then` in another thread meanwhile, and give the wait's result."""

    async def scenario():
        waiter = asyncio.create_task(gate.acquire_when_accepting_async(cancel, timeout_s=LIMIT_S))
        await asyncio.sleep(0)
        assert not waiter.done()
        await asyncio.to_thread(then)
        return await waiter

    return asyncio.run(scenario())


def test_a_coroutine_is_woken_from_another_thread_and_gets_exactly_one_lease(gate):
    lease = run_waiting(gate, CancelToken(), lambda: gate.set_accepting(True))
    assert gate.counts() == counts(1, 1, 0)
    lease.release()
    assert gate.counts() == counts(1, 0, 1)


class CountingGate(AdmissionGate):
    """A gate that counts the attempts made on it."""

    attempts = 0

    def acquire(self):
        self.attempts += 1
        return super().acquire()


def test_many_publications_before_the_coroutine_runs_are_one_attempt(clock):
    gate = CountingGate(clock)

    async def scenario():
        waiter = asyncio.create_task(gate.acquire_when_accepting_async(CancelToken(), timeout_s=LIMIT_S))
        await asyncio.sleep(0)
        for _ in range(50):
            gate.set_accepting(True)
            gate.set_accepting(False)
        assert gate.attempts == 1
        for _ in range(10):
            await asyncio.sleep(0)
        assert gate.attempts == 2
        gate.set_accepting(True)
        return await waiter

    asyncio.run(scenario())
    assert gate.attempts == 3
    assert gate.counts() == counts(1, 1, 0)


def test_a_cancelled_coroutine_gets_the_very_reason_of_the_cancelling(gate):
    cancel, reason = CancelToken(), Impatient("enough")
    with pytest.raises(Impatient) as caught:
        run_waiting(gate, cancel, lambda: cancel.cancel(reason))
    assert caught.value is reason


def test_closing_turns_a_waiting_coroutine_away(gate):
    with pytest.raises(AdmissionClosed):
        run_waiting(gate, CancelToken(), gate.close)


def test_a_coroutine_that_asks_after_the_closing_is_turned_away_at_once(gate):
    gate.close()
    with pytest.raises(AdmissionClosed):
        asyncio.run(gate.acquire_when_accepting_async(CancelToken(), timeout_s=LIMIT_S))


def test_a_coroutine_that_waits_in_vain_gets_none_when_its_time_is_over(gate):
    assert asyncio.run(gate.acquire_when_accepting_async(CancelToken(), timeout_s=0)) is None


def test_a_coroutine_whose_task_is_cancelled_leaves_neither_lease_nor_bell(gate):
    async def scenario():
        waiter = asyncio.create_task(gate.acquire_when_accepting_async(CancelToken(), timeout_s=LIMIT_S))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        gate.set_accepting(True)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert gate.counts() == counts(0, 0, 0)


def test_a_coroutine_whose_task_is_cancelled_as_admission_opens_leaves_no_lease(gate):
    async def scenario():
        waiter = asyncio.create_task(gate.acquire_when_accepting_async(CancelToken(), timeout_s=LIMIT_S))
        await asyncio.sleep(0)
        gate.set_accepting(True)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter

    asyncio.run(scenario())
    assert gate.counts() == counts(0, 0, 0)


def test_threads_and_coroutines_that_race_a_flapping_admission_never_leak_a_lease(gate):
    """Sixteen threads and forty coroutines take two hundred leases each while admission opens and shuts."""
    threads, coroutines, leases_each = 16, 40, 200
    finished = threading.Event()

    def flap():
        while not finished.is_set():
            gate.set_accepting(True)
            gate.set_accepting(False)
        gate.set_accepting(True)

    def take_in_thread():
        taken = 0
        while taken < leases_each:
            if (lease := gate.acquire()) is not None:
                lease.release()
                lease.release()
                taken += 1
            with gate.acquire_when_accepting(CancelToken(), timeout_s=10_000):
                taken += 1

    async def take_in_coroutine():
        for _ in range(leases_each):
            with await gate.acquire_when_accepting_async(CancelToken(), timeout_s=LIMIT_S):
                await asyncio.sleep(0)

    async def take_in_coroutines():
        await asyncio.gather(*(take_in_coroutine() for _ in range(coroutines)))

    flapping = in_thread(flap)
    takers = [in_thread(take_in_thread) for _ in range(threads)]
    asyncio.run(take_in_coroutines())
    for taker in takers:
        taker.result(timeout=LIMIT_S)
    finished.set()
    flapping.result(timeout=LIMIT_S)
    total = gate.counts()
    assert total.pending == 0
    assert total.accepted == total.completed
    assert total.accepted >= threads * leases_each + coroutines * leases_each


def test_a_waiter_takes_one_lease_however_admission_flaps_around_its_attempt(gate):
    """Each round lets eight waiters meet a burst of openings; each of them must come away with one lease."""
    waiters = 8
    for _ in range(25):
        before = gate.counts().accepted
        waiting = [
            in_thread(lambda: gate.acquire_when_accepting(CancelToken(), timeout_s=10_000)) for _ in range(waiters)
        ]
        for _ in range(20):
            gate.set_accepting(True)
            gate.set_accepting(False)
        gate.set_accepting(True)
        leases = [waiter.result(timeout=LIMIT_S) for waiter in waiting]
        assert gate.counts().accepted - before == waiters
        assert gate.counts().pending == waiters
        for lease in leases:
            lease.release()
        assert gate.counts().pending == 0
        gate.set_accepting(False)
