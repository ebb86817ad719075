"""Pushing and opening pull requests from the seat: the own branch only, once, and bound to the work item over any crash."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import ItemId, Phase
from domain.phase import Folded
from domain.ports import Repository
from eventlog.masking import MASK
from githubapi.pulls import GitHubPulls
from service.demo.github.faults import Trouble
from sessions.seat.protocol import Request, Verb, write_request
from sessions.seat.verbs import Seat
from statedb import seat_rows
from statedb.rows import ItemRow, Rows
from statedb.writing import write_rows
from tests.fakes.repositories import by_hand
from tests.path.test_seat import NAME, SECRET, Room, open_room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    yield from open_room(tmp_path)


def test_push_brings_the_own_branch_to_github_and_leaves_the_others(room: Room) -> None:
    agent = room.agent()
    main = by_hand(Path(room.origin.address), "rev-parse", "main")
    commit = agent.commit()
    by_hand(agent.clone.path, "branch", "-f", "main", commit)
    by_hand(agent.clone.path, "branch", "the-loop/99", commit)
    assert agent.call(Verb.PUSH) == {"ok": True, "branch": "the-loop/1", "commit": commit}
    branches = by_hand(Path(room.origin.address), "branch", "--format=%(refname:short) %(objectname)")
    assert branches.splitlines() == [f"main {main}", f"the-loop/1 {commit}"]


def test_a_push_never_overwrites_what_others_pushed_to_the_branch(room: Room) -> None:
    agent = room.agent()
    theirs = room.stand_in.push("ada", NAME, "the-loop/1", "theirs.txt", "theirs")
    agent.commit()
    assert "nothing is ever overwritten" in agent.refusal(Verb.PUSH)
    assert by_hand(Path(room.origin.address), "rev-parse", "the-loop/1") == theirs


def test_a_pull_request_that_the_seat_opens_belongs_to_the_work_item(room: Room) -> None:
    agent = room.agent()
    commit = agent.commit()
    answer = agent.call(Verb.PR, title="Mend\nit", body=f"Closes #1 {SECRET}")
    assert answer == {"ok": True, "number": 2, "pull": "github:github.test/octo/demo#2", "was_open": False}
    opened = room.stand_in.issue(NAME, 2)
    assert (opened.title, opened.body) == ("Mend it", f"Closes #1 {MASK}")
    assert opened.pull is not None
    assert (opened.pull.head_sha, opened.pull.base_ref) == (commit, "main")
    assert agent.threads() == [1, 2]
    assert seat_rows.openings(room.database.reader()) == []


def test_a_repeated_pr_returns_the_same_one_and_pushes_what_is_new(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    agent.call(Verb.PR)
    assert room.stand_in.issue(NAME, 2).title == "It breaks"
    commit = agent.commit("more.txt")
    answer = agent.call(Verb.PR, title="Another")
    assert (answer["number"], answer["was_open"]) == (2, True)
    assert by_hand(Path(room.origin.address), "rev-parse", "the-loop/1") == commit
    assert len(room.stand_in.requests("POST", "*/pulls")) == 1


def test_two_calls_at_once_open_one_pull_request(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    room.stand_in.fault(Trouble.SLOW, "POST", "*/pulls", times=None, seconds=1.0)
    answers: list[dict[str, object]] = []
    callers = [threading.Thread(target=lambda: answers.append(agent.call(Verb.PR))) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert [answer["number"] for answer in answers] == [2, 2, 2]
    assert len(room.stand_in.requests("POST", "*/pulls")) == 1


def test_after_a_merge_new_work_gets_a_new_pull_request(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    agent.call(Verb.PR)
    room.stand_in.merge("ada", NAME, 2)
    agent.commit("more.txt")
    assert agent.call(Verb.PR)["number"] == 3
    assert agent.threads() == [1, 2, 3]


def test_without_a_commit_there_is_no_pull_request_and_the_agent_is_told(room: Room) -> None:
    agent = room.agent()
    assert "at least one commit" in agent.refusal(Verb.PR)
    assert agent.threads() == [1]
    assert seat_rows.openings(room.database.reader()) == []


@pytest.mark.parametrize("trouble", [Trouble.COMMIT_THEN_RESET, Trouble.COMMIT_THEN_BAD_GATEWAY])
def test_a_pull_request_whose_answer_was_lost_is_found_and_bound(room: Room, trouble: Trouble) -> None:
    agent = room.agent()
    agent.commit()
    room.stand_in.fault(trouble, "POST", "*/pulls")
    assert agent.call(Verb.PR)["number"] == 2
    assert agent.threads() == [1, 2]


class Killed(BaseException):
    """The process ends here."""


class DyingPulls:
    """Opens the pull request for good, and the process dies before it hears of it."""

    def __init__(self, pulls: GitHubPulls) -> None:
        self.find_pull, self._pulls = pulls.find_pull, pulls

    def open_pull(self, *order) -> int:
        self._pulls.open_pull(*order)
        raise Killed


@pytest.mark.parametrize("way", ["the agent repeats", "the service looks at its start"])
def test_a_pull_request_opened_just_before_a_crash_is_found_and_not_opened_again(room: Room, way: str) -> None:
    agent = room.agent()
    agent.commit()
    dying = Seat(replace(room.ports, pulls=DyingPulls(room.pulls)), room.stop)
    with pytest.raises(Killed):
        dying.answer(write_request(Request(token=agent.token, verb=Verb.PR, arguments={})))
    assert agent.threads() == [1]
    if way == "the agent repeats":
        assert agent.call(Verb.PR)["number"] == 2
    else:
        room.seat.settle_openings()
    assert agent.threads() == [1, 2]
    assert len(room.stand_in.requests("POST", "*/pulls")) == 1
    assert seat_rows.openings(room.database.reader()) == []


def test_a_pull_request_with_a_session_of_its_own_is_not_taken_away(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    agent.call(Verb.PUSH)
    room.stand_in.open_pull("ada", NAME, "Mine", branch="other")
    thread, item_id = room.thread(3), ItemId(300)
    running = ItemRow(
        item_id=item_id,
        home=thread,
        repository=NAME,
        folded=Folded(phase=Phase.RUNNING),
        created_at_ms=1,
        changed_at_ms=1,
    )
    room.committer.write(lambda c: write_rows(c, Rows(items={item_id: running}, threads=[(thread, item_id)]), 1))
    answer = agent.call(Verb.PR)
    assert answer["number"] == 3
    assert "has a session of its own" in str(answer["note"])
    assert agent.threads() == [1]


class LatePulls:
    """GitHub's listing, which does not have the newest pull request yet."""

    def __init__(self, pulls: GitHubPulls) -> None:
        self.open_pull = pulls.open_pull

    def find_pull(self, repository: Repository, head: str) -> int | None:
        return None


def test_a_pull_request_that_is_not_listed_yet_is_known_by_our_own_record(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    agent.call(Verb.PR)
    late = Seat(replace(room.ports, pulls=LatePulls(room.pulls)), room.stop)
    answer = late.answer(write_request(Request(token=agent.token, verb=Verb.PR, arguments={})))
    assert (answer["number"], answer["was_open"]) == (2, True)
    assert len(room.stand_in.requests("POST", "*/pulls")) == 1


def test_an_opening_that_came_to_nothing_is_forgotten_and_one_without_an_answer_is_not(room: Room) -> None:
    agent = room.agent()
    room.committer.write(lambda c: seat_rows.note_opening(c, agent.session.item_id, "the-loop/1"))
    for path in ("*", "*/pulls"):
        room.stand_in.fault(Trouble.ERROR, "GET", path, times=None)
        room.seat.settle_openings()
        room.stand_in.clear_faults()
        assert seat_rows.openings(room.database.reader()) == [(1, "the-loop/1")]
    room.seat.settle_openings()
    assert seat_rows.openings(room.database.reader()) == []
    assert agent.threads() == [1]
