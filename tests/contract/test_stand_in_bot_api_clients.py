"""Unmodified bot libraries poll and send against the stand-in Bot API server as against Telegram."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.bot_api.answers import BLOCKED_BY_USER
from tests.fakes.bot_api.faults import DropHalfway, Hang, NotJson
from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.server import StandInBotApi

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "bot_clients"
LIBRARIES = ROOT / ".tools/bot-clients"
PYTHON = LIBRARIES / "bin/python"

pytestmark = pytest.mark.skipif(
    not (LIBRARIES / "installed").exists(), reason="the bot libraries are not installed: run `make tools`"
)
both = pytest.mark.parametrize("library", ["aiogram", "ptb"])


@pytest.fixture
def bot_api(tmp_path: Path) -> Iterator[StandInBotApi]:
    with StandInBotApi(files_root=tmp_path) as running:
        running.chat(5).floods(1)
        running.chat(6).refuses(BLOCKED_BY_USER)
        running.chat(-77).migrates(-1007)
        yield running


@contextmanager
def client(library: str, bot_api: StandInBotApi) -> Iterator[subprocess.Popen[str]]:
    """The library's script, which calls first and then polls until it is told to stop."""
    process = subprocess.Popen(
        [PYTHON, SCRIPTS / f"{library}_client.py", bot_api.root_url, bot_api.token],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def printed(process: subprocess.Popen[str]) -> dict[str, object]:
    said, complaints = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, complaints
    seen: dict[str, object] = json.loads(said)
    return seen


@both
def test_a_library_receives_updates_confirms_them_and_understands_every_answer(bot_api, library: str) -> None:
    with client(library, bot_api) as process:
        bot_api.wait_for_poll()
        for text in ("one", "two", "three"):
            bot_api.push_text(text)
        bot_api.wait_for(lambda: bot_api.confirmed_ids == [10, 11, 12])
        bot_api.push_text("stop")
        seen = printed(process)
    words = {"aiogram": "Bad Request: message text is empty", "ptb": "Message text is empty"}
    assert seen == {
        "me": "stand_in_bot",
        "commands": ["start"],
        "retry_after": 1,
        "file": "\0content",
        "blocked": "Forbidden: bot was blocked by the user",
        "migrated": -1007,
        "refused": words[library],
        "received": ["one", "two", "three"],
    }
    assert [(send.method, send.text) for send in bot_api.sends] == [("sendMessage", "hello"), ("sendDocument", "")]
    assert [call.status for call in bot_api.calls_of("sendMessage")] == [429, 200, 403, 400, 400]


@both
def test_a_library_that_was_killed_between_batch_and_confirmation_loses_nothing(bot_api, library: str) -> None:
    with client(library, bot_api) as process:
        bot_api.wait_for_poll()
        bot_api.arm("getUpdates", Hang(), times=None)
        bot_api.push_text("one")
        bot_api.wait_for_calls("getUpdates", 2)
        process.kill()
    bot_api.lift()
    assert bot_api.unconfirmed_ids == [10]
    with client(library, bot_api) as process:
        bot_api.wait_for(lambda: bot_api.confirmed_ids == [10])
        bot_api.push_text("stop")
        assert printed(process)["received"] == ["one"]


@both
def test_a_library_survives_what_a_network_does_to_its_polls(bot_api, library: str) -> None:
    with client(library, bot_api) as process:
        bot_api.wait_for_poll()
        for fault in (DropHalfway(), NotJson()):
            bot_api.arm("getUpdates", fault)
        bot_api.push_text("one")
        bot_api.wait_for(lambda: bot_api.confirmed_ids == [10])
        bot_api.push_text("stop")
        assert printed(process)["received"] == ["one"]
