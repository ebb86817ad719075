"""Closing and cleaning up: what ends, what stays, and when a clone goes, over real clones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Phase
from domain.turns import RECEIPT_MS
from tests.fakes.core import ADA, EVE, closed, comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Manner
from tests.fakes.repositories import by_hand, make_remote
from tests.fakes.service_in_process import ServiceInProcess, thread

WORKS_ON = Manner(ends=False)


@pytest.fixture
def with_git(tmp_path: Path) -> Iterator[ServiceInProcess]:
    make_remote(tmp_path)
    with ServiceInProcess(tmp_path, real_clones=True) as running:
        yield running


def clone_of(service: ServiceInProcess) -> Path:
    return service.state.clones / str(service.item_id())


def test_closing_lets_the_running_turn_end_and_its_answer_be_posted(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    said, closing = comment(2, "more"), closed(3)
    service.arrive(said, closing)
    service.wait_fates([said], "session-stopped")
    service.settle()
    assert service.fates(closing) == ["inflight"]
    assert harness.living() == {service.item_id()}
    harness.finish(service.item_id(), "All done.")
    service.wait_fates([closing], "control-executed")
    assert service.said("answer") == ["All done."]
    assert (service.phase(), service.session(), harness.living()) == (Phase.STOPPED, None, set())


def test_closing_does_not_wait_for_ever_for_a_turn_of_which_there_is_no_sign(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    harness.next_turns(Manner(receipt=None))
    said, closing = comment(2, "more"), closed(3)
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    service.arrive(closing)
    service.settle()
    service.advance(RECEIPT_MS / 1000)
    service.wait_fates([closing], "control-executed")
    assert harness.living() == set()


def test_a_stop_after_a_closing_does_not_wait_for_the_turn(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    closing, stop = closed(3), comment(4, "the-loop stop")
    service.arrive(closing)
    service.settle()
    service.arrive(stop)
    service.wait_fates([closing, stop], "control-executed", "control-executed")
    assert service.said("answer") == []


@pytest.mark.parametrize(
    ("actor", "stays"),
    [
        pytest.param(ADA, False, id="an-authorised-person-removes-the-clone"),
        pytest.param(EVE, True, id="a-stranger-does-not"),
        pytest.param(None, True, id="nor-does-nobody"),
    ],
)
def test_only_an_authorised_person_who_closes_the_item_removes_its_clone(
    service: ServiceInProcess, actor, stays: bool
) -> None:
    service.begin()
    closing = closed(3, actor)
    service.arrive(closing)
    service.wait_fates([closing], "control-executed")
    service.settle()
    assert clone_of(service).exists() is stays


def test_a_closing_that_names_nobody_removes_the_clone_when_a_later_arrival_names_an_authorised_person(
    service: ServiceInProcess,
) -> None:
    service.begin()
    closing = closed(3)
    service.arrive(closing)
    service.wait_fates([closing], "control-executed")
    service.arrive(closed(3, ADA))
    service.until(lambda: not clone_of(service).exists())


def test_closing_a_bound_pull_request_ends_nothing(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.begin()
    pull = thread(99)
    item_id = service.item_id()
    service.core.committer.write(
        lambda connection: connection.execute(
            "INSERT INTO threads (host, repository_id, number, item_id) VALUES (?,?,?,?)",
            (pull.host, pull.repository_id, pull.number, item_id),
        )
    )
    closing = closed(3, ADA, thread=pull)
    service.arrive(closing)
    said = comment(4, "go on")
    service.arrive(said)
    service.wait_fates([closing, said], "control-executed", "done")
    assert len(harness.opens) == 1
    assert service.phase() is Phase.RUNNING


def test_a_comment_on_a_bound_pull_request_reaches_the_same_session_in_a_turn_of_its_own_thread(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    pull = thread(99)
    item_id = service.item_id()
    service.core.committer.write(
        lambda connection: connection.execute(
            "INSERT INTO threads (host, repository_id, number, item_id) VALUES (?,?,?,?)",
            (pull.host, pull.repository_id, pull.number, item_id),
        )
    )
    here, there = comment(4, "on the issue"), comment(5, "on the pull request", thread=pull)
    service.arrive(here, there)
    harness.finish(item_id)
    service.wait_fates([here, there], "done", "done")
    assert len({prompt.session_id for prompt in harness.prompts_of(item_id)}) == 1
    assert [row[0] for row in service.rows("SELECT number FROM turns ORDER BY rowid")] == [15, 15, 99]


def test_a_clone_is_made_by_git_on_a_branch_of_its_own(with_git: ServiceInProcess) -> None:
    with_git.begin()
    assert by_hand(clone_of(with_git), "symbolic-ref", "HEAD") == "refs/heads/the-loop/15"


def test_a_cleanup_without_unsaved_work_stops_and_removes_the_clone(with_git: ServiceInProcess) -> None:
    with_git.begin()
    cleanup = comment(2, "the-loop cleanup")
    with_git.arrive(cleanup)
    with_git.wait_fates([cleanup], "control-executed")
    assert not clone_of(with_git).exists()
    assert (with_git.session(), with_git.harness.living()) == (None, set())
    assert len(with_git.events.named("cleanup.done")) == 1


def test_a_cleanup_of_unsaved_work_stops_and_keeps_the_clone_until_it_is_forced(with_git: ServiceInProcess) -> None:
    with_git.begin()
    (clone_of(with_git) / "unsaved.txt").write_text("work\n")
    cleanup = comment(2, "the-loop cleanup")
    with_git.arrive(cleanup)
    with_git.wait_fates([cleanup], "control-executed")
    with_git.settle()
    assert (clone_of(with_git) / "unsaved.txt").exists()
    assert with_git.harness.living() == set(), "the stop stands"
    (refusal,) = with_git.said("refusal")
    assert "1 changed or new file(s)" in refusal
    assert "unsaved.txt" not in refusal, "names are the agent's words"
    forced = comment(3, "the-loop cleanup --force")
    with_git.arrive(forced)
    with_git.wait_fates([forced], "control-executed")
    assert not clone_of(with_git).exists()


def test_a_closing_by_an_authorised_person_keeps_a_clone_with_unsaved_work(with_git: ServiceInProcess) -> None:
    with_git.begin()
    (clone_of(with_git) / "unsaved.txt").write_text("work\n")
    closing = closed(3, ADA)
    with_git.arrive(closing)
    with_git.wait_fates([closing], "control-executed")
    with_git.settle()
    assert (clone_of(with_git) / "unsaved.txt").exists()


def test_a_start_before_a_cleanup_is_carried_out_keeps_nothing_from_being_removed_and_made_anew(
    with_git: ServiceInProcess,
) -> None:
    with_git.begin()
    cleanup = comment(2, "the-loop cleanup")
    with_git.arrive(cleanup)
    with_git.wait_fates([cleanup], "control-executed")
    with_git.begin(3, "again")
    assert by_hand(clone_of(with_git), "symbolic-ref", "HEAD") == "refs/heads/the-loop/15"


def test_a_clone_that_cannot_be_made_for_a_remote_that_is_away_costs_no_attempt(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path, real_clones=True) as service:
        start = comment(1, "the-loop start")
        service.arrive(start)
        service.settle()
        assert service.fates(start) == ["inflight"]
        assert service.said("notice") == []


def test_a_reopened_item_is_started_by_a_start_and_closed_again_by_its_next_closing(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    first = closed(3)
    service.arrive(first)
    service.wait_fates([first], "control-executed")
    service.begin(5)
    again = closed(7)
    service.arrive(again)
    service.wait_fates([again], "control-executed")
    assert harness.living() == set()
    assert len(harness.opens) == 2
