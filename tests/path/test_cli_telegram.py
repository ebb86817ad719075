"""`the-loop telegram` against a stand-in Bot API: what is wrong is said with what to do, ids are found, many are told once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli.main import the_loop
from sessions.seat.protocol import TOKEN_VARIABLE
from tests.fakes.bot_api import faults
from tests.fakes.bot_api.answers import BLOCKED_BY_USER, Refusal
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.serve_process import ServeProcesses, end
from tests.fakes.session_hosts import WAIT_S
from tests.tidy import tree

OPERATOR, CHAT = 7, -100


@dataclass(frozen=True, slots=True)
class Desk:
    """Settings beside a stand-in Bot API, and the command line."""

    folder: Path
    bot_api: StandInBotApi

    @property
    def config(self) -> Path:
        return self.folder / "the-loop.toml"

    def settle(self, **changes: str) -> None:
        """Write settings in which all is well, but for the changes."""
        settings = {
            "enabled": "true",
            "token": f"'{self.bot_api.token}'",
            "api_url": f"'{self.bot_api.root_url}'",
            "operators": f"[{OPERATOR}]",
            "chat": str(CHAT),
        } | changes
        section = "\n".join(f"{key} = {value}" for key, value in settings.items() if value)
        self.config.write_text(f"state_folder = '{self.folder / 'state'}'\n[telegram]\n{section}\n")

    def run(self, *arguments: str, given: str | None = None) -> Result:
        return CliRunner().invoke(the_loop, ["telegram", *arguments, "--config", str(self.config)], input=given)

    def broadcast(self, *arguments: str, to: str = "1\n2\n3\n") -> Result:
        return self.run("broadcast", "--name", "news", "--to", "-", "--rate", "30", *arguments, given=to)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with StandInBotApi() as bot_api:
        bot_api.pace(is_on=False)
        made = Desk(tmp_path, bot_api)
        made.settle()
        yield made


def sent(desk: Desk) -> list[tuple[int | str, str]]:
    return [(send.chat_id, send.text) for send in desk.bot_api.sends]


def test_a_bot_that_is_in_order_is_said_to_be_and_nothing_is_posted(desk) -> None:
    done = desk.run("check")
    assert (done.exit_code, [line.split()[0] for line in done.output.splitlines()]) == (0, ["ok", "ok", "ok"])
    assert sent(desk) == []


def test_a_line_is_posted_where_that_is_asked_for(desk) -> None:
    assert desk.run("check", "--post").exit_code == 0
    assert sent(desk) == [(CHAT, "the-loop tells you here what needs a person.")]


@pytest.mark.parametrize(
    ("changes", "method", "fault", "said"),
    [
        pytest.param({"token": ""}, "", None, "set telegram.token_file", id="no token"),
        pytest.param({"token": "'123:abc'"}, "", None, "@BotFather gives one", id="no token's form"),
        pytest.param(
            {}, "getMe", Refusal(status=401, description="Unauthorized"), "ask @BotFather for a new one", id="revoked"
        ),
        pytest.param({"api_url": "'http://127.0.0.1:1'"}, "", None, "cannot be reached", id="no network"),
        pytest.param(
            {},
            "getChat",
            Refusal(status=400, description="Bad Request: chat not found"),
            "write to it there",
            id="an unknown chat",
        ),
        pytest.param({"operators": "[]"}, "", None, "answers nobody: set telegram.operators", id="nobody may ask"),
        pytest.param({"chat": ""}, "", None, "nobody is told what happens: set telegram.chat", id="nobody is told"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(desk, changes, method, fault, said) -> None:
    desk.settle(**changes)
    if fault is not None:
        desk.bot_api.arm(method, fault, None)
    done = desk.run("check")
    assert said in done.output
    assert done.exit_code == (0 if said.startswith(("answers nobody", "nobody is told")) else 1)
    assert desk.bot_api.token.partition(":")[2] not in done.output


def test_a_webhook_that_takes_the_updates_away_is_named(desk) -> None:
    desk.bot_api.arm("getWebhookInfo", faults.Result({"url": "https://elsewhere.example/hook"}), None)
    done = desk.run("check", "--json")
    (failed,) = [finding["said"] for finding in json.loads(done.output) if finding["verdict"] == "fail"]
    assert "a webhook at elsewhere.example: delete it" in failed


def test_who_wrote_is_shown_with_the_ids_and_still_comes(desk) -> None:
    desk.bot_api.push_text("hello", chat_id=OPERATOR, sender_id=OPERATOR)
    desk.bot_api.push_text("/start", chat_id=CHAT, sender_id=OPERATOR)
    done = desk.run("whoami")
    assert done.output.splitlines()[1:] == [
        f"account {OPERATOR} (User {OPERATOR}) in chat {CHAT} (Group {CHAT})",
        f"account {OPERATOR} (User {OPERATOR}) in private",
    ]
    assert desk.bot_api.unconfirmed_ids == [10, 11]


def test_beside_a_running_service_who_wrote_is_read_from_its_store(desk) -> None:
    with ServeProcesses(desk.folder) as services:
        service = services.start(f"[webhook]\nenabled = false\n{desk.config.read_text().partition(chr(10))[2]}")
        desk.bot_api.push_text("/whoami", chat_id=OPERATOR, sender_id=OPERATOR)
        desk.bot_api.wait_for(lambda: sent(desk) != [], "the answer")
        polls_before = len(desk.bot_api.polls)
        done = desk.run("whoami", "--json")
        end(service)
    assert [seen["user_id"] for seen in json.loads(done.output)["people"]] == [OPERATOR]
    assert [
        poll.timeout_s for poll in desk.bot_api.polls[polls_before:] if poll.limit == 100 and not poll.timeout_s
    ] == []


def test_a_broadcast_writes_to_everybody_once_however_often_it_is_run(desk) -> None:
    first = desk.broadcast("--text", "hello")
    again = desk.broadcast("--text", "hello", to="1\n2\n3\n4\n")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert sent(desk) == [(1, "hello"), (2, "hello"), (3, "hello")]
    assert "news finished: 3 of 3 delivered" in again.output


def test_a_broadcast_that_is_only_tried_sends_and_writes_nothing(desk) -> None:
    done = desk.broadcast("--text", "hello", "--dry-run", "--json")
    assert (done.exit_code, json.loads(done.output)["pending"], sent(desk)) == (0, 3, [])
    assert not (desk.folder / "state" / "broadcasts").exists()


def test_a_broadcast_leaves_out_who_cannot_be_reached_and_says_so(desk) -> None:
    desk.bot_api.chat(2).refuses(BLOCKED_BY_USER, None)
    done = desk.broadcast("--text", "hello", "--json")
    report = json.loads(done.output[done.output.index("{") :])
    assert (report["delivered"], report["unreachable"], done.exit_code) == (2, 1, 0)


def test_a_broadcast_halts_at_a_message_that_telegram_does_not_take_and_charges_nobody(desk) -> None:
    desk.bot_api.arm("sendMessage", Refusal(status=400, description="Bad Request: can't parse entities"))
    halted = desk.broadcast("--text", "hello")
    changed = desk.broadcast("--text", "hello!")
    forced = desk.broadcast("--text", "hello!", "--force")
    assert (halted.exit_code, "halted" in halted.output, "run it again with --force" in halted.output) == (
        1,
        True,
        True,
    )
    assert (changed.exit_code, "go on with --force" in changed.output) == (2, True)
    assert (forced.exit_code, sent(desk)) == (0, [(chat, "hello!") for chat in (1, 2, 3)])


@pytest.mark.parametrize(
    ("arguments", "to", "said"),
    [
        pytest.param(["--text", "hello"], "1\nnobody\n", "line 2 of the recipients is neither", id="a recipient"),
        pytest.param([], "1\n", "say what to send, once", id="nothing to send"),
        pytest.param(["--text", "a", "--copy", "-5/7"], "1\n", "say what to send, once", id="two things to send"),
        pytest.param(["--copy", "here"], "1\n", "write --copy CHAT/MESSAGE", id="no message"),
        pytest.param(["--text", "  "], "1\n", "the text is empty", id="no text"),
        pytest.param(["--text", "x" * 4097], "1\n", "4097 of 4096", id="too long"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(desk, arguments, to, said) -> None:
    done = desk.broadcast(*arguments, to=to)
    assert (done.exit_code, sent(desk)) == (2, [])
    assert said in done.output


def test_an_agent_may_write_to_nobody(desk, monkeypatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "an agent's")
    done = desk.broadcast("--text", "hello")
    assert (done.exit_code, sent(desk)) == (2, [])


def test_a_message_is_copied_to_everybody(desk) -> None:
    desk.bot_api.chat(CHAT).holds(7, "the original")
    done = desk.broadcast("--copy", f"{CHAT}/7", to="1\n@channel_of_ours # a channel\n\n")
    assert done.exit_code == 0
    assert [(call.values["chat_id"], call.values["message_id"]) for call in desk.bot_api.calls_of("copyMessage")] == [
        (1, 7),
        ("@channel_of_ours", 7),
    ]


def test_ctrl_c_ends_a_broadcast_after_the_send_that_is_under_way(desk) -> None:
    desk.bot_api.arm("sendMessage", faults.Hang(), times=1)
    (desk.folder / "people").write_text("1\n2\n")
    arguments = ["broadcast", "--name", "news", "--to", str(desk.folder / "people"), "--text", "hello"]
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli.main", "telegram", *arguments, "--config", str(desk.config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tree.ROOT,
        env=os.environ | {"XDG_RUNTIME_DIR": str(desk.folder)},
    )
    desk.bot_api.wait_for_calls("sendMessage", 1)
    process.send_signal(signal.SIGINT)
    desk.bot_api.release()
    said, _ = process.communicate(timeout=WAIT_S)
    assert (process.returncode, "1 uncertain, 1 left" in said) == (1, True)
