"""The real Claude Code over its ACP adapter under a session host, against a stand-in of its model on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sessions.host.protocol import HandState
from sessions.host.records import Ended, PermissionAnswered, Record, Replayed, Started, StopReason, Taken
from sessions.host.spec import HostTimes
from sessions.link import SessionLink
from sessions.process_tree import find_session
from tests.fakes.messages_api import MessagesApi, new_blocks, text, tool
from tests.fakes.session_hosts import Room, one, wait_until

ADAPTER = Path(__file__).resolve().parents[2] / ".tools/agent/node_modules/.bin/claude-agent-acp"
WAIT_S = 60.0

pytestmark = [
    pytest.mark.agent,
    pytest.mark.timeout(180),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not there"),
    pytest.mark.skipif(not ADAPTER.exists(), reason="tests/e2e/install_agent.sh has not installed the adapter"),
]


class Model:
    """What the stand-in model answers: by a word in the newest prompt; `silence` holds an answer back."""

    def __init__(self, clone: Path) -> None:
        self._clone = clone
        self.asked = threading.Event()
        self.silence = threading.Event()

    def reply(self, body: dict) -> list[dict]:
        """One answer."""
        blocks = new_blocks(body)
        if any(block["type"] == "tool_result" for block in blocks):
            return text("after the tool")
        prompts = [block["text"] for block in blocks if "turn: " in block.get("text", "")]
        words = prompts[-1] if prompts else ""
        if "WRITE" in words:
            return text("before the tool") + tool("Write", {"file_path": str(self._clone / "a.txt"), "content": "a"})
        if "PIPE" in words:
            return text("before the tool") + tool("Bash", {"command": "curl localhost | sh", "description": "x"})
        if "STAY SILENT" in words:
            self.asked.set()
            self.silence.wait(WAIT_S)
        return text("an answer")


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    room = Room(tmp_path)
    subprocess.run(["git", "init", "--quiet", str(room.clone)], check=True)
    yield room
    room.close()


@pytest.fixture
def model(room: Room) -> Iterator[Model]:
    model = Model(room.clone)
    api = MessagesApi(model.reply)
    home = room.agent_folder / "home"
    home.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "not-a-key-but-long-enough",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    times = HostTimes(start_s=WAIT_S, cancel_s=10.0, grace_s=2.0)
    room.spec = replace(room.spec, argv=(str(ADAPTER),), environment=environment, times=times)
    yield model
    model.silence.set()
    api.close()


def take_turn(room: Room, link: SessionLink, turn_id: str, words: str) -> Ended:
    assert link.hand(turn_id, f"{words}\n\nturn: {turn_id}", WAIT_S) is HandState.HANDED
    wait_until(lambda: ended_of(room.records(), turn_id) != [], WAIT_S)
    return ended_of(room.records(), turn_id)[0]


def ended_of(records: list[Record], turn_id: str) -> list[Ended]:
    return [record for record in records if isinstance(record, Ended) and record.turn_id == turn_id]


def test_it_answers_and_asks_leave_for_what_it_does(room: Room, model: Model) -> None:
    link = room.start()
    assert take_turn(room, link, "t1", "hello").text_after_tools == "an answer"
    wrote = take_turn(room, link, "t2", "WRITE")
    assert (wrote.text_before_tools, wrote.text_after_tools) == ("before the tool", "after the tool")
    assert (room.clone / "a.txt").read_text() == "a"
    assert wrote.usage.input_tokens
    piped = take_turn(room, link, "t3", "PIPE")
    assert piped.text_after_tools == "after the tool"
    answers = [(record.kind, record.allowed) for record in room.records() if isinstance(record, PermissionAnswered)]
    assert answers == [("edit", True), ("execute", False)]
    link.end("stop")
    room.wait_gone()
    assert find_session(room.session_id) == set()


def test_a_turn_of_it_is_cancelled_and_the_session_goes_on(room: Room, model: Model) -> None:
    link = room.start()
    link.hand("t1", "STAY SILENT\n\nturn: t1", WAIT_S)
    assert model.asked.wait(WAIT_S)
    link.cancel("t1")
    wait_until(lambda: ended_of(room.records(), "t1") != [], WAIT_S)
    assert one(room.records(), Ended).stop_reason is StopReason.CANCELLED
    assert take_turn(room, link, "t2", "hello").text_after_tools == "an answer"


def test_its_conversation_is_loaded_after_its_host_was_killed_in_a_turn(room: Room, model: Model) -> None:
    link = room.start()
    take_turn(room, link, "t1", "hello")
    link.hand("t2", "STAY SILENT\n\nturn: t2", WAIT_S)
    assert model.asked.wait(WAIT_S)
    room.kill_host()
    started = one(room.records(), Started)
    link = room.start(conversation_id=started.conversation_id)
    replayed = one(room.wait_for(Replayed), Replayed)
    assert "t1" in replayed.turn_ids
    state = link.hand("t2", "hello\n\nturn: t2", WAIT_S)
    assert state is (HandState.TAKEN if "t2" in replayed.turn_ids else HandState.HANDED)
    if state is HandState.TAKEN:
        assert take_turn(room, link, "t3", "go on").text_after_tools == "an answer"
    assert any(isinstance(record, Taken) and record.turn_id == "t2" for record in room.wait_for(Taken))
