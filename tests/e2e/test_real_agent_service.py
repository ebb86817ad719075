"""The real Claude Code over ACP under a real service, against a stand-in of its model on loopback."""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.demo.github.records import Comment
from tests.crash.setting import Setting
from tests.crash.stories import Told, end, unfinished, wrong_answers, wrong_fates
from tests.crash.world import PROMPT_ID, World
from tests.fakes.messages_api import MessagesApi, new_blocks, text

ADAPTER = Path(__file__).resolve().parents[2] / ".tools/agent/node_modules/.bin/claude-agent-acp"
WAIT_S = 60.0

pytestmark = [
    pytest.mark.agent,
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not there"),
    pytest.mark.skipif(not ADAPTER.exists(), reason="tests/e2e/install_agent.sh has not installed the adapter"),
]


class Model:
    """What the stand-in model answers; `silence` holds back the answer to whoever asks for it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.silence = threading.Event()
        self.turns: list[str] = []
        """The prompt of each request, newest last."""

    def reply(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """One answer to one prompt."""
        prompts = [block["text"] for block in new_blocks(body) if "turn: " in block.get("text", "")]
        if not prompts:
            return text("nothing was asked")
        self.turns.append(prompts[-1])
        if "STAY SILENT" in prompts[-1]:
            self.asked.set()
            self.silence.wait(WAIT_S)
        return text(f"Answer {len(self.turns)}.")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def world(tmp_path: Path, model: Model) -> Iterator[World]:
    api = MessagesApi(model.reply)
    home = tmp_path / "home"
    home.mkdir()
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "not-a-key-but-long-enough",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    setting = Setting(harness="claude", agent=(str(ADAPTER),), variables=variables)
    with World(tmp_path, setting=setting) as world:
        yield world
        model.silence.set()
    api.close()


def write_and_await_answer(world: World, body: str) -> Comment:
    said = len(world.said())
    comment = world.write(body)
    world.until(lambda: len(world.said()) > said, f"{body!r} is answered")
    return comment


def write_and_await_fate(world: World, body: str, fate: str) -> Comment:
    comment = world.write(body)
    world.until(lambda: world.fate(comment) == fate, f"{body!r} is {fate}")
    return comment


def hold_the_rules(world: World, model: Model, *told: Told) -> None:
    """All fates, all answers, and each turn given to the model once."""
    world.until(lambda: not list(unfinished(world)), "all is finished")
    assert [*wrong_fates(world, list(told)), *wrong_answers(world)] == []
    turns = [found[1] for prompt in model.turns if (found := PROMPT_ID.search(prompt))]
    assert [turn for turn, count in Counter(turns).items() if count > 1] == []
    for each in told:
        heard = sum(f"#issuecomment-{each.comment.id}" in prompt for prompt in model.turns)
        assert heard == each.heard, each.comment.body
    end(world)


def test_it_is_started_hears_a_second_comment_is_paused_resumed_and_stopped(world: World, model: Model) -> None:
    start = write_and_await_answer(world, "the-loop start please fix it")
    second = write_and_await_answer(world, "also cover the empty list")
    pause = write_and_await_fate(world, "the-loop pause", "control-executed")
    missed = write_and_await_fate(world, "a thought meanwhile", "session-paused")
    resume = write_and_await_answer(world, "the-loop resume with the tests")
    assert "1 comment" in model.turns[-1]
    assert "not delivered" in model.turns[-1]
    stop = write_and_await_fate(world, "the-loop stop", "control-executed")
    hold_the_rules(
        world,
        model,
        Told(comment=start, fate="control-executed", heard=1),
        Told(comment=second, fate="done", heard=1),
        Told(comment=pause, fate="control-executed", heard=0),
        Told(comment=missed, fate="session-paused", heard=0),
        Told(comment=resume, fate="control-executed", heard=1),
        Told(comment=stop, fate="control-executed", heard=0),
    )
    assert len(world.books.session_ids()) == 1


def test_a_turn_of_it_outlives_the_service_and_is_answered_once(world: World, model: Model) -> None:
    start = write_and_await_answer(world, "the-loop start please fix it")
    second = world.write("STAY SILENT for a while")
    world.until(model.asked.is_set, "the model is asked")
    world.services.kill()
    model.silence.set()
    world.until(lambda: len(world.said()) == 2, "the turn is answered")
    third = write_and_await_answer(world, "and the tests")
    stop = write_and_await_fate(world, "the-loop stop", "control-executed")
    hold_the_rules(
        world,
        model,
        Told(comment=start, fate="control-executed", heard=1),
        Told(comment=second, fate="done", heard=1),
        Told(comment=third, fate="done", heard=1),
        Told(comment=stop, fate="control-executed", heard=0),
    )
    assert len(world.books.session_ids()) == 1
