"""The service ends or is killed and starts again: its sessions are found, and nothing is done twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain.model import Phase, TurnId
from sessions.port import HarnessFailed
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Host, Manner, Opening
from tests.fakes.service_in_process import ScriptedGitHub, ServiceInProcess, SetClock, texts_in, thread

WORKS_ON = Manner(ends=False)
OTHER = thread(77)

Serve = Callable[[], ServiceInProcess]


@pytest.fixture
def harness() -> StandInHarness:
    return StandInHarness()


@pytest.fixture
def serve(tmp_path: Path, harness: StandInHarness) -> Iterator[Serve]:
    """Run a service; a second one takes up what the one before has left."""
    running: list[ServiceInProcess] = []
    clock, github = SetClock(), ScriptedGitHub(tmp_path / "remote.git")

    def run() -> ServiceInProcess:
        for service in running:
            service.stop()
        service = ServiceInProcess(
            tmp_path, harness=harness, clock=clock, github=github, routing={"max_concurrent_dispatches": 1}
        )
        service.start()
        running.append(service)
        return service

    yield run
    harness.before_hand = None
    for service in running:
        service.stop()


def test_a_running_turn_goes_on_over_a_restart_and_its_answer_is_posted(serve: Serve, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON)
    first = serve()
    first.begin()
    second = serve()
    second.settle()
    harness.finish(second.item_id(), "All done.")
    second.until(lambda: second.said("answer") == ["All done."])
    assert (len(harness.opens), len(harness.prompts)) == (1, 1)


def test_an_answer_that_was_given_while_no_service_ran_is_read_once(serve: Serve, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON)
    first = serve()
    first.begin()
    first.settle()
    first.stop()
    harness.finish(first.item_id(), "All done.")
    second = serve()
    second.until(lambda: second.said("answer") == ["All done."])
    third = serve()
    third.settle()
    assert third.said("answer") == ["All done."]
    assert len(harness.prompts) == 1


def test_a_receipt_that_came_while_no_service_ran_makes_the_comment_done(serve: Serve, harness: StandInHarness) -> None:
    first = serve()
    first.begin()
    harness.next_turns(Manner(receipt=None))
    said = comment(2, "more")
    first.arrive(said)
    harness.wait_prompts(first.item_id(), 2)
    first.settle()
    first.stop()
    harness.show_sign(first.item_id())
    second = serve()
    second.wait_fates([said], "done")
    assert len(harness.prompts) == 2


def test_a_turn_that_was_handed_over_is_not_handed_twice(serve: Serve, harness: StandInHarness) -> None:
    first = serve()
    first.begin()
    harness.next_turns(Manner(receipt=None))
    said = comment(2, "more")
    first.arrive(said)
    harness.wait_prompts(first.item_id(), 2)
    first.settle()
    second = serve()
    second.settle()
    assert len(harness.prompts) == 2
    assert second.fates(said) == ["inflight"]


def test_a_turn_that_was_frozen_is_handed_over_as_it_is(serve: Serve, harness: StandInHarness) -> None:
    first = serve()
    first.begin()
    first.begin(700, thread=OTHER)
    harness.next_turns(Manner(receipt=None), item_id=first.item_id(OTHER))
    first.arrive(comment(702, "keep it busy", thread=OTHER))
    harness.wait_prompts(first.item_id(OTHER), 2)
    said = comment(2, "more")
    first.arrive(said)
    first.until(lambda: first.turns()[-1] == ("events", "frozen"))
    ((turn_id,),) = first.rows("SELECT turn_id FROM turns WHERE state = 'frozen'")
    first.stop()
    harness.show_sign(first.item_id(OTHER))
    second = serve()
    second.wait_fates([said], "done")
    prompt = harness.prompts_of(second.item_id())[-1]
    assert prompt.turn_id == turn_id
    assert texts_in(prompt.text) == ["more"]


@pytest.mark.parametrize("reaches", [False, True], ids=["before-it-reached-the-host", "after-it-reached-the-host"])
def test_a_service_that_is_killed_while_it_hands_a_turn_over_hands_it_over_once(
    serve: Serve, harness: StandInHarness, reaches: bool
) -> None:
    first = serve()
    first.begin()
    first.settle()
    killed = threading.Event()

    def kill(host: Host, turn_id: TurnId) -> None:
        harness.before_hand = None
        first.crash()
        if reaches:
            (text,) = first.rows("SELECT prompt FROM turns WHERE turn_id = ?", turn_id)[0]
            harness.hand(host, turn_id, text, 1.0)
        killed.set()
        raise HarnessFailed("nobody hears of it")

    harness.before_hand = kill
    said = comment(2, "more")
    first.arrive(said)
    assert killed.wait(20.0)
    second = serve()
    second.wait_fates([said], "done")
    second.settle()
    assert [texts_in(text) for text in harness.texts(second.item_id())][1:] == [["more"]]
    assert second.rows("SELECT attempts FROM fates WHERE event_key = ?", said.key) == [(0,)]


def test_a_session_that_was_being_opened_is_opened_once_more(serve: Serve, harness: StandInHarness) -> None:
    first = serve()
    released = threading.Event()
    harness.next_openings(Opening(released=released))
    start = comment(1, "the-loop start")
    first.arrive(start)
    harness.wait_opens(1)
    first.crash()
    released.set()
    second = serve()
    second.wait_fates([start], "control-executed")
    second.settle()
    assert len({order.session_id for order in harness.opens}) == 1
    assert len(harness.prompts) == 1


def test_a_stop_that_arrived_before_the_kill_is_carried_out_after_it(serve: Serve, harness: StandInHarness) -> None:
    harness.next_turns(Manner(ends=False, heeds_cancel=False))
    first = serve()
    first.begin()
    stop = comment(3, "the-loop stop")
    first.arrive(stop)
    first.settle()
    first.crash()
    second = serve()
    second.settle()
    second.advance(15)
    second.wait_fates([stop], "control-executed")
    assert harness.living() == set()


def test_a_stop_of_an_item_whose_session_was_being_opened_leaves_no_agent(
    serve: Serve, harness: StandInHarness
) -> None:
    first = serve()
    released = threading.Event()
    harness.next_openings(Opening(released=released))
    start = comment(1, "the-loop start")
    first.arrive(start)
    harness.wait_opens(1)
    first.core.lanes.stop()
    stop = comment(2, "the-loop stop")
    first.arrive(stop)
    first.crash()
    released.set()
    second = serve()
    second.wait_fates([start, stop], "control-executed", "control-executed")
    second.settle()
    assert (harness.living(), second.session(), second.phase()) == (set(), None, Phase.STOPPED)


def test_what_was_accepted_and_not_carried_out_is_carried_out_once(serve: Serve, harness: StandInHarness) -> None:
    first = serve()
    first.begin()
    first.settle()
    first.core.lanes.stop()
    said = [comment(number, f"thing {number}") for number in range(2, 8)]
    first.arrive(*said)
    first.crash()
    second = serve()
    second.wait_fates(said, *["done"] * 6)
    second.settle()
    _, prompt = harness.texts(second.item_id())
    assert texts_in(prompt) == [f"thing {number}" for number in range(2, 8)]


def test_the_same_comment_that_arrives_again_after_the_restart_is_a_duplicate(
    serve: Serve, harness: StandInHarness
) -> None:
    first = serve()
    first.begin()
    said = comment(2, "more")
    first.arrive(said)
    first.wait_fates([said], "done")
    second = serve()
    assert second.arrive(said).status == "duplicate"
    second.settle()
    assert len(harness.prompts) == 2


def test_a_machine_that_went_down_in_mid_turn_looks_the_turn_up_when_it_is_back(
    serve: Serve, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    first = serve()
    first.begin()
    first.settle()
    first.stop()
    harness.kill(first.item_id())
    second = serve()
    second.until(lambda: second.said("answer") == ["Done."])
    assert harness.texts(second.item_id())[-1].startswith("The machine or the agent ended")
    assert len(harness.opens) == 2


def test_a_place_that_an_earlier_runs_session_holds_is_held(tmp_path: Path, harness: StandInHarness) -> None:
    clock = SetClock()
    harness.next_turns(WORKS_ON)
    with ServiceInProcess(tmp_path, harness=harness, clock=clock, sessions={"max_live": 1}) as first:
        first.begin()
    with ServiceInProcess(tmp_path, harness=harness, clock=clock, sessions={"max_live": 1}) as second:
        second.settle()
        start = comment(700, "the-loop start", thread=OTHER)
        second.arrive(start)
        second.settle()
        assert harness.living() == {second.item_id()}
        harness.finish(second.item_id())
        second.wait_fates([start], "control-executed")


def test_attempts_that_were_spent_stay_spent_over_a_restart(serve: Serve, harness: StandInHarness) -> None:
    harness.opening = Opening(fails=HarnessFailed("it would not start"))
    start = comment(1, "the-loop start")
    serve().arrive(start)
    for pause_s in (2, 10, 30):
        service = serve()
        service.settle()
        service.advance(pause_s)
        service.settle()
    assert service.fates(start) == ["unhandled"]
    assert len(harness.opens) == 4
    assert len(service.said("notice")) == 1
