"""Edits and deletions as the Dispatcher takes them: which version is the newest, and whose text waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import Event, Fate, Phase, Road
from statedb.rows import Step
from tests.fakes.core import ADA, EVE, LABELED, THREAD, Desk, comment, deleted, edited
from tests.fakes.dispatching import Dispatching
from webhook.handled import Status

START = comment(1, "the-loop start")
SAID = comment(2, "first")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """An item on which a start stands."""
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        desk.arrive(START)
        yield desk


def body(desk: Desk, event: Event) -> str:
    ((text,),) = desk.dispatching.rows(f"SELECT body FROM events WHERE event_key = '{event.key}'")  # noqa: S608 ours
    return str(text)


def test_an_edit_of_what_the_session_has_reaches_it_as_an_edit(desk: Desk) -> None:
    desk.arrive(SAID)
    desk.carry_out()
    change = edited(SAID, "second", at_s=3)
    desk.arrive(change)
    assert (desk.row(change.key).step, desk.row(change.key).effect) == (Step.QUEUED, "edit")
    assert desk.fates(SAID) == ["done"]


def test_a_text_that_comes_again_unchanged_is_no_edit(desk: Desk) -> None:
    desk.arrive(SAID)
    assert desk.arrive(edited(SAID, SAID.body, at_s=3), road=Road.POLL).status is Status.DUPLICATE
    assert desk.fates(SAID) == ["inflight"]


def test_an_edit_that_comes_again_with_a_newer_time_and_no_change_takes_nothing_from_the_first(desk: Desk) -> None:
    desk.arrive(SAID)
    desk.carry_out()
    change = edited(SAID, "second", at_s=3)
    desk.arrive(change)
    assert desk.arrive(edited(SAID, "second", at_s=5)).status is Status.DUPLICATE
    assert desk.fates(change) == ["inflight"]
    desk.carry_out()
    desk.arrive(edited(SAID, "second", at_s=6))
    assert desk.fates(change) == ["done"]


def test_an_edit_that_is_older_than_what_we_know_is_superseded(desk: Desk) -> None:
    desk.arrive(SAID, edited(SAID, "third", at_s=5))
    late = edited(SAID, "second", at_s=3)
    desk.arrive(late)
    assert (desk.fates(late), body(desk, SAID)) == (["superseded"], "third")


def test_a_text_first_read_after_an_edit_is_handed_over_and_its_commands_do_not_run(desk: Desk) -> None:
    stop = comment(5, "the-loop stop")
    desk.arrive(edited(stop, "the-loop stop", at_s=6), road=Road.POLL)
    assert (desk.view().phase, desk.row(stop.key).step) == (Phase.RUNNING, Step.QUEUED)
    assert len(desk.replies("refusal")) == 1
    assert desk.arrive(stop, road=Road.WEBHOOK).status is Status.DUPLICATE


@pytest.mark.parametrize("editor", [None, EVE], ids=["unknown", "stranger"])
def test_a_command_that_somebody_without_a_right_may_have_edited_in_does_not_run(desk: Desk, editor) -> None:
    desk.arrive(SAID)
    desk.arrive(edited(SAID, "the-loop stop", at_s=3, editor=editor))
    assert (desk.view().phase, len(desk.replies("refusal"))) == (Phase.RUNNING, 1)


def test_a_command_that_somebody_authorised_edits_in_runs(desk: Desk) -> None:
    desk.arrive(SAID)
    desk.arrive(edited(SAID, "the-loop stop", at_s=3, editor=ADA))
    assert desk.view().phase is Phase.STOPPED


def test_a_start_that_somebody_authorised_edits_in_runs_also_when_its_labels_had_to_be_asked_for(desk: Desk) -> None:
    elsewhere = replace(THREAD, number=16)
    said = comment(9, thread=elsewhere, told=None)
    desk.arrive(said, edited(said, "the-loop start", at_s=10, editor=ADA))
    desk.answer_needs(LABELED, thread=elsewhere)
    assert desk.view(elsewhere).phase is Phase.RUNNING


def test_of_two_edits_within_one_second_the_later_is_the_newest(desk: Desk) -> None:
    desk.arrive(SAID, edited(SAID, "second", at_s=3))
    desk.carry_out()
    desk.arrive(edited(SAID, "third", at_s=3))
    assert desk.arrive(edited(SAID, "third", at_s=4)).status is Status.DUPLICATE


def test_an_edited_command_does_not_run_twice(desk: Desk) -> None:
    pause = comment(3, "the-loop pause")
    desk.arrive(pause, comment(4, "the-loop resume"))
    desk.arrive(edited(pause, "the-loop pause please", at_s=5, editor=ADA))
    assert desk.view().phase is Phase.RUNNING


def test_a_deletion_of_what_the_session_has_changes_nothing(desk: Desk) -> None:
    desk.arrive(SAID)
    desk.carry_out()
    desk.arrive(deleted(SAID))
    assert desk.fates(SAID, deleted(SAID)) == ["done", "withdrawn"]


def test_the_deletion_of_a_command_undoes_nothing(desk: Desk) -> None:
    stop = comment(2, "the-loop stop")
    desk.arrive(stop, deleted(stop))
    assert (desk.fates(stop), desk.view().phase) == (["control-executed"], Phase.STOPPED)


def test_the_deletion_of_a_start_whose_prompt_waits_takes_only_its_words_back(desk: Desk) -> None:
    desk.arrive(deleted(START))
    assert (desk.row(START.key).fate, body(desk, START), desk.view().phase) == (Fate.INFLIGHT, "", Phase.RUNNING)


def test_the_deletion_of_a_waiting_edit_withdraws_it(desk: Desk) -> None:
    desk.arrive(SAID)
    desk.carry_out()
    change = edited(SAID, "second", at_s=3)
    desk.arrive(change, deleted(SAID))
    assert desk.fates(SAID, change) == ["done", "withdrawn"]


def test_an_edit_after_the_deletion_is_withdrawn(desk: Desk) -> None:
    desk.arrive(SAID, deleted(SAID))
    late = edited(SAID, "second", at_s=3)
    desk.arrive(late)
    assert desk.fates(late) == ["withdrawn"]


def test_what_is_settled_by_the_event_of_another_is_settled_for_the_deduper_too(desk: Desk) -> None:
    desk.arrive(SAID, deleted(SAID))
    assert desk.dispatching.deduper.outcome(str(SAID.key)) == "withdrawn"
