"""Carrying out with everything real but the agent's mind: session hosts, processes, git clones, SQLite."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain.turns import SessionState
from service.clock import SystemClock
from service.ports import make_harness
from sessions.host.spec import read_spec
from sessions.link import SessionLink
from sessions.process_tree import end_marked
from tests.fakes.core import comment
from tests.fakes.repositories import by_hand, make_remote
from tests.fakes.service_in_process import ServiceInProcess
from tests.fakes.session_hosts import FAKE_AGENT, WAIT_S, is_alive, wait_until

FIRST, NEXT, GO_ON = "webhook-autoexecute-prompt.md", "webhook-event-prompt.md", "webhook-resume-prompt.md"
Serve = Callable[..., ServiceInProcess]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_remote(tmp_path)
    (tmp_path / "agent").mkdir()
    (tmp_path / "templates").mkdir()
    return tmp_path


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    """Run a service with the fake agent; a second call is a restart. Whatever is left of its sessions is ended."""
    running: list[ServiceInProcess] = []

    def run(*flags: str, idle_s: float = 600.0, retries: int = 3) -> ServiceInProcess:
        for service in running:
            service.stop()
        environment = {"PATH": os.environ["PATH"], "FAKE_AGENT_FOLDER": str(folder / "agent")}
        service = ServiceInProcess(
            folder,
            make_harness=lambda settings, state: make_harness(settings, state, environment),
            clock=SystemClock(),
            real_clones=True,
            end_s=WAIT_S,
            routing={"max_retries": retries},
            sessions={
                "harness": "command",
                "command": (sys.executable, str(FAKE_AGENT), *flags),
                "pass_variables": ("FAKE_AGENT_*",),
                "templates": folder / "templates",
                "idle_s": idle_s,
            },
        )
        service.start()
        running.append(service)
        return service

    yield run
    for service in running:
        service.stop()
    for (session_id,) in running[-1].rows("SELECT session_id FROM sessions") if running else []:
        end_marked(session_id, grace_s=0.1)
    for service in running[:1]:
        shutil.rmtree(service.state.sockets, ignore_errors=True)


def let_agent(folder: Path, template: str, *steps: list[object]) -> None:
    """What the agent does with the prompts made of a template, by the operator's own templates."""
    rest = "$item $branch" if template == GO_ON else "$item $branch\n\n${refused}\n\n$people"
    (folder / "templates" / template).write_text(f"{json.dumps(steps)}\n\n{rest}\n\nturn: $turn\n")


def say_always(folder: Path, text: str = "Done.") -> None:
    for template in (FIRST, NEXT, GO_ON):
        let_agent(folder, template, ["say", text])


def host_pid(service: ServiceInProcess) -> int:
    session = service.session()
    assert session is not None
    spec = read_spec(service.state.sessions / session.session_id)
    link = SessionLink.connect(spec.socket_path, WAIT_S)
    try:
        return link.ping()
    finally:
        link.close()


def test_comments_reach_one_agent_in_a_clone_of_its_own_and_its_answers_are_recorded(
    folder: Path, serve: Serve
) -> None:
    let_agent(folder, FIRST, ["say", "I look."], ["tool", "t1", "read"], ["say", "Started."])
    let_agent(folder, NEXT, ["say", "Heard."])
    say_always_go_on(folder)
    service = serve()
    service.begin()
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.until(lambda: service.said("answer") == ["Started.", "Heard."])
    session = service.session()
    assert session is not None
    assert by_hand(Path(session.clone), "symbolic-ref", "HEAD") == "refs/heads/the-loop/15"
    assert (Path(session.clone) / "README").read_text() == "hello\n"
    assert len((folder / "agent" / "history.jsonl").read_text().splitlines()) == 2


def say_always_go_on(folder: Path) -> None:
    let_agent(folder, GO_ON, ["say", "Gone on."])


def test_a_stop_ends_the_whole_process_tree_and_posts_nothing(folder: Path, serve: Serve) -> None:
    child = folder / "child.pid"
    say_always(folder)
    let_agent(folder, FIRST, ["say", "Half of it."], ["spawn", str(child)], ["wait"])
    service = serve()
    service.begin()
    wait_until(lambda: child.exists() and bool(child.read_text()))
    host, stray = host_pid(service), int(child.read_text())
    stop = comment(3, "the-loop stop")
    service.arrive(stop)
    service.wait_fates([stop], "control-executed")
    assert not is_alive(host)
    assert not is_alive(stray)
    assert service.said("answer") == []
    assert service.rows("SELECT state, answer FROM turns") == [("cancelled", "Half of it.")]


