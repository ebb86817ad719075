"""The demo's agent under a session host: it reads, works slowly, commits in the clone, and remembers."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from service.demo.setting import Mode, settings_text
from sessions.host.permissions import PermissionMode
from sessions.host.protocol import HandState
from sessions.host.records import Ended, PermissionAnswered, Replayed, StopReason, Taken
from tests.fakes.session_hosts import WAIT_S, Room, one, wait_until

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    room = Room(tmp_path)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "DEMO_AGENT_STEP_S": "0.05",
    }
    argv = (sys.executable, "-m", "service.demo.agent", str(room.agent_folder))
    room.spec = replace(room.spec, argv=argv, environment=environment)
    yield room
    room.close()


def answer_to(room: Room, text: str) -> Ended:
    link = room.start()
    assert link.hand("t1", f"{text}\n\nturn: t1", WAIT_S) is HandState.HANDED
    return one(room.wait_for(Ended), Ended)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param("https://host/o/r/issues/1#issuecomment-5 fix it", "I read 1 comment: issuecomment-5.", id="one"),
        pytest.param(
            "x#issuecomment-5 x#issuecomment-5 x#discussion_r9",
            "I read 2 comments: issuecomment-5, discussion_r9.",
            id="each once",
        ),
        pytest.param(
            "2 comments since 10:00 were not delivered to you.\nx#issuecomment-5",
            "I read 1 comment: issuecomment-5. I was told: 2 comments since 10:00 were not delivered to you.",
            id="what it missed",
        ),
        pytest.param("hello", "I read 0 comments.", id="none"),
    ],
)
def test_it_says_which_comments_it_read(room: Room, text: str, answer: str) -> None:
    assert answer_to(room, text).text_after_tools == answer


def test_it_works_slowly_when_asked_to_and_answers_after_its_last_tool(room: Room) -> None:
    ended = answer_to(room, "work slowly x#issuecomment-5")
    assert ended.text_after_tools == "I read 1 comment: issuecomment-5."
    assert ended.text_before_tools.startswith("Working, step 1 of 8.")


def test_slow_work_is_cancelled_at_its_next_step(room: Room) -> None:
    link = room.start()
    link.hand("t1", "work slowly\nturn: t1", WAIT_S)
    room.wait_for(Taken)
    link.cancel("t1")
    assert one(room.wait_for(Ended), Ended).stop_reason is StopReason.CANCELLED


def test_it_commits_in_the_clone_with_leave(room: Room) -> None:
    subprocess.run(["git", "init", "--quiet", str(room.clone)], check=True)
    ended = answer_to(room, "please commit x#issuecomment-5")
    assert ended.text_after_tools == "I read 1 comment: issuecomment-5. I committed note 1."
    log = subprocess.run(["git", "-C", str(room.clone), "log", "--format=%s"], check=True, capture_output=True)
    assert log.stdout == b"Add note 1\n"
    answers = [record.allowed for record in room.records() if isinstance(record, PermissionAnswered)]
    assert answers == [True, True, True]


def test_it_says_that_it_was_not_allowed(room: Room) -> None:
    room.spec = replace(room.spec, permission_mode=PermissionMode.DENY)
    ended = answer_to(room, "please commit")
    assert ended.text_after_tools == "I read 0 comments. I was not allowed to write a file."
    assert list(room.clone.iterdir()) == []


def test_its_conversation_survives_it(room: Room) -> None:
    answer_to(room, "hello")
    room.kill_host()
    link = room.start(conversation_id="demo-1")
    assert one(room.wait_for(Replayed), Replayed) == Replayed(("t1",))
    assert link.hand("t2", "again\n\nturn: t2", WAIT_S) is HandState.HANDED
    wait_until(lambda: sum(isinstance(record, Ended) for record in room.records()) == 2)


def test_the_demos_settings_alone_say_how_it_is_started(room: Room, tmp_path: Path) -> None:
    settings = tomllib.loads(settings_text(tmp_path, "http://127.0.0.1:1", 1, Mode.WEBHOOK))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    room.spec = replace(room.spec, argv=tuple(settings["sessions"]["command"]), environment=environment)
    assert answer_to(room, "hello").text_after_tools == "I read 0 comments."
    assert [path.name for path in (tmp_path / "conversations").iterdir()] == ["demo-1.jsonl"]
