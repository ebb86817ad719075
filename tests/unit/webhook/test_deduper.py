"""The Deduper: a bounded mark per event, and with it why the event is finished."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from domain.model import EventKey
from tests.fakes.dispatching import LIMIT_S
from webhook.router import DEDUP_CACHE_SIZE, Deduper


def of_size(size: int, *keys: str) -> Deduper:
    deduper = Deduper(size)
    for key in keys:
        deduper.add(key)
    return deduper


def marked(deduper: Deduper, *keys: str) -> list[bool]:
    return [key in deduper for key in keys]


def test_a_mark_says_nothing_until_the_event_is_settled() -> None:
    deduper = of_size(2, "a")
    assert ("a" in deduper, deduper.outcome("a")) == (True, "")
    deduper.mark_settled("a", "awaiting-start")
    assert ("a" in deduper, deduper.outcome("a")) == (True, "awaiting-start")


def test_an_unmarked_event_is_not_known_and_has_no_outcome() -> None:
    deduper = of_size(2)
    assert ("a" in deduper, deduper.outcome("a")) == (False, "")


def test_settling_an_event_that_was_not_marked_marks_it() -> None:
    deduper = of_size(2)
    deduper.mark_settled("a", "control-rejected")
    assert ("a" in deduper, deduper.outcome("a")) == (True, "control-rejected")


def test_marking_anew_replaces_the_outcome() -> None:
    deduper = of_size(2)
    deduper.mark_settled("a", "awaiting-start")
    deduper.add("a")
    assert deduper.outcome("a") == ""


def test_the_oldest_mark_leaves_and_takes_its_outcome_along() -> None:
    deduper = of_size(2)
    deduper.mark_settled("a", "awaiting-start")
    deduper.add("b")
    deduper.add("c")
    assert (marked(deduper, "a", "b", "c"), deduper.outcome("a"), len(deduper)) == ([False, True, True], "", 2)


def test_a_mark_made_anew_is_the_newest() -> None:
    deduper = of_size(2, "a", "b", "a", "c")
    assert marked(deduper, "a", "b", "c") == [True, False, True]


def test_a_mark_that_was_asked_for_outlives_one_that_was_not() -> None:
    deduper = of_size(2, "a", "b")
    assert "a" in deduper
    deduper.add("c")
    assert marked(deduper, "a", "b", "c") == [True, False, True]


def test_a_released_mark_is_gone_with_its_outcome_however_often() -> None:
    deduper = of_size(2)
    deduper.mark_settled("a", "awaiting-start")
    deduper.discard("a")
    deduper.discard("a")
    assert ("a" in deduper, deduper.outcome("a"), len(deduper)) == (False, "", 0)


def test_what_the_store_knows_is_adopted_in_first_seen_order_within_the_bound() -> None:
    deduper = of_size(2)
    deduper.adopt([(EventKey("a"), ""), (EventKey("b"), "withdrawn"), (EventKey("c"), "")])
    assert (marked(deduper, "a", "b", "c"), deduper.outcome("b")) == ([False, True, True], "withdrawn")
    deduper = of_size(2)
    deduper.adopt([(EventKey("a"), ""), (EventKey("b"), "")])
    deduper.add("c")
    assert marked(deduper, "a", "b", "c") == [False, True, True]


def test_it_holds_ten_thousand_marks_unless_told_otherwise() -> None:
    deduper = of_size(DEDUP_CACHE_SIZE, *map(str, range(10_001)))
    assert (len(deduper), "0" in deduper, "1" in deduper) == (10_000, False, True)
    assert DEDUP_CACHE_SIZE == 10_000


moves = st.tuples(st.sampled_from(["add", "settle", "discard", "ask"]), st.sampled_from("abcde"))


@given(st.lists(moves, max_size=30))
def test_it_behaves_as_a_dictionary_of_the_last_three_used(history: list[tuple[str, str]]) -> None:
    """The model is a plain dictionary in order of use."""
    deduper, model = Deduper(3), dict[str, str]()
    for move, key in history:
        known = model.pop(key, None)
        match move:
            case "add":
                deduper.add(key)
                model[key] = ""
            case "settle":
                deduper.mark_settled(key, "withdrawn")
                model[key] = "withdrawn"
            case "discard":
                deduper.discard(key)
            case _:
                assert deduper.outcome(key) == (known or "")
                model |= {key: known} if known is not None else {}
        if len(model) > 3:
            del model[next(iter(model))]
    assert {key: deduper.outcome(key) for key in "abcde" if key in deduper} == model


def test_threads_may_use_it_at_once() -> None:
    deduper, barrier, faults = Deduper(50), threading.Barrier(4), list[BaseException]()

    def use(own: int) -> None:
        try:
            barrier.wait(LIMIT_S)
            for number in range(2_000):
                key = str((number * own) % 90)
                deduper.add(key)
                deduper.mark_settled(key, "withdrawn")
                assert deduper.outcome(key) in ("", "withdrawn")
                deduper.discard(str(number % 7))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=use, args=(own,)) for own in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert (faults, [thread.is_alive() for thread in threads], len(deduper) <= 50) == ([], [False] * 4, True)
