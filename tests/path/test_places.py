"""Places for sessions and slots for starts and hand-overs: who waits for whom, and for whom nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain.model import Event, Thread
from tests.fakes.core import comment
from tests.fakes.manners import Manner, Opening
from tests.fakes.service_in_process import ServiceInProcess, texts_in, thread

WORKS_ON = Manner(ends=False)
A, B, C, D = (thread(number) for number in (21, 22, 23, 24))
MINUTE_S = 60

Serve = Callable[..., ServiceInProcess]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Run a service with so many places and slots."""
    running: list[ServiceInProcess] = []

    def run(places: int, slots: int = 4) -> ServiceInProcess:
        service = ServiceInProcess(
            tmp_path, sessions={"max_live": places}, routing={"max_concurrent_dispatches": slots}
        )
        service.start()
        running.append(service)
        return service

    yield run
    for service in running:
        service.stop()


def start_of(one: Thread, number: int = 1) -> Event:
    return comment(100 * one.number + number, "the-loop start", at_s=number, thread=one)


def say(one: Thread, number: int, body: str = "more") -> Event:
    return comment(100 * one.number + number, body, at_s=number, thread=one)


def begin(service: ServiceInProcess, *threads: Thread, manner: Manner | None = None) -> None:
    """Start these one second after the other, each until its turn is taken, and ended unless it works on."""
    for one in threads:
        if manner is not None:
            service.harness.next_turns(manner)
        start = start_of(one)
        service.arrive(start)
        service.wait_fates([start], "control-executed")
        service.settle()
        service.advance(1)


def living(service: ServiceInProcess) -> list[int]:
    """The numbers of the threads whose session lives."""
    found = service.rows("SELECT item_id, number FROM items")
    return sorted(number for item_id, number in found if item_id in service.harness.living())


def test_as_many_sessions_live_as_there_are_places(serve: Serve) -> None:
    service = serve(places=2)
    begin(service, A, B, manner=WORKS_ON)
    waits = start_of(C)
    service.arrive(waits)
    service.settle()
    assert living(service) == [21, 22]
    assert service.fates(waits) == ["inflight"]
    service.harness.finish(service.item_id(A))
    service.wait_fates([waits], "control-executed")
    service.settle()
    assert living(service) == [22, 23]


def test_the_session_idle_longest_is_ended_for_the_next_item(serve: Serve) -> None:
    service = serve(places=2)
    begin(service, A, B)
    again = say(A, 5)
    service.arrive(again)
    service.wait_fates([again], "done")
    service.settle()
    begin(service, C)
    assert living(service) == [21, 23]


def test_a_session_that_gave_its_place_is_loaded_again_with_its_conversation(serve: Serve) -> None:
    service = serve(places=1)
    begin(service, A, B)
    assert living(service) == [22]
    again = say(A, 5)
    service.arrive(again)
    service.wait_fates([again], "done")
    first, second = service.harness.prompts_of(service.item_id(A))
    assert (first.session_id, first.conversation_id) == (second.session_id, second.conversation_id)
    service.settle()
    assert living(service) == [21]


def test_a_paused_session_is_idle(serve: Serve) -> None:
    service = serve(places=1)
    begin(service, A)
    service.arrive(say(A, 5, "the-loop pause"))
    service.settle()
    begin(service, B)
    assert living(service) == [22]


def test_a_running_turn_is_not_ended_for_another_item(serve: Serve) -> None:
    service = serve(places=1)
    begin(service, A, manner=WORKS_ON)
    service.arrive(start_of(B))
    for _ in range(3):
        service.settle()
        service.advance(MINUTE_S)
    service.settle()
    assert living(service) == [21]
    assert service.turns(A) == [("events", "taken")]


def test_a_session_that_others_wait_for_gives_its_place_once_not_each_that_is_idle(serve: Serve) -> None:
    service = serve(places=3)
    begin(service, A, B, C)
    begin(service, D)
    assert living(service) == [22, 23, 24]


def test_an_idle_session_with_a_new_comment_is_not_the_one_that_gives_its_place(serve: Serve) -> None:
    """Somebody waits, and the one idle longest is about to end: the others go on with their work."""
    service = serve(places=2)
    begin(service, A, B)
    held = threading.Event()
    service.harness.hold_end(service.item_id(A), held)
    service.arrive(start_of(C))
    service.harness.wait_end_asked(service.item_id(A))
    said = say(B, 5)
    service.arrive(said)
    service.wait_fates([said], "done")
    held.set()
    service.wait_fates([start_of(C)], "control-executed")
    assert len(service.harness.opens) == 3, "nobody else was ended and opened again"


def test_items_queue_for_places_in_order_of_acceptance(serve: Serve) -> None:
    service = serve(places=1)
    begin(service, A, manner=WORKS_ON)
    for one in (C, B, D):
        service.arrive(start_of(one))
        service.settle()
    service.harness.finish(service.item_id(A))
    service.wait_fates([start_of(one) for one in (C, B, D)], *["control-executed"] * 3)
    order = [prompt.item_id for prompt in service.harness.prompts]
    assert order == [service.item_id(one) for one in (A, C, B, D)]


def test_who_waits_for_a_place_for_a_minute_is_told_once_how_many_are_before_it(serve: Serve) -> None:
    service = serve(places=1)
    begin(service, A, manner=WORKS_ON)
    for one in (B, C):
        service.arrive(start_of(one))
        service.settle()
    service.advance(MINUTE_S - 1)
    service.settle()
    assert service.said("waits-for-place", B) == []
    service.advance(1)
    service.until(lambda: len(service.said("waits-for-place", B) + service.said("waits-for-place", C)) == 2)
    service.advance(MINUTE_S)
    service.settle()
    assert len(service.said("waits-for-place", B)) == 1
    (told,) = service.said("waits-for-place", C)
    assert "1 thread before this one" in told


