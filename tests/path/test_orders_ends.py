"""What order means at a stretch's end: a start that gave up and what takes it up again, and the closing of an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import Event, Fact, Phase, Road
from statedb.rows import Removal
from tests.fakes.core import ADA, THREAD, Desk, closed, comment
from tests.fakes.dispatching import Dispatching


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Dispatching(tmp_path) as dispatching:
        yield Desk(dispatching)


def start(number: int) -> Event:
    return comment(number, "the-loop start")


def stop(number: int) -> Event:
    return comment(number, "the-loop stop")


def pause(number: int) -> Event:
    return comment(number, "the-loop pause")


def resume(number: int) -> Event:
    return comment(number, "the-loop resume")


def test_a_comment_after_a_start_that_gave_up_takes_it_up_again_and_what_it_took_along(desk: Desk) -> None:
    begin, first, second = start(1), comment(2), comment(3)
    desk.arrive(begin, first)
    desk.fail_start(begin, first)
    assert (desk.view().phase, desk.fates(begin, first)) == (Phase.FAILED, ["unhandled", "unhandled"])
    desk.arrive(second)
    assert (desk.view().phase, desk.row(begin.key).attempts) == (Phase.RUNNING, 0)
    desk.carry_out()
    assert desk.fates(begin, first, second) == ["control-executed", "done", "done"]


@pytest.mark.parametrize("word", ["start", "resume"])
def test_a_command_to_run_takes_a_start_that_gave_up_up_again(desk: Desk, word: str) -> None:
    begin = start(1)
    desk.arrive(begin)
    desk.fail_start(begin)
    again = comment(2, f"the-loop {word}")
    desk.arrive(again)
    desk.carry_out()
    assert (desk.view().phase, desk.fates(begin, again)) == (Phase.RUNNING, ["control-executed"] * 2)


def test_a_pause_and_a_resume_after_a_start_gave_up_try_it_again(desk: Desk) -> None:
    begin = start(1)
    desk.arrive(begin)
    desk.fail_start(begin)
    desk.arrive(pause(2), resume(3))
    desk.carry_out()
    assert (desk.view().phase, desk.fates(begin)) == (Phase.RUNNING, ["control-executed"])


def test_an_earlier_start_that_arrives_late_takes_a_start_that_gave_up_up_again(desk: Desk) -> None:
    begin, said = start(5), comment(6)
    desk.arrive(begin, said)
    desk.fail_start(begin, said)
    desk.arrive(start(2), road=Road.CATCHUP)
    desk.carry_out()
    assert (desk.view().phase, desk.fates(begin, said)) == (Phase.RUNNING, ["control-executed", "done"])


def test_a_new_stretch_after_one_that_gave_up_is_a_new_start(desk: Desk) -> None:
    begin = start(1)
    desk.arrive(begin)
    desk.fail_start(begin)
    desk.arrive(stop(2), start(3))
    assert desk.view().phase is Phase.RUNNING


@pytest.mark.parametrize(
    ("actor", "removal"), [(None, Removal.KEEP), (ADA, Removal.ASKED)], ids=["nobody-named", "authorised"]
)
def test_closing_ends_and_only_an_authorised_person_removes_the_clone(desk: Desk, actor, removal: Removal) -> None:
    desk.arrive(start(1), closed(2, actor))
    assert (desk.view().phase, desk.item().removal, desk.item().folded.ended_by) == (
        Phase.STOPPED,
        removal,
        Fact.CLOSURE,
    )


def test_a_later_arrival_of_a_closing_that_names_somebody_authorised_still_removes_the_clone(desk: Desk) -> None:
    desk.arrive(start(1))
    desk.arrive(closed(2), road=Road.POLL)
    desk.arrive(closed(2, ADA), road=Road.WEBHOOK)
    assert desk.item().removal is Removal.ASKED


def test_a_start_after_a_closing_keeps_the_clone(desk: Desk) -> None:
    desk.arrive(start(1), closed(2, ADA), start(3))
    assert (desk.view().phase, desk.item().removal) == (Phase.RUNNING, Removal.KEEP)


def test_the_thread_of_another_item_is_another_order(desk: Desk) -> None:
    elsewhere = replace(THREAD, number=16)
    desk.arrive(start(1), comment(2, thread=elsewhere))
    assert desk.fates(comment(2, thread=elsewhere)) == ["awaiting-start"]