def test_a_host_that_is_killed_in_mid_turn_has_its_turn_found_by_replay_and_gone_on_with(
    folder: Path, serve: Serve
) -> None:
    say_always(folder)
    let_agent(folder, FIRST, ["think", "hm"], ["hang"])
    say_always_go_on(folder)
    service = serve()
    start = service.begin()
    os.kill(host_pid(service), signal.SIGKILL)
    service.until(lambda: service.said("answer") == ["Gone on."])
    assert service.fates(start) == ["control-executed"]
    assert service.turns() == [("events", "ended"), ("resumption", "ended")]


def test_a_service_that_restarts_in_mid_turn_finds_its_session_and_interrupts_nothing(
    folder: Path, serve: Serve
) -> None:
    go = folder / "go"
    say_always(folder)
    let_agent(folder, FIRST, ["think", "hm"], ["await_file", str(go)], ["say", "All done."])
    first = serve()
    first.begin()
    host = host_pid(first)
    second = serve()
    go.touch()
    second.until(lambda: second.said("answer") == ["All done."])
    assert host_pid(second) == host
    assert second.turns() == [("events", "ended")]
    assert len((folder / "agent" / "history.jsonl").read_text().splitlines()) == 1


def test_a_session_that_ended_idle_is_loaded_again_for_the_next_comment(folder: Path, serve: Serve) -> None:
    say_always(folder)
    service = serve(idle_s=0.3)
    service.begin()

    def is_idle() -> bool:
        session = service.session()
        return session is not None and session.state is SessionState.IDLE

    service.until(is_idle)
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.until(lambda: service.said("answer") == ["Done.", "Done."])
    assert len(service.events.named("session.resumed")) == 1
    assert len(service.rows("SELECT session_id FROM sessions")) == 1


def test_an_agent_that_no_longer_knows_the_conversation_gets_a_new_one(folder: Path, serve: Serve) -> None:
    say_always(folder)
    let_agent(folder, FIRST, ["say", "First."])
    first = serve()
    first.begin()
    first.until(lambda: first.said("answer") == ["First."])
    os.kill(host_pid(first), signal.SIGKILL)
    second = serve("--forget")
    said = comment(2, "more")
    second.arrive(said)
    second.wait_fates([said], "done")
    second.until(lambda: second.said("answer") == ["First.", "First."])
    assert second.rows("SELECT attempts FROM fates WHERE event_key = ?", said.key) == [(0,)]


def test_an_agent_that_cannot_start_is_given_up_with_a_notice(folder: Path, serve: Serve) -> None:
    say_always(folder)
    service = serve("--die-at-start", retries=0)
    start = comment(1, "the-loop start")
    service.arrive(start)
    service.wait_fates([start], "unhandled")
    (notice,) = service.said("notice")
    assert start.url in notice
    assert "no licence" not in notice, "what an agent says stays off the thread"


def test_an_agent_without_a_login_spends_no_attempt(folder: Path, serve: Serve) -> None:
    say_always(folder)
    service = serve("--login")
    start = comment(1, "the-loop start")
    service.arrive(start)
    service.events.wait_for("session.trouble")
    service.until(lambda: service.rows("SELECT next_at > 0 FROM fates") == [(1,)])
    assert service.rows("SELECT attempts, fate FROM fates") == [(0, "inflight")]


def test_an_agent_that_answers_with_an_error_is_not_asked_for_ever(folder: Path, serve: Serve) -> None:
    say_always(folder)
    let_agent(folder, NEXT, ["fail", -32603, "Internal error"])
    let_agent(folder, GO_ON, ["fail", -32603, "Internal error"])
    service = serve()
    service.begin()
    service.arrive(comment(2, "more"))
    service.until(lambda: service.phase() == "failed")
    service.until(lambda: len(service.said("notice")) == 1)
    assert len((folder / "agent" / "history.jsonl").read_text().splitlines()) <= 4


def test_a_stop_reaches_an_agent_that_never_gets_ready(folder: Path, serve: Serve) -> None:
    say_always(folder)
    service = serve("--never-initialize")
    start, stop = comment(1, "the-loop start"), comment(2, "the-loop stop")
    service.arrive(start)
    service.until(lambda: service.turns() == [("events", "handed")])
    host = host_pid(service)
    service.arrive(stop)
    service.wait_fates([start, stop], "control-executed", "control-executed")
    assert not is_alive(host)
