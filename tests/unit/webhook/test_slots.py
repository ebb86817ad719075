"""A bounded number of items hold a slot; the others stand in line in the order in which they came."""

from __future__ import annotations

import threading

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.model import ItemId
from webhook.lanes import Slots

A, B, C, D = (ItemId(number) for number in (1, 2, 3, 4))


class Bell:
    """Keeps who was woken."""

    def __init__(self) -> None:
        self.woken: list[ItemId] = []

    def __call__(self, item_id: ItemId) -> None:
        self.woken.append(item_id)


def ask_when_woken(slots: Slots, bell: Bell) -> None:
    """As workers do: whoever is woken asks once."""
    while bell.woken:
        slots.take(bell.woken.pop(0))


def test_as_many_hold_a_slot_as_there_are() -> None:
    slots = Slots(2, Bell())
    assert [slots.take(item) for item in (A, B, C)] == [True, True, False]
    assert slots.holders == {A, B}


def test_who_holds_a_slot_has_it_again_for_the_asking() -> None:
    slots = Slots(1, Bell())
    assert [slots.take(A), slots.take(A)] == [True, True]
    assert slots.holders == {A}


def test_a_slot_that_is_given_back_wakes_the_first_in_line() -> None:
    bell = Bell()
    slots = Slots(1, bell)
    for item in (A, B, C):
        slots.take(item)
    slots.give_back(A)
    assert bell.woken == [B]


def test_nobody_overtakes_the_first_in_line() -> None:
    slots = Slots(1, Bell())
    for item in (A, B, C):
        slots.take(item)
    slots.give_back(A)
    assert [slots.take(item) for item in (D, C, A, B)] == [False, False, False, True]


def test_asking_again_keeps_the_place_in_line() -> None:
    slots = Slots(1, Bell())
    for item in (A, B, C, B, C):
        slots.take(item)
    assert [slots.ahead_of(item) for item in (B, C, D)] == [0, 1, 0]


def test_who_leaves_the_line_leaves_it_to_those_behind() -> None:
    bell = Bell()
    slots = Slots(1, bell)
    for item in (A, B, C):
        slots.take(item)
    slots.give_back(B)
    assert bell.woken == []
    slots.give_back(A)
    assert bell.woken == [C]
    assert slots.take(C)


def test_who_leaves_the_line_while_a_slot_is_free_wakes_the_next() -> None:
    bell = Bell()
    slots = Slots(1, bell)
    for item in (A, B, C):
        slots.take(item)
    slots.give_back(A)
    slots.give_back(B)
    assert bell.woken == [B, C]


def test_slots_that_are_given_back_together_are_all_taken() -> None:
    bell = Bell()
    slots = Slots(2, bell)
    for item in (A, B, C, D):
        slots.take(item)
    slots.give_back(A)
    slots.give_back(B)
    ask_when_woken(slots, bell)
    assert slots.holders == {C, D}


def test_giving_back_what_one_has_not_changes_nothing() -> None:
    bell = Bell()
    slots = Slots(1, bell)
    slots.give_back(A)
    assert slots.take(A)
    slots.give_back(B)
    assert slots.holders == {A}
    assert bell.woken == []
    assert not slots.line


def test_a_slot_is_wanted_while_somebody_stands_in_line() -> None:
    slots = Slots(1, Bell())
    slots.take(A)
    assert not slots.line
    slots.take(B)
    assert slots.line
    slots.give_back(A)
    slots.take(B)
    assert not slots.line


def test_waking_happens_outside_of_the_lock() -> None:
    """Who is woken may ask at once."""
    slots: Slots

    def ask(item_id: ItemId) -> None:
        asking = threading.Thread(target=lambda: slots.take(item_id))
        asking.start()
        asking.join(20.0)
        assert not asking.is_alive()

    slots = Slots(1, ask)
    slots.take(A)
    slots.take(B)
    slots.give_back(A)
    assert slots.holders == {B}


@settings(max_examples=500)
@given(st.integers(1, 3), st.lists(st.tuples(st.sampled_from(["take", "give back", "ask"]), st.integers(1, 6))))
def test_no_slot_stays_free_while_somebody_stands_in_line(count: int, steps: list[tuple[str, int]]) -> None:
    """Whoever is woken asks, now or later."""
    bell = Bell()
    slots = Slots(count, bell)
    wanting: set[ItemId] = set()
    for step, number in steps:
        item = ItemId(number)
        if step == "take":
            slots.take(item)
            wanting.add(item)
        elif step == "give back":
            slots.give_back(item)
            wanting.discard(item)
        elif bell.woken:
            woken = bell.woken.pop(0)
            if woken in wanting:
                slots.take(woken)
        assert len(slots.holders) <= count
        assert slots.holders <= wanting
    while bell.woken:
        woken = bell.woken.pop(0)
        if woken in wanting:
            slots.take(woken)
    assert len(slots.holders) == min(count, len(wanting))
