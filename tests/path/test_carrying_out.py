"""From an accepted comment to its prompt and its answer: turns, over the real worker with a stand-in agent."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from domain.answers import NO_REPLY
from domain.model import Anchor, Event, Fact, ItemId
from sessions.host.records import Receipt
from tests.fakes.core import THREAD, comment, edited
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Manner
from tests.fakes.service_in_process import ServiceInProcess, texts_in, thread

WORKS_ON = Manner(ends=False)


def test_a_start_is_handed_over_without_its_own_words_and_is_executed_with_the_receipt(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(Manner(receipt=None))
    start = comment(1, "the-loop start cover the empty list")
    service.arrive(start)
    (prompt,) = harness.wait_prompts(service.item_id(), 1)
    assert texts_in(prompt.text) == ["cover the empty list"]
    assert "the-loop start" not in prompt.text
    service.settle()
    assert service.fates(start) == ["inflight"]
    harness.show_sign(service.item_id())
    service.wait_fates([start], "control-executed")


def test_a_comment_is_done_with_the_receipt_and_not_before(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.begin()
    harness.next_turns(Manner(receipt=None))
    said = comment(2, "also this")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    service.settle()
    assert service.fates(said) == ["inflight"]
    harness.show_sign(service.item_id())
    service.wait_fates([said], "done")
    assert harness.living() == {service.item_id()}, "done waits for no end"


def test_comments_before_the_session_exists_wait_and_go_with_the_start(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    released = threading.Event()
    harness.next_openings(replace(harness.opening, released=released))
    start, said = comment(1, "the-loop start"), comment(2, "and this")
    service.arrive(start)
    harness.wait_opens(1)
    service.arrive(said)
    released.set()
    service.wait_fates([start, said], "control-executed", "done")
    (prompt,) = harness.prompts_of(service.item_id())
    assert texts_in(prompt.text) == ["", "and this"]


def test_twenty_comments_while_a_turn_runs_are_one_prompt_when_it_ends(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    said = [comment(number, f"thing {number}") for number in range(2, 22)]
    service.arrive(*said)
    service.settle()
    assert len(harness.prompts) == 1
    assert service.fates(*said) == ["inflight"] * 20
    harness.finish(service.item_id())
    service.wait_fates(said, *["done"] * 20)
    _, prompt = harness.prompts_of(service.item_id())
    assert texts_in(prompt.text) == [f"thing {number}" for number in range(2, 22)]


def test_what_does_not_fit_into_one_turn_is_the_next_one(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    said = [comment(number, f"thing {number}") for number in range(2, 27)]
    service.arrive(*said)
    harness.finish(service.item_id())
    service.wait_fates(said, *["done"] * 25)
    assert [len(texts_in(text)) for text in harness.texts(service.item_id())] == [1, 20, 5]


def test_a_session_has_one_prompt_at_a_time(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON, WORKS_ON)
    service.begin()
    first, second = comment(2, "first"), comment(3, "second")
    service.arrive(first)
    service.settle()
    assert len(harness.prompts) == 1
    harness.finish(service.item_id())
    harness.wait_prompts(service.item_id(), 2)
    service.arrive(second)
    service.settle()
    assert len(harness.prompts) == 2
    harness.finish(service.item_id())
    service.wait_fates([first, second], "done", "done")


def test_an_inline_comment_that_arrives_while_a_worker_looks_is_still_waited_for(
    service: ServiceInProcess, harness: StandInHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin()
    service.settle()
    review = comment(50, "Some remarks", at_s=60, fact=Fact.REVIEW)
    inline = [_inline(number, review) for number in (51, 52)]
    look, late = service.worker._look, [inline[1]]

    def look_too_early(item_id: ItemId) -> object:
        known = look(item_id)
        if late and service.rows("SELECT 1 FROM events WHERE event_key = ?", inline[0].key):
            service.tell(late.pop())
            service.advance(2.1)
        return known

    monkeypatch.setattr(service.worker, "_look", look_too_early)
    service.arrive(review, inline[0])
    service.wait_fates([review, *inline], "done", "done", "done")
    assert len(harness.prompts) == 2


def test_a_review_and_its_inline_comments_are_one_prompt_two_seconds_after_the_last_of_them(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    review = comment(50, "Some remarks", at_s=60, fact=Fact.REVIEW)
    inline = [_inline(number, review) for number in (51, 52)]
    service.arrive(review, inline[0])
    service.advance(1.5)
    service.arrive(inline[1])
    service.advance(1.9)
    service.settle()
    assert len(harness.prompts) == 1
    service.advance(0.2)
    service.wait_fates([review, *inline], "done", "done", "done")
    assert len(harness.prompts) == 2


def _inline(number: int, review: Event) -> Event:
    said = comment(number, f"line {number}", at_s=60, fact=Fact.INLINE)
    return replace(said, anchor=Anchor(path="a.py", line=number, review_id=review.object_id))


def test_a_later_start_on_a_running_item_hands_its_text_over(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    again = comment(2, "the-loop start and look at the tests too")
    service.arrive(again)
    service.wait_fates([again], "control-executed")
    assert texts_in(harness.texts(service.item_id())[-1]) == ["and look at the tests too"]
    assert len(harness.opens) == 1


def test_a_later_start_without_words_is_executed_and_prompts_nobody(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    again = comment(2, "the-loop start")
    service.arrive(again)
    service.settle()
    assert service.fates(again) == ["control-executed"]
    assert len(harness.prompts) == 1


def test_an_edit_of_what_an_agent_has_reaches_it_as_an_edit(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.begin()
    said = comment(2, "use tabs")
    service.arrive(said)
    service.wait_fates([said], "done")
    changed = edited(said, "use spaces", at_s=30)
    service.arrive(changed)
    service.wait_fates([changed], "done")
    text = harness.texts(service.item_id())[-1]
    assert texts_in(text) == ["use spaces"]
    assert '"edited": true' in text


def test_the_first_prompt_of_a_session_tells_its_rules_and_later_ones_do_not(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.arrive(comment(2, "more"))
    first, second = (prompt.text for prompt in harness.wait_prompts(service.item_id(), 2))
    assert first.startswith("You are a session of the-loop.")
    assert second.startswith("There is something new on github:o/r#15")


def test_texts_never_cross_between_items_that_are_carried_out_at_once(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    threads = [thread(number) for number in (21, 22, 23)]
    said = [
        comment(100 * one.number + number, f"word-{one.number}-{number}", at_s=number, thread=one)
        for number in range(2, 8)
        for one in threads
    ]
    for one in threads:
        service.arrive(comment(100 * one.number, "the-loop start", at_s=1, thread=one))
    service.arrive(*said)
    service.wait_fates(said, *["done"] * len(said))
    for one in threads:
        own = [text for prompt in harness.texts(service.item_id(one)) for text in texts_in(prompt) if text]
        assert own == [f"word-{one.number}-{number}" for number in range(2, 8)]
        places = {prompt.session_id for prompt in harness.prompts_of(service.item_id(one))}
        assert len(places) == 1


@pytest.mark.parametrize(
    ("manner", "posted"),
    [
        pytest.param(Manner(after_tools="Fixed it."), ["Fixed it."], id="the-text-after-the-tools"),
        pytest.param(Manner(after_tools="", before_tools="Fixed it."), ["Fixed it."], id="else-the-one-before"),
        pytest.param(Manner(after_tools=NO_REPLY), [], id="no-reply"),
        pytest.param(Manner(after_tools=""), [], id="nothing"),
        pytest.param(Manner(after_tools="Fixed it.", receipt=Receipt.TOOL), ["Fixed it."], id="by-any-receipt"),
    ],
)
def test_the_answer_of_a_turn_is_recorded_for_its_thread(
    service: ServiceInProcess, harness: StandInHarness, manner: Manner, posted: list[str]
) -> None:
    harness.next_turns(manner)
    service.begin()
    service.until(lambda: service.turns() == [("events", "ended")])
    service.settle()
    assert service.said("answer") == posted


def test_an_answer_equal_to_what_was_said_through_the_seat_is_not_recorded_again(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    _say_by_seat(service, harness, "Here you are.")
    harness.finish(service.item_id(), "Here you are.")
    service.until(lambda: service.turns() == [("events", "ended")])
    assert service.said("answer") == []


def test_where_the_seat_was_used_the_text_before_the_tools_is_no_answer(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    _say_by_seat(service, harness, "Here you are.")
    harness.finish(service.item_id(), "", before_tools="Let me see.")
    service.until(lambda: service.turns() == [("events", "ended")])
    assert service.said("answer") == []


def _say_by_seat(service: ServiceInProcess, harness: StandInHarness, text: str) -> None:
    """Record a reply as the seat does."""
    (turn,) = harness.prompts_of(service.item_id())
    service.record_reply(turn.turn_id, text)


def test_an_item_without_labels_in_its_arrival_is_asked_for_and_started(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    start, said = comment(1, "the-loop start", told=None), comment(2, "and this", told=None)
    service.github.is_reachable = False
    service.arrive(start, said)
    service.settle()
    assert service.fates(start, said) == ["inflight", "inflight"]
    assert harness.opens == []
    service.github.is_reachable = True
    service.advance(1)
    service.wait_fates([start, said], "control-executed", "done")


def test_a_comment_on_an_item_that_nobody_started_reaches_nobody(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    said = comment(1, "hello")
    service.arrive(said)
    service.settle()
    assert service.fates(said) == ["awaiting-start"]
    assert harness.opens == []


def test_the_first_prompt_says_how_many_comments_were_refused_before_the_start(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.arrive(comment(1, "one"), comment(2, "two"))
    service.begin(3)
    assert "2 comments since" in harness.wait_prompts(service.item_id(), 1)[0].text
    service.arrive(comment(4, "three"))
    assert "not delivered to you" not in harness.wait_prompts(service.item_id(), 2)[1].text


def test_an_item_has_one_session_however_many_comments_come_at_once(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    arriving = [
        threading.Thread(target=service.arrive, args=(comment(number, f"thing {number}"),)) for number in range(2, 12)
    ]
    for one in arriving:
        one.start()
    for one in arriving:
        one.join()
    service.wait_fates([comment(number) for number in range(2, 12)], *["done"] * 10)
    assert len(harness.opens) == 1
    said = [text for prompt in harness.texts(service.item_id(THREAD)) for text in texts_in(prompt) if text]
    assert sorted(said) == sorted(f"thing {number}" for number in range(2, 12))
