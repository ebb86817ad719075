"""The one-way switch that the lifecycle waits on, and the cancel token made of it."""

import pytest

from service.lifecycle.latch import Cancelled, CancelToken, Latch, wait_for_any
from tests.fakes.lifecycle import LIMIT_S, ManualClock, in_thread


def test_the_first_value_of_a_latch_stays():
    latch: Latch[str] = Latch()
    assert (latch.is_set, latch.value) == (False, None)
    assert latch.set("first") is True
    assert latch.set("second") is False
    assert (latch.is_set, latch.value) == (True, "first")


def test_a_callback_runs_once_when_the_latch_is_set():
    latch, calls = Latch(), []
    latch.on_set(lambda: calls.append("rung"))
    assert calls == []
    latch.set(None)
    latch.set(None)
    assert calls == ["rung"]


def test_a_callback_on_a_latch_that_is_set_already_runs_at_once():
    latch, calls = Latch(), []
    latch.set(None)
    latch.on_set(lambda: calls.append("rung"))()
    assert calls == ["rung"]


def test_a_callback_that_was_taken_back_does_not_run():
    latch, calls = Latch(), []
    take_back = latch.on_set(lambda: calls.append("rung"))
    take_back()
    take_back()
    latch.set(None)
    assert calls == []


def test_a_token_raises_the_very_reason_it_was_cancelled_with():
    token, reason = CancelToken(), KeyError("why")
    token.raise_if_cancelled()
    assert token.cancel(reason) is True
    assert token.cancel() is False
    with pytest.raises(KeyError) as caught:
        token.raise_if_cancelled()
    assert caught.value is reason


def test_a_token_that_was_cancelled_without_a_reason_raises_a_plain_one():
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        token.raise_if_cancelled()


def test_waiting_for_any_ends_with_the_first_that_is_set():
    clock, first, second = ManualClock(), Latch(), Latch()
    waiter = in_thread(lambda: wait_for_any((first, second), deadline=clock.monotonic() + 5, clock=clock))
    clock.await_waiters(1)
    second.set(None)
    assert waiter.result(timeout=LIMIT_S) is True


def test_waiting_for_any_ends_in_vain_at_the_deadline():
    clock, latch = ManualClock(), Latch()
    waiter = in_thread(lambda: wait_for_any((latch,), deadline=clock.monotonic() + 5, clock=clock))
    clock.await_waiters(1)
    clock.advance(5)
    assert waiter.result(timeout=LIMIT_S) is False


def test_what_is_set_already_counts_also_after_the_deadline():
    clock, latch = ManualClock(), Latch()
    latch.set(None)
    assert wait_for_any((latch,), deadline=clock.monotonic() - 5, clock=clock) is True