def test_who_is_stopped_while_it_waits_for_a_place_keeps_nobody_else_from_it(serve: Serve) -> None:
    service = serve(places=1)
    begin(service, A, manner=WORKS_ON)
    gone, following = start_of(B), start_of(C)
    for one in (gone, following):
        service.arrive(one)
        service.settle()
    service.arrive(say(B, 5, "the-loop stop"))
    service.settle()
    service.harness.finish(service.item_id(A))
    service.wait_fates([gone, following], "control-executed", "control-executed")
    assert service.harness.prompts_of(service.item_id(B)) == []


def test_who_is_withdrawn_while_it_waits_for_a_slot_keeps_neither_slot_nor_place(serve: Serve) -> None:
    """It has a place, and waits in line for a slot to start."""
    service = serve(places=2, slots=1)
    service.harness.next_turns(Manner(receipt=None))
    service.arrive(start_of(A))
    service.harness.wait_prompts(service.item_id(A), 1)
    service.arrive(start_of(B))
    service.settle()
    service.arrive(say(B, 5, "the-loop stop"))
    service.settle()
    service.harness.show_sign(service.item_id(A))
    service.settle()
    following = start_of(C)
    service.arrive(following)
    service.wait_fates([following], "control-executed")


def test_who_is_paused_between_its_start_and_its_first_prompt_holds_no_slot(serve: Serve) -> None:
    service = serve(places=4, slots=1)
    released = threading.Event()
    service.harness.next_openings(Opening(released=released))
    service.arrive(start_of(A))
    service.harness.wait_opens(1)
    service.arrive(say(A, 5, "the-loop pause"))
    released.set()
    service.until(lambda: living(service) == [21])
    following = start_of(B)
    service.arrive(following)
    service.wait_fates([following], "control-executed")
    assert service.harness.prompts_of(service.item_id(A)) == []


def test_a_start_that_hangs_keeps_no_other_start_waiting(serve: Serve) -> None:
    service = serve(places=4)
    released = threading.Event()
    service.harness.next_openings(Opening(released=released))
    hangs = start_of(A)
    service.arrive(hangs)
    service.harness.wait_opens(1)
    begun = [start_of(one) for one in (B, C, D)]
    service.arrive(*begun)
    service.wait_fates(begun, *["control-executed"] * 3)
    assert service.fates(hangs) == ["inflight"]
    released.set()
    service.wait_fates([hangs], "control-executed")


def test_hanging_starts_keep_no_hand_over_and_no_stop_waiting(serve: Serve) -> None:
    service = serve(places=4, slots=2)
    begin(service, A, B)
    released = threading.Event()
    service.harness.next_openings(*[Opening(released=released)] * 2)
    service.arrive(start_of(C), start_of(D))
    service.harness.wait_opens(4)
    said, stop = say(A, 5), say(B, 5, "the-loop stop")
    service.arrive(said, stop)
    service.wait_fates([said, stop], "done", "control-executed")
    released.set()
    service.wait_fates([start_of(C), start_of(D)], "control-executed", "control-executed")


def test_hand_overs_without_a_receipt_keep_no_start_waiting(serve: Serve) -> None:
    service = serve(places=4, slots=1)
    begin(service, A)
    service.harness.next_turns(Manner(receipt=None))
    service.arrive(say(A, 5))
    service.harness.wait_prompts(service.item_id(A), 2)
    begin_b = start_of(B)
    service.arrive(begin_b)
    service.wait_fates([begin_b], "control-executed")


def test_a_slot_is_held_until_the_receipt_and_not_until_the_end(serve: Serve) -> None:
    service = serve(places=4, slots=1)
    begin(service, A, B)
    service.harness.next_turns(Manner(receipt=None), item_id=service.item_id(A))
    first, second = say(A, 5), say(B, 5)
    service.arrive(first)
    service.harness.wait_prompts(service.item_id(A), 2)
    service.arrive(second)
    service.settle()
    assert len(service.harness.prompts_of(service.item_id(B))) == 1
    service.harness.show_sign(service.item_id(A))
    service.wait_fates([first, second], "done", "done")
    assert service.turns(A)[-1] == ("events", "taken")


def test_slots_that_come_free_together_are_all_used(serve: Serve) -> None:
    service = serve(places=4, slots=2)
    begin(service, A, B, C, D)
    for one in (A, B):
        service.harness.next_turns(Manner(receipt=None), item_id=service.item_id(one))
        service.arrive(say(one, 5))
        service.harness.wait_prompts(service.item_id(one), 2)
    waiting = [say(C, 5), say(D, 5)]
    service.arrive(*waiting)
    service.settle()
    service.harness.show_sign(service.item_id(A))
    service.harness.show_sign(service.item_id(B))
    service.wait_fates(waiting, "done", "done")


def test_many_items_pass_through_few_places_each_once(serve: Serve) -> None:
    service = serve(places=3, slots=2)
    threads = [thread(number) for number in range(100, 140)]
    said = [say(one, 2) for one in threads]
    service.arrive(*(start_of(one) for one in threads))
    service.arrive(*said)
    service.wait_fates(said, *["done"] * len(said))
    service.settle()
    assert len(living(service)) <= 3
    for one in threads:
        texts = service.harness.texts(service.item_id(one))
        assert [said for text in texts for said in texts_in(text)].count("more") == 1
