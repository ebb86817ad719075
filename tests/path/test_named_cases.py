"""Delivery, retry and linkage: cases of a tool that went before us, by their numbers, over the real worker.

Each number is a row of the table of named cases in the testing plan; cases that other files show stand there alone.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from domain.model import Event, Phase, Road, Thread
from domain.turns import SessionState
from sessions.port import HarnessFailed
from statedb import seat_rows
from tests.fakes.core import ADA, EVE, closed, comment, noted, snapshot
from tests.fakes.harness import StandInHarness
from tests.fakes.links import StandInLive
from tests.fakes.manners import Manner, Opening
from tests.fakes.service_in_process import PAUSES_S, ServiceInProcess, texts_in, thread
from webhook.handled import Status

REFUSES = Opening(fails=HarnessFailed("the session host would not start"))


def bind(service: ServiceInProcess, pull: Thread) -> None:
    """As the seat binds a pull request that it opened."""
    item_id = service.item_id()
    service.core.committer.write(lambda connection: seat_rows.bind_thread(connection, pull, item_id))


def attempts(service: ServiceInProcess, event: Event) -> int:
    """How many attempts the event has spent."""
    ((spent,),) = service.rows("SELECT attempts FROM fates WHERE event_key = ?", event.key)
    return int(spent)


def test_1_a_start_that_fails_is_tried_again_and_not_taken_for_done(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_openings(REFUSES, REFUSES, REFUSES)
    start = comment(1, "the-loop start")
    service.arrive(start)
    seen = []
    for pause_s in PAUSES_S:
        service.settle()
        seen += service.fates(start)
        service.advance(pause_s)
    service.wait_fates([start], "control-executed")
    assert seen == ["inflight", "inflight", "inflight"]
    assert len(harness.prompts) == 1


def test_2_a_session_whose_processes_were_killed_gets_the_next_comment_in_a_new_process(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.settle()
    harness.kill(service.item_id())
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.settle()
    assert [texts_in(text) for text in harness.texts(service.item_id())][1:] == [["more"]]
    assert len(harness.opens) == 2


def test_3_a_comment_after_a_start_that_gave_up_starts_again_with_a_full_budget(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.opening = REFUSES
    start, said = comment(1, "the-loop start"), comment(2, "more")
    service.arrive(start)
    service.let_attempts_pass()
    given_up = (service.fates(start), service.phase())
    service.arrive(said)
    service.settle()
    spent = attempts(service, start)
    harness.opening = Opening()
    service.advance(PAUSES_S[0])
    service.wait_fates([start, said], "control-executed", "done")
    assert given_up == (["unhandled"], Phase.FAILED)
    assert spent == 1


def test_4_an_event_that_is_being_carried_out_spends_no_attempt_however_often_it_is_polled(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    released = threading.Event()
    harness.next_openings(Opening(released=released))
    start = comment(1, "the-loop start")
    service.arrive(start, road=Road.POLL)
    harness.wait_opens(1)
    told = [service.arrive(start, road=Road.POLL) for _ in range(5)]
    spent = attempts(service, start)
    released.set()
    service.wait_fates([start], "control-executed")
    assert {(again.status, again.fate) for again in told} == {(Status.DUPLICATE, "inflight")}
    assert spent == 0
    assert len(harness.opens) == len(harness.prompts) == 1


def test_5_a_conversation_that_the_agent_no_longer_knows_gives_way_to_a_new_one_and_no_corpse_is_kept(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.settle()
    harness.forget()
    harness.go_idle(service.item_id())
    service.settle()
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.settle()
    first, second = harness.prompts_of(service.item_id())
    session = service.session()
    assert first.conversation_id != second.conversation_id
    assert session is not None
    assert (session.state, session.conversation_id) == (SessionState.LIVE, second.conversation_id)
    assert harness.living() == {service.item_id()}


def test_6_a_hand_over_without_an_answer_is_no_death_and_nothing_is_started_over_it(
    service: ServiceInProcess, harness: StandInHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin()
    service.settle()
    hand = harness.hand

    def hand_and_keep_silent(*arguments: Any) -> None:
        hand(*arguments)
        raise HarnessFailed("the session host did not answer in time")

    monkeypatch.setattr(harness, "hand", hand_and_keep_silent)
    harness.next_turns(Manner(ends=False))
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.settle()
    living = harness.living()
    harness.finish(service.item_id(), "Heard.")
    service.until(lambda: service.said("answer") == ["Done.", "Heard."])
    assert living == {service.item_id()}
    assert len(harness.opens) == 1
    assert [texts_in(text) for text in harness.texts(service.item_id())][1:] == [["more"]]


def test_6_a_host_that_gives_a_restarted_service_no_answer_is_asked_again_and_keeps_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, answers = StandInHarness(), threading.Event()
    attach = harness.attach

    def attach_when_it_answers(*arguments: Any) -> StandInLive | None:
        if not answers.is_set():
            raise HarnessFailed("the session host did not answer in time")
        return attach(*arguments)

    harness.next_turns(Manner(ends=False))
    with ServiceInProcess(tmp_path, harness=harness) as first:
        first.begin()
    monkeypatch.setattr(harness, "attach", attach_when_it_answers)
    with ServiceInProcess(tmp_path, harness=harness) as second:
        second.settle()
        living = harness.living()
        answers.set()
        second.advance(60)
        second.settle()
        harness.finish(second.item_id(), "Done all the same.")
        second.until(lambda: second.said("answer") == ["Done all the same."])
        assert living == {second.item_id()}
        assert len(harness.opens) == len(harness.prompts) == 1


def test_20_what_became_of_a_comment_is_told_by_its_receipt_and_not_by_its_attempt(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    harness.next_turns(Manner(receipt=None))
    said = comment(2, "more")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    service.settle()
    attempted = service.fates(said)
    harness.show_sign(service.item_id())
    service.wait_fates([said], "done")
    assert attempted == ["inflight"]


def test_32_a_comment_on_a_pull_request_that_the_seat_opened_reaches_the_items_session_and_no_new_one(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    pull = thread(99)
    bind(service, pull)
    said = comment(2, "also cover the empty list", thread=pull)
    service.arrive(said)
    service.wait_fates([said], "done")
    assert [texts_in(text) for text in harness.texts(service.item_id())][1:] == [["also cover the empty list"]]
    assert len(harness.opens) == 1
    assert len(service.rows("SELECT item_id FROM items")) == 1


def test_51_the_first_of_two_pull_requests_is_merged_and_session_and_clone_stay(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    first, second = thread(98), thread(99)
    bind(service, first)
    bind(service, second)
    merged = closed(2, ADA, thread=first)
    said = comment(3, "and in the other", thread=second)
    service.arrive(merged, said)
    service.wait_fates([merged, said], "control-executed", "done")
    service.settle()
    assert harness.living() == {service.item_id()}
    assert (service.state.clones / str(service.item_id())).is_dir()
    assert (service.phase(), len(harness.opens)) == (Phase.RUNNING, 1)


def test_52_a_strangers_pull_request_that_names_the_item_moves_nothing_when_it_is_closed(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    pull = thread(97)
    service.arrive(
        noted(snapshot("the-loop"), thread=pull),
        comment(2, "Closes #15", actor=EVE, thread=pull),
        closed(3, EVE, thread=pull),
    )
    service.settle()
    assert harness.living() == {service.item_id()}
    assert (service.state.clones / str(service.item_id())).is_dir()
    assert service.phase() is Phase.RUNNING
    assert len(service.rows("SELECT item_id FROM items")) == 1
