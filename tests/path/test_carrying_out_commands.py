"""Commands do not queue behind prompts: stop, pause and resume over the real worker with a stand-in agent."""

from __future__ import annotations

import threading

import pytest

from domain.model import Event, ItemId, Phase, TurnId
from domain.turns import CANCEL_MS
from sessions.port import HarnessFailed
from tests.fakes.core import comment, edited
from tests.fakes.dispatching import LIMIT_S
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Host, Manner, Opening
from tests.fakes.service_in_process import ServiceInProcess, texts_in
from webhook.lanes import Slots

WORKS_ON = Manner(ends=False)


def test_a_stop_cancels_the_running_turn_and_ends_the_session(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    said, stop = comment(2, "more"), comment(3, "the-loop stop")
    service.arrive(said, stop)
    service.wait_fates([said, stop], "session-stopped", "control-executed")
    assert harness.living() == set()
    assert service.session() is None
    assert service.turns() == [("events", "cancelled")]


def test_the_text_of_a_cancelled_turn_is_kept_and_not_posted(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    stop = comment(2, "the-loop stop")
    service.arrive(stop)
    service.wait_fates([stop], "control-executed")
    assert service.rows("SELECT answer FROM turns") == [("Half of it.",)]
    assert service.said("answer") == []


def test_a_turn_that_is_cancelled_before_its_receipt_settles_its_comments_session_stopped_and_the_log_says_so(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    harness.next_turns(Manner(receipt=None))
    said, stop = comment(2, "more"), comment(3, "the-loop stop")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    service.arrive(stop)
    service.wait_fates([said, stop], "session-stopped", "control-executed")
    service.settle()
    assert said.key in {event.event_key for event in service.events.named("dispatch.settled")}


def test_comments_that_a_stop_kept_from_the_agent_are_told_to_the_next_session(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    harness.next_turns(Manner(receipt=None))
    said, stop = comment(2, "more"), comment(3, "the-loop stop")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    service.arrive(stop)
    service.wait_fates([said, stop], "session-stopped", "control-executed")
    service.begin(4)
    assert "1 comment since" in harness.wait_prompts(service.item_id(), 3)[-1].text


def test_a_turn_that_does_not_end_when_cancelled_is_ended_with_its_session(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(Manner(ends=False, heeds_cancel=False))
    service.begin()
    stop = comment(2, "the-loop stop")
    service.arrive(stop)
    service.settle()
    assert service.fates(stop) == ["inflight"]
    service.advance(CANCEL_MS / 1000)
    service.wait_fates([stop], "control-executed")
    assert harness.living() == set()


def test_a_stop_reaches_an_agent_that_is_still_starting(service: ServiceInProcess, harness: StandInHarness) -> None:
    """The hand-over waits for the agent; the stop must not wait for the hand-over."""
    ready = threading.Event()
    harness.next_turns(Manner(ready=ready))
    start = comment(1, "the-loop start")
    service.arrive(start)
    service.until(lambda: service.turns() == [("events", "handed")])
    stop = comment(2, "the-loop stop")
    service.arrive(stop)
    try:
        service.until(lambda: harness.living() == set())
    finally:
        ready.set()
        harness.wake_all()
    service.wait_fates([start, stop], "control-executed", "control-executed")
    assert harness.prompts == []


def slip_in(service: ServiceInProcess, monkeypatch: pytest.MonkeyPatch, slots: Slots, stop: Event) -> None:
    """Let the stop come when a worker has made its choice and nobody can interrupt it yet."""
    looked, take, interrupt = threading.Event(), slots.take, service.worker._sessions.interrupt

    def take_late(item_id: ItemId) -> bool:
        monkeypatch.setattr(slots, "take", take)
        service.tell(stop)
        assert looked.wait(LIMIT_S)
        return take(item_id)

    def look(item_id: ItemId) -> None:
        interrupt(item_id)
        looked.set()

    monkeypatch.setattr(slots, "take", take_late)
    monkeypatch.setattr(service.worker._sessions, "interrupt", look)


@pytest.mark.parametrize("slots", ["places", "starts"])
def test_a_stop_that_finds_nobody_to_interrupt_yet_is_seen_by_the_start_itself(
    service: ServiceInProcess, harness: StandInHarness, monkeypatch: pytest.MonkeyPatch, slots: str
) -> None:
    harness.opening = Opening(released=threading.Event())
    start, stop = comment(1, "the-loop start"), comment(2, "the-loop stop")
    slip_in(service, monkeypatch, getattr(service.means, slots), stop)
    service.arrive(start)
    service.wait_fates([start, stop], "control-executed", "control-executed")
    assert harness.opens == []
    service.settle()
    assert (service.means.places.holders, service.means.starts.holders) == (set(), set())


def test_a_stop_that_finds_nobody_to_interrupt_yet_is_seen_by_the_hand_over_itself(
    service: ServiceInProcess, harness: StandInHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin()
    service.settle()
    harness.next_turns(Manner(ready=threading.Event()))
    said, stop = comment(2, "more"), comment(3, "the-loop stop")
    slip_in(service, monkeypatch, service.means.hand_overs, stop)
    service.arrive(said)
    service.wait_fates([said, stop], "session-stopped", "control-executed")
    assert len(harness.prompts) == 1


def test_a_stop_interrupts_a_start_under_way(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.next_openings(Opening(released=threading.Event()))
    start, said, stop = comment(1, "the-loop start"), comment(2, "more"), comment(3, "the-loop stop")
    service.arrive(start, said)
    harness.wait_opens(1)
    service.arrive(stop)
    service.wait_fates([start, said, stop], "control-executed", "session-stopped", "control-executed")
    service.settle()
    assert harness.living() == set()
    assert len(harness.opens) == 1
    assert service.said("notice") == []


def test_a_start_and_a_stop_in_the_same_second_leave_no_session(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    start, stop = comment(1, "the-loop start", at_s=9), comment(2, "the-loop stop", at_s=9)
    service.arrive(start, stop)
    service.wait_fates([start, stop], "control-executed", "control-executed")
    service.settle()
    assert (service.phase(), service.session(), harness.living()) == (Phase.STOPPED, None, set())


def test_a_stop_during_a_hand_over_that_fails_brings_no_session_back(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    said, stop = comment(2, "more"), comment(3, "the-loop stop")

    def fail(host: Host, turn_id: TurnId) -> None:
        service.arrive(stop)
        harness.kill(host.order.item_id)
        raise HarnessFailed("the host is gone")

    harness.before_hand = fail
    service.arrive(said)
    service.wait_fates([said, stop], "session-stopped", "control-executed")
    service.settle()
    assert len(harness.opens) == 1
    assert service.session() is None


def test_a_start_after_a_stop_is_a_new_session_with_a_new_conversation(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.arrive(comment(2, "the-loop stop"))
    service.begin(3, "once more")
    first, second = harness.prompts_of(service.item_id())
    assert first.session_id != second.session_id
    assert first.conversation_id != second.conversation_id
    assert second.text.startswith("You are a session of the-loop.")


def test_a_pause_lets_the_running_turn_end_and_its_answer_be_posted(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    said, pause = comment(2, "more"), comment(3, "the-loop pause")
    service.arrive(said, pause)
    service.wait_fates([said, pause], "session-paused", "control-executed")
    assert service.turns() == [("events", "taken")]
    harness.finish(service.item_id(), "All done.")
    service.until(lambda: service.said("answer") == ["All done."])
    service.settle()
    assert len(harness.prompts) == 1
    assert harness.living() == {service.item_id()}, "a paused session stays"


def test_a_pause_that_races_a_delivery_leaves_the_item_paused_and_the_delivery_done(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    said, pause = comment(2, "more"), comment(3, "the-loop pause")
    harness.before_hand = lambda host, turn_id: service.tell(pause)
    service.arrive(said)
    service.wait_fates([said, pause], "done", "control-executed")
    service.until(lambda: service.said("answer") == ["Done.", "Done."])
    service.settle()
    assert service.phase() is Phase.PAUSED


def test_a_resume_with_refused_comments_starts_a_turn_that_says_how_many(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.arrive(comment(2, "the-loop pause"), comment(3, "unheard"), comment(4, "unheard too"))
    resume = comment(5, "the-loop resume")
    service.arrive(resume)
    service.wait_fates([resume], "control-executed")
    _, prompt = harness.wait_prompts(service.item_id(), 2)
    assert "2 comments since 1970-01-01 00:00 UTC were not delivered to you." in prompt.text
    assert "unheard" not in prompt.text
    service.arrive(comment(6, "heard"))
    assert "not delivered to you" not in harness.wait_prompts(service.item_id(), 3)[-1].text


def test_a_resume_hands_its_text_over_without_its_own_words(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.begin()
    service.arrive(comment(2, "the-loop pause"))
    resume = comment(3, "the-loop resume with the second part")
    service.arrive(resume)
    service.wait_fates([resume], "control-executed")
    assert texts_in(harness.wait_prompts(service.item_id(), 2)[-1].text) == ["with the second part"]


def test_a_resume_that_owes_nothing_is_executed_and_prompts_nobody(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    resume = comment(3, "the-loop resume")
    service.arrive(comment(2, "the-loop pause"), resume)
    service.settle()
    assert service.fates(resume) == ["control-executed"]
    assert len(harness.prompts) == 1


def test_a_resume_is_executed_with_the_receipt_of_its_prompt(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    harness.next_turns(Manner(receipt=None))
    resume = comment(3, "the-loop resume now")
    service.arrive(comment(2, "the-loop pause"), resume)
    harness.wait_prompts(service.item_id(), 2)
    service.settle()
    assert service.fates(resume) == ["inflight"]
    harness.show_sign(service.item_id())
    service.wait_fates([resume], "control-executed")


def test_a_session_that_ended_idle_in_the_pause_is_loaded_again_for_the_resume(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.arrive(comment(2, "the-loop pause"))
    service.settle()
    harness.go_idle(service.item_id())
    service.settle()
    assert len(harness.opens) == 1, "nobody needs it"
    resume = comment(3, "the-loop resume and go on")
    service.arrive(resume)
    service.wait_fates([resume], "control-executed")
    first, second = harness.prompts_of(service.item_id())
    assert first.conversation_id == second.conversation_id


def test_what_an_agent_has_is_edited_no_more_but_told_of_the_edit(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    """Between hand-over and receipt the turn is repeated as it is."""

    service.begin()
    harness.next_turns(Manner(receipt=None))
    said = comment(2, "use tabs")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    changed = edited(said, "use spaces", at_s=30)
    service.arrive(changed)
    harness.show_sign(service.item_id())
    harness.finish(service.item_id())
    service.wait_fates([said, changed], "done", "done")
    assert [texts_in(text) for text in harness.texts(service.item_id())][1:] == [["use tabs"], ["use spaces"]]


def test_a_status_is_answered_while_a_turn_runs(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    asked = comment(2, "the-loop status")
    service.arrive(asked)
    assert service.fates(asked) == ["control-executed"]
    assert len(service.said("answer-of-ours")) == 1
    assert len(harness.prompts) == 1
