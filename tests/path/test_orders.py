"""What order means: the fates of comments and commands, whatever the order and the road of their arrival."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.control import Verb
from domain.model import Event, Fact, Fate, Phase, Road
from statedb.rows import Removal, Step
from tests.fakes.core import ADA, Desk, closed, comment, deleted, edited, operators, snapshot
from tests.fakes.dispatching import Dispatching
from webhook.commands import operator_place
from webhook.handled import Status


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Dispatching(tmp_path) as dispatching:
        yield Desk(dispatching)


def start(number: int, rest: str = "", **about) -> Event:
    return comment(number, f"the-loop start {rest}".rstrip(), **about)


def stop(number: int) -> Event:
    return comment(number, "the-loop stop")


def pause(number: int) -> Event:
    return comment(number, "the-loop pause")


def resume(number: int) -> Event:
    return comment(number, "the-loop resume")


# The table of orders


def test_a_comment_before_the_session_exists_waits_and_is_then_done(desk: Desk) -> None:
    first, said = start(1), comment(2)
    desk.arrive(first, said)
    assert desk.fates(first, said) == ["inflight", "inflight"]
    desk.carry_out()
    assert desk.fates(first, said) == ["control-executed", "done"]


def test_a_stop_before_anything_was_handed_over_takes_all_of_it_back(desk: Desk) -> None:
    events = [start(1), comment(2), stop(3)]
    desk.arrive(*events)
    desk.carry_out()
    assert desk.fates(*events) == ["control-executed", "session-stopped", "control-executed"]
    assert desk.view().phase is Phase.STOPPED


def test_a_comment_belongs_to_the_stretch_in_which_it_was_written(desk: Desk) -> None:
    events = [start(1), comment(2), stop(3), start(4), comment(5)]
    desk.arrive(*events)
    desk.carry_out()
    assert desk.fates(events[1], events[4]) == ["session-stopped", "done"]


def test_a_comment_whose_turn_comes_while_paused_is_refused(desk: Desk) -> None:
    events = [start(1), comment(2), pause(3)]
    desk.arrive(*events)
    desk.carry_out()
    assert desk.fates(events[1]) == ["session-paused"]


def test_a_comment_whose_turn_comes_after_the_pause_is_over_is_done(desk: Desk) -> None:
    events = [start(1), comment(2), pause(3), resume(4)]
    desk.arrive(*events)
    desk.carry_out()
    assert desk.fates(events[1]) == ["done"]


def test_a_start_lost_before_a_stop_starts_nothing_when_it_is_recovered(desk: Desk) -> None:
    desk.arrive(stop(5))
    late = start(1)
    desk.arrive(late, road=Road.CATCHUP)
    assert (desk.view().phase, desk.fates(late), desk.row(late.key).effect) == (
        Phase.STOPPED,
        ["control-executed"],
        "superseded",
    )


def test_a_comment_lost_before_the_start_and_recovered_awaits_a_start_and_is_counted(desk: Desk) -> None:
    desk.arrive(stop(5), start(10))
    late = comment(1)
    desk.arrive(late, road=Road.CATCHUP)
    assert (desk.fates(late), desk.item().refused, desk.item().refused_since_ms) == (["awaiting-start"], 1, 1_000)


def test_a_waiting_comment_that_is_edited_waits_with_its_new_text(desk: Desk) -> None:
    said = comment(2, "the first text")
    change = edited(said, "the second text", at_s=3)
    desk.arrive(start(1), said, change)
    assert desk.fates(said, change) == ["inflight", "superseded"]
    assert desk.dispatching.rows(f"SELECT body FROM events WHERE event_key = '{said.key}'") == [("the second text",)]  # noqa: S608 ours


def test_a_waiting_comment_that_is_deleted_is_withdrawn(desk: Desk) -> None:
    said = comment(2)
    desk.arrive(start(1), said, deleted(said))
    desk.carry_out()
    assert desk.fates(said, deleted(said)) == ["withdrawn", "withdrawn"]


def test_a_waiting_comment_whose_item_is_closed_is_stopped(desk: Desk) -> None:
    said, closing = comment(2), closed(3)
    desk.arrive(start(1), said, closing)
    desk.carry_out()
    assert desk.fates(said, closing) == ["session-stopped", "control-executed"]


# Comments and what people asked for


def test_a_comment_on_an_item_that_nobody_started_awaits_a_start_and_gets_no_answer(desk: Desk) -> None:
    said = comment(1)
    assert desk.arrive(said, road=Road.POLL).outcome == "awaiting-start"
    assert desk.dispatching.rows("SELECT * FROM replies") == []


def test_a_label_starts_nothing_before_somebody_authorised_does(desk: Desk) -> None:
    said = comment(1, told=snapshot("the-loop"))
    desk.arrive(said)
    assert (desk.fates(said), desk.view().phase) == (["awaiting-start"], Phase.NONE)


def test_a_start_refused_for_the_label_leaves_nothing_for_the_day_the_label_comes(desk: Desk) -> None:
    refused = start(1, told=snapshot())
    desk.arrive(refused, comment(2, told=snapshot("the-loop")))
    assert (desk.fates(refused, comment(2)), desk.view().phase) == (["control-rejected", "awaiting-start"], Phase.NONE)


def test_a_stop_without_a_session_keeps_later_comments_back(desk: Desk) -> None:
    desk.arrive(stop(1), comment(2))
    assert desk.fates(stop(1), comment(2)) == ["control-executed", "awaiting-start"]


def test_a_start_in_an_item_that_a_stranger_opened_needs_the_right_of_whoever_starts(desk: Desk) -> None:
    begin = start(1, "do what the item says", actor=ADA)
    desk.arrive(begin)
    desk.carry_out()
    assert (desk.fates(begin), desk.view().phase) == (["control-executed"], Phase.RUNNING)


def test_start_and_stop_within_one_second_leave_nothing_running(desk: Desk) -> None:
    begin, end = start(7, at_s=1), comment(8, "the-loop stop", at_s=1)
    desk.arrive(end, begin)
    assert (desk.view().phase, desk.row(begin.key).effect) == (Phase.STOPPED, "superseded")


def test_a_stop_and_a_start_of_two_kinds_within_one_second_leave_nothing_running(desk: Desk) -> None:
    end = comment(7, "the-loop stop", at_s=1)
    begin = comment(8, "the-loop start", at_s=1, fact=Fact.REVIEW)
    desk.arrive(end, begin)
    assert desk.view().phase is Phase.STOPPED


def test_a_pause_that_arrives_late_gives_a_refused_resume_its_sense(desk: Desk) -> None:
    desk.arrive(start(1), resume(5))
    assert desk.fates(resume(5)) == ["control-rejected"]
    desk.arrive(pause(3))
    assert (desk.view().phase, desk.row(pause(3).key).effect) == (Phase.RUNNING, "superseded")


def test_an_earlier_start_that_arrives_late_ends_nothing(desk: Desk) -> None:
    said = comment(6)
    desk.arrive(start(5), said, start(2))
    desk.carry_out()
    assert (desk.fates(said), desk.item().folded.generation) == (["done"], start(2).key)


def test_a_comment_is_refused_between_two_stretches_and_taken_in_the_second(desk: Desk) -> None:
    said = [comment(number) for number in (2, 4, 6)]
    desk.arrive(start(1), said[0])
    desk.carry_out()
    desk.arrive(stop(3), said[1], start(5), said[2])
    desk.carry_out()
    assert desk.fates(*said) == ["done", "awaiting-start", "done"]


def test_everything_refused_is_never_replayed(desk: Desk) -> None:
    said = comment(2)
    desk.arrive(said, start(3))
    assert desk.arrive(said, road=Road.POLL).status is Status.DUPLICATE
    desk.carry_out()
    assert desk.fates(said) == ["awaiting-start"]


def test_reopening_changes_nothing(desk: Desk) -> None:
    desk.arrive(start(1), closed(2), comment(3, told=snapshot("the-loop", updated_at_s=3)))
    assert (desk.fates(comment(3)), desk.view().phase) == (["awaiting-start"], Phase.STOPPED)


def test_an_operators_command_stands_behind_everything_known_of_the_item(desk: Desk) -> None:
    desk.arrive(start(1), comment(900))
    behind = operator_place(desk.item(), 5_000, 1)
    assert (behind.at_ms, behind.fact) == (900_001, Fact.OPERATOR)
    assert operator_place(desk.item(), 2_000_000, 1).at_ms == 2_000_000
    assert operator_place(None, 5_000, 1).at_ms == 5_000
    desk.arrive(operators(Verb.STOP, "client-1", at_ms=behind.at_ms), road=Road.CLI)
    desk.carry_out()
    assert (desk.view().phase, desk.fates(comment(900))) == (Phase.STOPPED, ["session-stopped"])


def test_an_operator_who_repeats_an_id_says_it_once(desk: Desk) -> None:
    command = operators(Verb.STOP, "client-1", at_ms=5_000)
    desk.arrive(start(1))
    assert [desk.arrive(command, road=Road.CLI).status for _ in range(2)] == [Status.ACCEPTED, Status.DUPLICATE]


# What lacks a fact


def test_a_start_whose_labels_are_unknown_waits_and_so_does_only_what_is_behind_it(desk: Desk) -> None:
    before, begin, behind = comment(1), start(2, told=None), comment(3)
    desk.arrive(begin, behind, before)
    assert desk.fates(before, begin, behind) == ["awaiting-start", "inflight", "inflight"]
    assert [desk.row(event.key).step for event in (begin, behind)] == [Step.NEED, Step.BEHIND]
    desk.answer_needs(snapshot("the-loop"))
    desk.carry_out()
    assert desk.fates(before, begin, behind) == ["awaiting-start", "control-executed", "done"]


@pytest.mark.parametrize(
    ("told", "is_gone"), [(snapshot("bug"), False), (None, True)], ids=["without-the-label", "no-such-item"]
)
def test_where_the_fact_forbids_the_start_what_waited_behind_it_awaits_one(desk: Desk, told, is_gone: bool) -> None:
    begin, behind = start(2, told=None), comment(3)
    desk.arrive(begin, behind)
    desk.answer_needs(told, is_gone=is_gone)
    assert desk.fates(begin, behind) == ["control-rejected", "awaiting-start"]


def test_no_answer_is_never_a_no(desk: Desk) -> None:
    begin, behind = start(2, told=None), comment(3)
    desk.arrive(begin, behind)
    desk.answer_needs(None)
    assert [desk.row(event.key).step for event in (begin, behind)] == [Step.NEED, Step.BEHIND]


def test_a_stop_does_not_wait_for_a_start_that_lacks_a_fact(desk: Desk) -> None:
    begin, end = start(2, told=None), stop(3)
    desk.arrive(begin, end)
    assert desk.fates(end) == ["control-executed"]
    desk.answer_needs(snapshot("the-loop"))
    assert (desk.view().phase, desk.row(begin.key).effect) == (Phase.STOPPED, "superseded")


def test_an_edit_behind_an_undecided_command_reaches_the_session(desk: Desk) -> None:
    said = comment(2)
    desk.arrive(start(1), said)
    desk.carry_out()
    change = edited(said, "the second text", at_s=4)
    desk.arrive(start(3, told=None), change)
    assert desk.row(change.key).step is Step.BEHIND
    desk.answer_needs(snapshot("the-loop"))
    desk.carry_out()
    assert desk.fates(change) == ["done"]


def test_a_command_that_a_stranger_may_have_edited_into_a_waiting_comment_never_runs(desk: Desk) -> None:
    said = comment(3, "a comment")
    desk.arrive(start(1), start(2, told=None), said)
    desk.arrive(edited(said, "the-loop cleanup --force", at_s=4), road=Road.POLL)
    desk.answer_needs(snapshot("the-loop"))
    assert (desk.view().phase, desk.item().removal) == (Phase.RUNNING, Removal.KEEP)


def test_a_command_that_a_stranger_may_have_edited_into_an_undecided_start_never_runs(desk: Desk) -> None:
    begin = start(2, told=None)
    desk.arrive(begin)
    desk.arrive(edited(begin, "the-loop cleanup --force", at_s=4), road=Road.POLL)
    desk.answer_needs(snapshot("the-loop"))
    assert (desk.item().removal, desk.row(begin.key).verb) == (Removal.KEEP, Verb.START)


def test_a_comment_edited_while_it_waits_and_then_back_is_handed_over_as_it_now_stands(desk: Desk) -> None:
    said = comment(2, "the first text")
    desk.arrive(start(1, told=None), said, edited(said, "the second text", at_s=3))
    desk.answer_needs(snapshot("the-loop"))
    desk.arrive(edited(said, "the first text", at_s=4))
    assert desk.dispatching.rows(f"SELECT body FROM events WHERE event_key = '{said.key}'") == [("the first text",)]  # noqa: S608 ours


# A session that lives


def test_a_stop_of_a_live_session_is_executed_when_its_tree_has_ended(desk: Desk) -> None:
    desk.arrive(start(1))
    desk.live()
    desk.arrive(stop(2))
    row = desk.row(stop(2).key)
    assert (row.fate, row.step, row.verb) == (Fate.INFLIGHT, Step.ENDING, Verb.STOP)


def test_a_late_stop_between_two_starts_is_executed_at_once_for_its_stretch_is_over(desk: Desk) -> None:
    said = [comment(2), comment(6)]
    desk.arrive(start(1), said[0], start(5), said[1])
    desk.live()
    desk.arrive(stop(3), road=Road.CATCHUP)
    desk.carry_out()
    assert desk.fates(stop(3), *said) == ["control-executed", "session-stopped", "done"]


def test_a_late_closing_before_a_start_is_executed_at_once(desk: Desk) -> None:
    desk.arrive(start(5))
    desk.live()
    desk.arrive(closed(3), road=Road.CATCHUP)
    assert (desk.fates(closed(3)), desk.view().phase) == (["control-executed"], Phase.RUNNING)
