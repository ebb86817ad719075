"""The demo: the same story by both roads, a failure that says where to look, and nothing left running."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from service.demo.setting import Mode
from service.demo.steps import STORY, Step
from service.demo.story import FAILED, HELD, INTERRUPTED, tell
from tests.fakes.session_hosts import wait_until

COMMAND = str(Path(sys.executable).parent / "the-loop")
STORY_S_MAX = 60.0
PEOPLE = re.compile(r"^ +(?:ada|mallory|loop-bot) .*$", re.MULTILINE)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
SHORT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A story that was told to its end."""

    code: int
    text: str
    took_s: float
    left: list[str]
    """What stayed in its folder, and which processes."""


def short_folder() -> Path:
    """Sockets have short paths, so pytest's own folders are too deep."""
    return Path(tempfile.mkdtemp(prefix="d-"))


def environment(folder: Path) -> dict[str, str]:
    named = {"TMPDIR": str(folder), "COLUMNS": "200"}
    return {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"} | named


def processes_of(folder: Path) -> list[str]:
    """The living processes that have the folder in their command or environment, this one excepted."""
    return [
        f"process {process.name}"
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and int(process.name) != os.getpid() and _names(process, os.fsencode(folder))
    ]


def _names(process: Path, folder: bytes) -> bool:
    try:
        return folder in (process / "environ").read_bytes() or folder in (process / "cmdline").read_bytes()
    except OSError:
        return False


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("the-loop-demo-*")] + processes_of(folder)


@pytest.fixture(scope="module")
def told() -> Callable[[Mode], Told]:
    """Tells the story by a road, once for all tests."""
    stories: dict[Mode, Told] = {}

    def tell_once(mode: Mode) -> Told:
        if mode not in stories:
            stories[mode] = whole_story(mode)
        return stories[mode]

    return tell_once


def whole_story(mode: Mode) -> Told:
    folder = short_folder()
    began_s = time.monotonic()
    done = subprocess.run(
        [COMMAND, "demo", "--mode", mode], capture_output=True, text=True, timeout=100, env=environment(folder)
    )
    took_s = time.monotonic() - began_s
    story = Told(code=done.returncode, text=done.stdout + done.stderr, took_s=took_s, left=left_in(folder))
    shutil.rmtree(folder)
    return story


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    made = short_folder()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("mode", list(Mode))
def test_every_step_of_the_story_holds_within_a_minute(told, mode) -> None:
    story = told(mode)
    assert story.code == HELD, story.text
    positions = [story.text.index(f"{number}. {step.title}") for number, step in enumerate(STORY, start=1)]
    assert positions == sorted(positions)
    assert story.text.count("✓") == len(STORY)
    assert story.took_s < STORY_S_MAX


@pytest.mark.parametrize("mode", list(Mode))
def test_a_story_that_was_told_leaves_no_process_and_no_file(told, mode) -> None:
    assert told(mode).left == []


def test_a_comment_polled_and_a_comment_pushed_come_to_the_same(told) -> None:
    by_webhook, by_poll = (MOMENT.sub("then", told(mode).text) for mode in (Mode.WEBHOOK, Mode.POLL))
    assert len(PEOPLE.findall(by_webhook)) > len(STORY)
    assert PEOPLE.findall(by_webhook) == PEOPLE.findall(by_poll)


def test_the_story_ends_with_what_became_of_a_comment(told) -> None:
    explained = told(Mode.WEBHOOK).text.partition(STORY[-1].title)[2]
    assert "issue_comment" in explained
    assert "done" in explained


def waits_in_vain(scene) -> str:
    scene.entry("a cow to jump over the moon", "cow.jumped")
    return "it jumped"


def loses_its_service(scene) -> str:
    scene.stage.kill_service()
    scene.entry("the dead to speak", "service.spoke")
    return "it spoke"


def loses_github(scene) -> str:
    scene.stage.github.kill()
    scene.look()
    return "it was still there"


@pytest.mark.parametrize(
    ("play", "expected", "seen"),
    [
        pytest.param(waits_in_vain, "a cow to jump over the moon", "service.ready", id="wait in vain"),
        pytest.param(loses_its_service, "the dead to speak", "the service ended", id="dead service"),
        pytest.param(loses_github, "nothing of the stage to break", "refused", id="dead GitHub"),
    ],
)
def test_a_step_that_fails_says_what_was_expected_and_seen_and_where_to_look(folder, play, expected, seen) -> None:
    said = io.StringIO()
    steps = (STORY[0], Step("The unheard-of", play))
    code = tell(Mode.WEBHOOK, steps, Console(file=said, width=200), keep=False, wait_s=SHORT_S)
    assert code == FAILED
    told_failure = said.getvalue().partition("FAILED 2. The unheard-of")[2]
    assert expected in told_failure
    assert seen in told_failure
    (log,) = folder.glob("the-loop-demo-*/state/logs/events.jsonl")
    assert str(log) in told_failure
    assert processes_of(folder / "the-loop-demo-") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_story_that_is_broken_off_in_mid_session_ends_everything_it_started(folder, number) -> None:
    demo = subprocess.Popen([COMMAND, "demo"], stdout=subprocess.PIPE, text=True, env=environment(folder))
    assert demo.stdout is not None
    assert any(STORY[3].title in line for line in demo.stdout), "the story ended before its session was at work"
    demo.send_signal(number)
    rest = demo.stdout.read()
    assert demo.wait(30) == INTERRUPTED, rest
    assert "as you asked" in rest
    assert left_in(folder) == []


def test_kept_it_goes_on_and_says_where_to_look_and_how_to_end_it(folder) -> None:
    said = io.StringIO()
    assert tell(Mode.WEBHOOK, STORY[:1], Console(file=said, width=200), keep=True) == HELD
    text = said.getvalue()
    pids = [int(pid) for pid in re.findall(r"\d+", re.findall(r"end it +kill ([\d ]+)", text)[0])]
    try:
        webhook = re.findall(r"webhook +(http://[\w.:]+)/", text)[0]
        assert httpx.get(f"{webhook}/healthz", trust_env=False).status_code == 200
        written = re.findall(r"curl -s (\S+/_door/comment) -d '([^']+)'", text)[0]
        # Without a command, for a session would outlive the service that is ended here.
        comment = written[1].replace("the-loop start", "Good evening")
        assert httpx.post(written[0], content=comment, trust_env=False).status_code == 200
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
    wait_until(lambda: processes_of(folder / "the-loop-demo-") == [])
