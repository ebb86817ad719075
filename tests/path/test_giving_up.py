"""Attempts, their pauses and their end: what cannot be carried out is tried again, then given up once, and re-armed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from domain.model import Phase
from domain.retry import NETWORK_PAUSE_S, PROVIDER_PAUSE_S
from sessions.host.records import TroubleKind
from sessions.port import CloneHeld, HarnessFailed
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Manner, Opening
from tests.fakes.service_in_process import PAUSES_S, ServiceInProcess, texts_in, thread

START_S = 120
REFUSES = Opening(fails=HarnessFailed("the session host would not start"))
DIES_AT_START = Opening(trouble=TroubleKind.OURS)
FAILING = [pytest.param(REFUSES, id="the-host-will-not-start"), pytest.param(DIES_AT_START, id="the-agent-dies")]


@pytest.mark.parametrize("opening", [*FAILING, pytest.param(Opening(dies=True), id="the-host-dies-without-a-word")])
def test_an_agent_that_cannot_start_is_tried_three_times_more_at_growing_pauses(
    service: ServiceInProcess, harness: StandInHarness, opening: Opening
) -> None:
    harness.opening = opening
    service.arrive(comment(1, "the-loop start"))
    tried = []
    for pause_s in PAUSES_S:
        service.settle()
        tried.append(len(harness.opens))
        service.advance(pause_s - 1)
        service.settle()
        tried.append(len(harness.opens))
        service.advance(1)
    service.settle()
    service.advance(10_000)
    service.settle()
    assert tried == [1, 1, 2, 2, 3, 3]
    assert len(harness.opens) == 4


@pytest.mark.parametrize("opening", FAILING)
def test_a_start_that_gives_up_fails_the_phase_and_takes_what_waits_along(
    service: ServiceInProcess, harness: StandInHarness, opening: Opening
) -> None:
    harness.opening = opening
    start, said = comment(1, "the-loop start"), comment(2, "and this")
    service.arrive(start, said)
    service.let_attempts_pass()
    assert service.fates(start, said) == ["unhandled", "unhandled"]
    assert service.phase() is Phase.FAILED
    assert {row[0] for row in service.rows("SELECT reason FROM fates")} == {"given-up"}


def test_a_give_up_is_one_event_for_each_comment_one_sign_for_each_and_one_notice(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.opening = REFUSES
    start, said = comment(1, "the-loop start secret-words"), comment(2, "more secret-words")
    service.arrive(start, said)
    service.let_attempts_pass()
    assert {event.event_key for event in service.events.named("dispatch.gave_up")} == {start.key, said.key}
    assert len(service.said("confused")) == 2
    (notice,) = service.said("notice")
    assert start.url in notice
    assert said.url in notice
    assert "Write a new comment" in notice
    assert "secret-words" not in notice


def test_the_notice_says_nothing_that_the_agent_said(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.opening = DIES_AT_START
    service.arrive(comment(1, "the-loop start"))
    service.let_attempts_pass()
    (notice,) = service.said("notice")
    assert "the agent said why" not in notice


def test_the_next_comment_rearms_a_start_that_gave_up_with_all_that_it_took_along(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.opening = REFUSES
    start, said, again = comment(1, "the-loop start"), comment(2, "and this"), comment(3, "try again")
    service.arrive(start, said)
    service.let_attempts_pass()
    harness.opening = Opening()
    service.arrive(again)
    service.wait_fates([start, said, again], "control-executed", "done", "done")
    assert texts_in(harness.texts(service.item_id())[0]) == ["", "and this", "try again"]
    assert service.phase() is Phase.RUNNING


def test_a_start_that_is_rearmed_has_a_full_budget_and_may_give_up_once_more(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.opening = REFUSES
    service.arrive(comment(1, "the-loop start"))
    service.let_attempts_pass()
    service.arrive(comment(3, "try again"))
    service.let_attempts_pass()
    assert len(harness.opens) == 8
    assert len(service.said("notice")) == 2
    assert service.phase() is Phase.FAILED


def test_a_second_start_rearms_as_a_comment_does(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.opening = REFUSES
    first, second = comment(1, "the-loop start"), comment(2, "the-loop start")
    service.arrive(first)
    service.let_attempts_pass()
    harness.opening = Opening()
    service.arrive(second)
    service.wait_fates([first, second], "control-executed", "control-executed")


def test_a_comment_that_comes_between_two_attempts_shares_them(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_openings(REFUSES)
    start, said = comment(1, "the-loop start"), comment(2, "and this")
    service.arrive(start)
    service.settle()
    service.arrive(said)
    service.settle()
    assert len(harness.opens) == 1, "a comment does not shorten the pause"
    service.advance(PAUSES_S[0])
    service.wait_fates([start, said], "control-executed", "done")
    assert len(harness.prompts) == 1


def test_a_stop_ends_the_attempts(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.opening = REFUSES
    start, said, stop = comment(1, "the-loop start"), comment(2, "and this"), comment(3, "the-loop stop")
    service.arrive(start, said)
    service.settle()
    service.arrive(stop)
    service.wait_fates([start, said, stop], "control-executed", "session-stopped", "control-executed")
    service.let_attempts_pass()
    assert len(harness.opens) == 1
    assert service.said("notice") == []


def test_a_clone_that_somebody_else_holds_is_tried_again_and_given_up(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.opening = Opening(fails=CloneHeld("held"))
    start = comment(1, "the-loop start")
    service.arrive(start)
    service.let_attempts_pass()
    assert service.fates(start) == ["unhandled"]
    (notice,) = service.said("notice")
    assert "somebody else holds the clone" in notice


def test_github_out_of_reach_costs_a_start_no_attempt(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.github.is_reachable = False
    start = comment(1, "the-loop start")
    service.arrive(start)
    for _ in range(8):
        service.settle()
        service.advance(NETWORK_PAUSE_S)
    service.settle()
    assert service.rows("SELECT attempts, fate FROM fates") == [(0, "inflight")]
    assert harness.opens == []
    service.github.is_reachable = True
    service.advance(NETWORK_PAUSE_S)
    service.wait_fates([start], "control-executed")


@pytest.mark.parametrize("missed", [False, True], ids=["heard-by-the-link", "left-in-the-journal-of-an-ended-host"])
def test_a_providers_trouble_at_the_start_costs_no_attempt_and_is_tried_again_after_five_minutes(
    service: ServiceInProcess, harness: StandInHarness, missed: bool
) -> None:
    harness.next_openings(*[Opening(trouble=TroubleKind.PROVIDER, missed=missed)] * 6)
    start = comment(1, "the-loop start")
    service.arrive(start)
    for tries in range(1, 7):
        service.settle()
        assert len(harness.opens) == tries
        service.advance(PROVIDER_PAUSE_S - 1)
        service.settle()
        assert len(harness.opens) == tries
        service.advance(1)
    service.wait_fates([start], "control-executed")
    assert service.said("notice") == []


def test_a_start_that_hangs_is_interrupted_after_two_minutes_and_tried_again(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_openings(Opening(released=threading.Event()))
    start = comment(1, "the-loop start")
    service.arrive(start)
    harness.wait_opens(1)
    service.advance(START_S + 1)
    service.until(lambda: service.rows("SELECT attempts FROM fates") == [(1,)])
    service.settle()
    service.advance(PAUSES_S[0])
    service.wait_fates([start], "control-executed")


def test_an_agent_that_shows_no_sign_of_its_first_prompt_in_two_minutes_has_failed_an_attempt(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(Manner(receipt=None))
    start = comment(1, "the-loop start")
    service.arrive(start)
    harness.wait_prompts(service.item_id(), 1)
    service.settle()
    service.advance(START_S)
    service.until(lambda: service.rows("SELECT attempts, fate FROM fates") == [(1, "inflight")])
    service.settle()
    service.advance(PAUSES_S[0])
    service.wait_fates([start], "control-executed")


def test_a_comment_that_reaches_nobody_is_given_up_alone_where_the_item_goes_on(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.settle()
    harness.go_idle(service.item_id())
    harness.opening = REFUSES
    lost, said = comment(2, "lost"), comment(3, "heard")
    service.arrive(lost)
    service.let_attempts_pass()
    assert service.fates(lost) == ["unhandled"]
    assert len(service.said("notice")) == 1
    harness.opening = Opening()
    service.arrive(said)
    service.wait_fates([said], "done")


def test_what_was_given_up_is_not_taken_up_by_another_arrival_of_the_same_comment(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.opening = REFUSES
    start = comment(1, "the-loop start")
    service.arrive(start)
    service.let_attempts_pass()
    assert service.arrive(start).status == "duplicate"
    service.settle()
    assert len(harness.opens) == 4


def test_one_items_failing_start_keeps_no_other_from_starting(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_openings(REFUSES)
    service.arrive(comment(1, "the-loop start"))
    service.settle()
    service.begin(200, thread=thread(20))


def test_a_failed_item_has_no_session_and_holds_no_place(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path, sessions={"max_live": 1}) as service:
        service.harness.opening = REFUSES
        service.arrive(comment(1, "the-loop start"))
        service.let_attempts_pass()
        service.harness.opening = Opening()
        service.begin(200, thread=thread(20))


def test_no_retries_are_made_where_the_operator_wants_none(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path, routing={"max_retries": 0}) as service:
        service.harness.opening = REFUSES
        start = comment(1, "the-loop start")
        service.arrive(start)
        service.wait_fates([start], "unhandled")
        service.settle()
        assert len(service.harness.opens) == 1


def test_a_stop_after_a_give_up_leaves_nothing_to_rearm(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.opening = REFUSES
    service.arrive(comment(1, "the-loop start"))
    service.let_attempts_pass()
    stop, said = comment(2, "the-loop stop"), comment(3, "hello")
    service.arrive(stop)
    service.wait_fates([stop], "control-executed")
    harness.opening = Opening()
    service.arrive(said)
    service.settle()
    assert service.fates(said) == ["awaiting-start"]
    assert len(harness.opens) == 4


def test_a_session_that_failed_is_logged_with_its_work_item(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.opening = DIES_AT_START
    started = comment(1, "the-loop start")
    service.arrive(started)
    service.settle()
    failed = [event for event in service.events.all() if event.name == "session.failed"]
    assert [event.work_item for event in failed] == [str(started.label)]
