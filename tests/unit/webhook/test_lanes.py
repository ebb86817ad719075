"""Each item is attended by one thread at a time, in the order of waking, and no waking is lost."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from domain.model import ItemId
from webhook.lanes import Lanes

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""
A, B, C = ItemId(1), ItemId(2), ItemId(3)


class Time:
    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def lanes(time: Time) -> Lanes:
    return Lanes(time)


def taken(lanes: Lanes, count: int) -> list[ItemId | None]:
    return [lanes.take() for _ in range(count)]


def test_items_are_attended_in_the_order_in_which_they_were_woken(lanes: Lanes) -> None:
    for item in (B, A, C):
        lanes.wake(item)
    assert taken(lanes, 3) == [B, A, C]


def test_an_item_that_is_woken_twice_before_it_is_attended_is_attended_once(lanes: Lanes) -> None:
    for item in (A, A, B):
        lanes.wake(item)
    assert taken(lanes, 2) == [A, B]


def test_an_item_that_is_woken_while_it_is_attended_comes_again_afterwards_and_not_before(lanes: Lanes) -> None:
    lanes.wake(A)
    lanes.take()
    for item in (A, A, B):
        lanes.wake(item)
    assert lanes.take() == B
    lanes.done(A)
    lanes.wake(C)
    assert taken(lanes, 2) == [A, C]


def test_an_item_that_is_done_and_was_not_woken_does_not_come_again(lanes: Lanes) -> None:
    lanes.wake(A)
    lanes.take()
    lanes.done(A)
    lanes.wake(B)
    assert lanes.take() == B


def test_an_item_is_woken_when_its_time_has_come(lanes: Lanes, time: Time) -> None:
    lanes.wake_at(A, 5_000)
    lanes.wake_at(B, 3_000)
    lanes.wake(C)
    assert lanes.take() == C
    time.now_ms = 5_000
    assert taken(lanes, 2) == [B, A]


def test_a_time_that_has_passed_wakes_at_once(lanes: Lanes) -> None:
    lanes.wake_at(A, 1)
    assert lanes.take() == A


def test_a_time_that_comes_while_the_item_is_attended_lets_it_come_again(lanes: Lanes, time: Time) -> None:
    lanes.wake(A)
    lanes.take()
    lanes.wake_at(A, 2_000)
    lanes.wake(B)
    time.now_ms = 2_000
    assert lanes.take() == B
    lanes.done(A)
    assert lanes.take() == A


def test_a_thread_that_waits_notices_a_time_that_comes_sooner_than_the_one_it_waits_for() -> None:
    lanes = Lanes(lambda: 1_000)
    lanes.wake_at(A, 1_000_000)
    found: list[ItemId | None] = []
    waiting = threading.Thread(target=lambda: found.append(lanes.take()))
    waiting.start()
    lanes.wake_at(B, 1_000)
    waiting.join(LIMIT_S)
    assert found == [B]


def test_the_second_lane_hears_of_a_waking_while_the_item_is_attended_and_of_no_other(lanes: Lanes) -> None:
    lanes.wake(A)
    lanes.wake(B)
    lanes.take()
    lanes.wake(A)
    assert lanes.disturbed(0.0) == A
    assert lanes.disturbed(0.0) is None


def test_stopping_ends_every_wait_and_leaves_what_is_ready_for_the_next_run(lanes: Lanes) -> None:
    ends: list[ItemId | None] = []
    threads = [threading.Thread(target=lambda: ends.append(lanes.take())) for _ in range(3)]
    threads.append(threading.Thread(target=lambda: ends.append(lanes.disturbed(LIMIT_S))))
    for thread in threads:
        thread.start()
    lanes.stop()
    for thread in threads:
        thread.join(LIMIT_S)
    assert ends == [None] * 4
    lanes.wake(A)
    assert lanes.take() is None
    assert lanes.stopping


def test_many_threads_never_attend_one_item_at_once_and_lose_no_waking() -> None:
    """Each waking raises a count, each attendance takes all of it: in the end nothing is left."""
    lanes = Lanes(lambda: 1_000)
    wanted: Counter[ItemId] = Counter()
    seen: Counter[ItemId] = Counter()
    at_work: Counter[ItemId] = Counter()
    together: list[ItemId] = []
    lock = threading.Lock()

    def attend() -> None:
        while (item := lanes.take()) is not None:
            with lock:
                at_work[item] += 1
                if at_work[item] > 1:
                    together.append(item)
            with lock:
                seen[item] = wanted[item]
            with lock:
                at_work[item] -= 1
            lanes.done(item)

    def wake() -> None:
        for number in range(600):
            item = ItemId(number % 5 + 1)
            with lock:
                wanted[item] += 1
            lanes.wake(item)

    attending = [threading.Thread(target=attend) for _ in range(6)]
    waking = [threading.Thread(target=wake) for _ in range(3)]
    for thread in attending + waking:
        thread.start()
    for thread in waking:
        thread.join(LIMIT_S)
    for _ in range(1_000):
        with lock:
            if seen == wanted:
                break
        threading.Event().wait(0.005)
    lanes.stop()
    for thread in attending:
        thread.join(LIMIT_S)
    assert together == []
    assert seen == wanted
