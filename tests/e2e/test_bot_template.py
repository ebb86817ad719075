"""The project that `the-loop init --template telegram-bot` writes, as a process of its own against the stand-in Bot API."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import pytest
from click.testing import CliRunner

from service.cli.main import the_loop
from tests.fakes.bot_api.answers import BLOCKED_BY_USER
from tests.fakes.bot_api.faults import Hang, Slow
from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.bot_api.world import TOKEN
from tests.tidy import tree

OPERATOR, SOMEBODY = -100, 5
FIRST_ID = 5
UP = "The bot is up."


@pytest.fixture
def bot_api(tmp_path: Path) -> Iterator[StandInBotApi]:
    with StandInBotApi(first_id=FIRST_ID) as served:
        yield served


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "our-bot"
    result = CliRunner().invoke(the_loop, ["init", "--template", "telegram-bot", str(folder)])
    assert result.exit_code == 0, result.stderr
    return folder


class Bots:
    """Starts the project's programs. Use it as a context: what still runs at its end is killed."""

    def __init__(self, project: Path, bot_api: StandInBotApi) -> None:
        files = project.parent / "files"
        (files / bot_api.token).mkdir(parents=True)
        self._project = project
        self._environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join((str(project), str(tree.ROOT))),
            "BOT_TOKEN": bot_api.token,
            "BOT_API_URL": bot_api.root_url,
            "BOT_API_FILES_ROOT": str(files),
            "OPERATOR_CHAT": str(OPERATOR),
        }
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return self._start([sys.executable, "-m", *(arguments or ("bot",))], environment)

    def start_on_full_disk(self, *arguments: str) -> subprocess.Popen[str]:
        """No file that the program writes may have any content; the system says so as it does for a full disk."""
        return self._start(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", sys.executable, "-m", *arguments], {})

    def _start(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=self._project,
            env={**self._environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.fixture
def bots(project: Path, bot_api: StandInBotApi) -> Iterator[Bots]:
    with Bots(project, bot_api) as bots:
        yield bots


def said_by(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """The lines of its journal, once it has ended; nothing else was said, and nowhere the token."""
    said, complaints = process.communicate(timeout=LIMIT_S)
    assert complaints == ""
    assert TOKEN.partition(":")[2] not in said
    return [json.loads(line) for line in said.splitlines()]


def told(bot_api: StandInBotApi, chat_id: int, count: int = 1) -> list[str]:
    """What arrived in a chat, once there is so much."""

    def texts() -> list[str]:
        return [send.text for send in bot_api.sends if send.chat_id == chat_id]

    bot_api.wait_for(lambda: len(texts()) >= count, f"{count} messages in {chat_id}")
    return texts()


def test_it_tells_its_operator_answers_and_confirms_what_it_has_in_hand_when_it_is_ended(bot_api, bots) -> None:
    process = bots.start()
    assert told(bot_api, OPERATOR) == [UP]
    bot_api.wait_for_poll()
    bot_api.arm("sendMessage", Slow())
    assert bot_api.push_text("/stop", SOMEBODY) == FIRST_ID
    bot_api.wait_for_calls("sendMessage", 2)
    process.send_signal(signal.SIGTERM)
    bot_api.release()
    lines = said_by(process)
    assert (process.returncode, told(bot_api, SOMEBODY)) == (0, ["You get nothing more."])
    assert (bot_api.polls[-1].offset, bot_api.unconfirmed_ids) == (FIRST_ID + 1, [])
    assert [line for line in lines if line["level"] >= 40] == []


def test_every_line_of_its_journal_is_an_object_that_begins_as_pinos_do(bot_api, bots) -> None:
    process = bots.start()
    bot_api.wait_for_poll()
    process.send_signal(signal.SIGTERM)
    lines = said_by(process)
    assert lines, "nothing was said"
    assert {tuple(line)[:3] for line in lines} == {("level", "time", "msg")}
    assert {tuple(type(line[key]) for key in ("level", "time", "msg")) for line in lines} == {(int, int, str)}


def test_a_token_that_is_revoked_ends_it_with_one_line_that_says_so(bot_api, bots) -> None:
    process = bots.start()
    told(bot_api, OPERATOR)
    bot_api.wait_for_poll()
    bot_api.revoke()
    (error,) = [line for line in said_by(process) if line["level"] >= 50]
    assert process.returncode == 1
    assert "telegram-polling" in error["msg"]
    assert "unauthorized" in error["msg"]


def test_a_webhook_that_is_set_is_named_left_as_it_is_and_why_it_does_not_start(bot_api, bots) -> None:
    address = "https://elsewhere.example/hook"
    httpx.post(f"{bot_api.root_url}/bot{bot_api.token}/setWebhook", json={"url": address}).raise_for_status()
    process = bots.start()
    (error,) = [line for line in said_by(process) if line["level"] >= 50]
    assert process.returncode == 1
    assert "elsewhere.example" in error["msg"]
    assert (bot_api.webhook.url, bot_api.polls) == (address, [])


def test_a_local_servers_folder_that_is_missing_is_named_by_neither_path_nor_token(bot_api, bots, tmp_path) -> None:
    (tmp_path / "files" / bot_api.token).rmdir()
    process = bots.start()
    (error,) = [line for line in said_by(process) if line["level"] >= 50]
    assert process.returncode == 1
    assert "bot-directory-unavailable" in error["msg"]
    assert str(tmp_path / "files") not in json.dumps(error)


def test_an_operators_chat_that_takes_nothing_holds_up_nobody(bot_api, bots) -> None:
    bot_api.chat(OPERATOR).refuses(BLOCKED_BY_USER)
    process = bots.start()
    bot_api.push_text("/stop", SOMEBODY)
    bot_api.wait_for_calls("sendMessage", 2)
    assert told(bot_api, SOMEBODY) == ["You get nothing more."]
    process.send_signal(signal.SIGTERM)
    assert [line["msg"] for line in said_by(process) if line["level"] >= 40] == [
        "a notice to the operator was not sent: refused"
    ]
    assert process.returncode == 0


def test_an_update_in_the_hands_of_a_process_that_is_killed_comes_to_the_next(bot_api, bots) -> None:
    process = bots.start()
    told(bot_api, OPERATOR)
    bot_api.wait_for_poll()
    bot_api.arm("sendMessage", Hang())
    bot_api.push_text("/start", SOMEBODY)
    bot_api.wait_for_calls("sendMessage", 2)
    process.kill()
    process.wait(LIMIT_S)
    bot_api.release()
    second = bots.start()
    assert len(told(bot_api, SOMEBODY)) == 1
    bot_api.wait_for_poll(FIRST_ID + 1)
    second.send_signal(signal.SIGTERM)
    said_by(second)
    assert (second.returncode, bot_api.confirmed_ids) == (0, [FIRST_ID])


def test_a_restart_that_the_operator_asks_for_is_a_clean_end_and_is_not_asked_for_again(bot_api, bots) -> None:
    process = bots.start()
    bot_api.push_text("/restart", OPERATOR)
    assert [line["level"] for line in said_by(process) if line["level"] >= 40] == []
    assert (process.returncode, bot_api.unconfirmed_ids) == (0, [])


def test_a_broadcast_by_name_reaches_once_who_said_start(bot_api, bots) -> None:
    bots.start()
    bot_api.push_text("/start", SOMEBODY)
    told(bot_api, SOMEBODY)
    for _ in range(2):
        run = bots.start("bot.broadcast", "news", "It works.")
        said, complaints = run.communicate(timeout=LIMIT_S)
        assert (run.returncode, complaints) == (0, "")
        assert said.splitlines()[-1].startswith("news: finished, 1 of 1 delivered")
    assert told(bot_api, SOMEBODY)[1:] == ["It works."]


def test_a_broadcast_on_a_full_disk_says_what_to_do_and_goes_on_when_there_is_room(bot_api, bots) -> None:
    bots.start()
    bot_api.push_text("/start", SOMEBODY)
    told(bot_api, SOMEBODY)
    run = bots.start_on_full_disk("bot.broadcast", "news", "It works.")
    _, complaints = run.communicate(timeout=LIMIT_S)
    assert (run.returncode, len(complaints.splitlines())) == (1, 1)
    assert "make room if the disk is full, and run this again" in complaints
    assert bots.start("bot.broadcast", "news", "It works.").wait(LIMIT_S) == 0
    assert told(bot_api, SOMEBODY)[1:] == ["It works."]


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        pytest.param({"STATE_DIR": "/proc/x"}, "STATE_DIR", id="a folder that cannot be made"),
        pytest.param({"STATE_DIR": "pyproject.toml"}, "STATE_DIR", id="a file for a folder"),
        pytest.param({"BOT_API_URL": "foo"}, "BOT_API_URL", id="no address"),
        pytest.param({"ALL_PROXY": "socks5://127.0.0.1:1"}, "HTTP_PROXY", id="a proxy that cannot be used"),
    ],
)
def test_an_environment_that_it_cannot_work_in_is_said_in_a_sentence_by_both_programs(
    bots, environment: dict[str, str], named: str
) -> None:
    bot, run = bots.start(**environment), bots.start("bot.broadcast", "news", "It works.", **environment)
    (error,) = said_by(bot)
    said, complaints = run.communicate(timeout=LIMIT_S)
    assert (bot.returncode, error["level"], "error" in error) == (1, 50, False)
    assert named in error["msg"]
    assert (run.returncode, said, len(complaints.splitlines())) == (1, "", 1)
    assert named in complaints


def test_settings_that_it_cannot_work_by_are_one_line_of_its_journal(project: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree.ROOT)}
    process = subprocess.run(
        [sys.executable, "-m", "bot"], cwd=project, env=environment, capture_output=True, text=True, timeout=LIMIT_S,
        check=False,
    )  # fmt: skip
    (line,) = map(json.loads, process.stdout.splitlines())
    assert (process.returncode, line["level"]) == (1, 50)
    assert "BOT_TOKEN" in line["msg"]


def test_its_own_tests_pass(project: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree.ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
