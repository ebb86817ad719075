"""What a session is trusted with, what is kept of its turns, and a start that cannot get its clone, over the real worker."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import ItemKind, Phase
from domain.texts import CUT
from service import wiring
from service.clock import SystemClock
from service.ports import make_harness, make_ports
from service.settings import Settings
from service.state_folder import StateFolder
from sessions.git import Remote
from sessions.host.permissions import PermissionMode
from sessions.host.records import Ended, StopReason, Usage
from sessions.host.spec import read_spec
from sessions.port import Harness
from sessions.process_tree import end_marked, find_session
from statedb import seat_rows
from tests.fakes.core import LABELED, THREAD, comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Manner
from tests.fakes.repositories import by_hand, make_remote
from tests.fakes.service_in_process import ServiceInProcess
from tests.fakes.session_hosts import FAKE_AGENT, WAIT_S
from tests.path.test_sessions_acp import say_always

WORKS_ON = Manner(ends=False)
GITHUB_CHARACTERS_MAX = 65_536
GITHUB_BYTES_MAX = 262_144


@pytest.mark.parametrize(
    ("kind", "from_fork", "is_untrusted"),
    [
        pytest.param(ItemKind.ISSUE, None, False, id="an-issue-works-on-our-own-branch"),
        pytest.param(ItemKind.PULL, False, False, id="a-pull-request-of-ours"),
        pytest.param(ItemKind.PULL, True, True, id="a-pull-request-of-a-fork"),
        pytest.param(ItemKind.PULL, None, True, id="a-pull-request-of-which-we-do-not-know"),
    ],
)
def test_the_tree_of_a_fork_is_untrusted(
    service: ServiceInProcess, harness: StandInHarness, kind: ItemKind, from_fork: bool | None, is_untrusted: bool
) -> None:
    start = comment(1, "the-loop start", told=replace(LABELED, kind=kind, from_fork=from_fork))
    service.arrive(start)
    service.wait_fates([start], "control-executed")
    assert [order.is_untrusted for order in harness.opens] == [is_untrusted]


@pytest.mark.parametrize(
    ("from_fork", "mode"),
    [
        pytest.param(False, PermissionMode.ALLOW_ALL, id="as-the-settings-say"),
        pytest.param(True, PermissionMode.DENY, id="on-a-forks-tree-whatever-they-say"),
    ],
)
def test_an_agent_runs_inside_the_operators_wall_with_the_permissions_of_its_tree(
    tmp_path: Path, from_fork: bool, mode: PermissionMode
) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "templates").mkdir()
    say_always(tmp_path)
    environment = {"PATH": os.environ["PATH"], "FAKE_AGENT_FOLDER": str(tmp_path / "agent")}
    sessions = {
        "harness": "command",
        "command": (sys.executable, str(FAKE_AGENT)),
        "command_prefix": ("env", "WALL=stands"),
        "pass_variables": ("FAKE_AGENT_*",),
        "permissions": "allow_all",
        "templates": tmp_path / "templates",
    }

    def make(settings: Settings, state: StateFolder) -> Harness:
        return make_harness(settings, state, environment)

    with ServiceInProcess(tmp_path, make_harness=make, clock=SystemClock(), sessions=sessions, end_s=WAIT_S) as service:
        told = replace(LABELED, kind=ItemKind.PULL, from_fork=from_fork)
        service.arrive(comment(1, "the-loop start", told=told))
        service.until(lambda: service.turns() == [("events", "ended")])
        session = service.session()
        assert session is not None
        try:
            spec = read_spec(service.state.sessions / session.session_id)
            agents = [Path(f"/proc/{found.pid}/environ").read_bytes() for found in find_session(session.session_id)]
        finally:
            end_marked(session.session_id, grace_s=0.1)
    assert spec.permission_mode is mode
    assert spec.argv[:2] == ("env", "WALL=stands")
    assert agents
    assert all(b"WALL=stands\0" in agent for agent in agents)


def test_what_a_turn_used_is_kept_with_it(service: ServiceInProcess, harness: StandInHarness) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    turn_id = harness.stop_running(service.item_id())
    usage = Usage(input_tokens=1_200, output_tokens=34, cost_amount=0.25, cost_currency="USD")
    ended = Ended(
        turn_id=turn_id, stop_reason=StopReason.FINISHED, text_after_tools="Done.", text_before_tools="", tool_calls=3,
        usage=usage,
    )  # fmt: skip
    harness.write(service.item_id(), ended)
    service.until(lambda: service.turns() == [("events", "ended")])
    ((used,),) = service.rows("SELECT used FROM turns")
    assert json.loads(used) == {
        "input_tokens": 1_200,
        "output_tokens": 34,
        "cost_amount": 0.25,
        "cost_currency": "USD",
        "tool_calls": 3,
    }


@pytest.mark.parametrize(
    "text",
    [pytest.param("x" * 70_000, id="of-many-characters"), pytest.param("😕" * 64_000, id="of-many-bytes")],
)
def test_an_answer_longer_than_a_comment_is_cut_visibly_and_kept_whole(
    service: ServiceInProcess, harness: StandInHarness, text: str
) -> None:
    harness.next_turns(WORKS_ON)
    service.begin()
    harness.finish(service.item_id(), text)
    service.until(lambda: service.said("answer") == [text])
    ((body, parts),) = service.rows(
        "SELECT body, parts_total FROM reply_parts JOIN replies USING (reply_id) WHERE kind = 'answer'"
    )
    said, cut, _ = body.partition(CUT)
    assert cut, "it does not say that it was cut"
    assert text.startswith(said)
    assert len(body) <= GITHUB_CHARACTERS_MAX
    assert len(body.encode()) <= GITHUB_BYTES_MAX
    assert parts == 1


def test_a_session_that_asked_waits_for_a_person_until_it_has_the_next_comment(service: ServiceInProcess) -> None:
    service.begin()
    service.settle()
    session = service.session()
    assert session is not None
    service.core.committer.write(lambda connection: seat_rows.mark_waiting(connection, session.session_id))
    asked = service.rows("SELECT waits_for_person FROM sessions")
    answer = comment(2, "the second way")
    service.arrive(answer)
    service.wait_fates([answer], "done")
    assert (asked, service.rows("SELECT waits_for_person FROM sessions")) == ([(1,)], [(0,)])


def lose_default_branch(remote: Path) -> None:
    by_hand(remote, "symbolic-ref", "HEAD", "refs/heads/gone")


def lose_repository(remote: Path) -> None:
    remote.rename(remote.with_name("elsewhere.git"))


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lose_default_branch, id="the-default-branch-is-missing"),
        pytest.param(lose_repository, id="the-repository-is-not-there"),
    ],
)
def test_a_start_whose_clone_cannot_be_made_gives_up_loudly(tmp_path: Path, lose) -> None:
    lose(make_remote(tmp_path))
    with ServiceInProcess(tmp_path, real_clones=True, routing={"max_retries": 0}) as service:
        start = comment(1, "the-loop start")
        service.arrive(start)
        service.settle()
        (notice,) = service.said("notice")
        assert (service.fates(start), service.phase()) == (["unhandled"], Phase.FAILED)
        assert [event.event_key for event in service.events.named("dispatch.gave_up")] == [start.key]
        assert "the clone could not be made" in notice
        assert service.harness.opens == []


def test_a_repository_may_be_a_local_one_and_github_is_not_asked_for_it(tmp_path: Path) -> None:
    settings = Settings(
        state_folder=tmp_path / "state", base_folder=tmp_path, repositories=({"name": "O/R", "path": "remote.git"},)
    )
    ports = make_ports(settings, StateFolder(settings.state))
    assert ports.remotes.remote(THREAD, "o/r") == Remote(address=str(tmp_path / "remote.git"))


def test_what_is_missing_is_said_at_the_start_with_what_to_do(tmp_path: Path) -> None:
    settings = Settings(
        state_folder=tmp_path / "state", webhook={"enabled": False},
        sessions={"harness": "command", "command": ("no-such-agent",)},
    )  # fmt: skip
    StateFolder(settings.state).make()
    service = wiring.build(settings, SystemClock())
    harness, nobody, token = service.missing()
    assert "no-such-agent" in harness
    assert "sessions.command" in harness
    assert "routing.authorized_users" in nobody
    assert "github.token" in token


def test_a_road_that_is_turned_off_is_not_there(tmp_path: Path) -> None:
    settings = Settings(state_folder=tmp_path / "state", webhook={"enabled": False}, polling={"enabled": False})
    StateFolder(settings.state).make()
    service = wiring.build(settings, SystemClock())
    assert service.server is None
    assert {"webhook", "poller"} & {part.name for part in service.application.snapshot().resources} == set()
