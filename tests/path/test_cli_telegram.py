"""`the-loop telegram check` and `whoami` against a stand-in Bot API: what is wrong is said with what to do, ids are found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bot_api import faults
from tests.fakes.bot_api.answers import Refusal
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.serve_process import ServeProcesses, end
from tests.fakes.telegram_desk import CHAT, OPERATOR, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with StandInBotApi() as bot_api:
        bot_api.pace(is_on=False)
        made = Desk(tmp_path, bot_api)
        made.settle()
        yield made


def test_a_bot_that_is_in_order_is_said_to_be_and_nothing_is_posted(desk) -> None:
    done = desk.run("check")
    assert (done.exit_code, [line.split()[0] for line in done.output.splitlines()]) == (0, ["ok", "ok", "ok"])
    assert desk.sent == []


def test_a_line_is_posted_where_that_is_asked_for(desk) -> None:
    assert desk.run("check", "--post").exit_code == 0
    assert desk.sent == [(CHAT, "the-loop tells you here what needs a person.")]


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


@pytest.mark.parametrize(
    ("address", "place"),
    [
        pytest.param(
            "https://user:word@elsewhere.example:8443/hook?key=s3cret", "elsewhere.example:8443", id="secrets"
        ),
        pytest.param("https://u:word@[::1]/hook", "[::1]", id="a number for a host"),
        pytest.param("https://[::1/s3cret", "an address of its own", id="no address"),
        pytest.param("https://else\x1bwhere.example", "else?where.example", id="what a terminal obeys"),
    ],
)
def test_of_a_webhook_only_the_host_and_port_are_shown(desk, address, place) -> None:
    desk.bot_api.arm("getWebhookInfo", faults.Result({"url": address}), None)
    done = desk.run("check")
    assert f"a webhook at {place}: delete it" in done.output
    assert "word" not in done.output
    assert "s3cret" not in done.output


@pytest.mark.parametrize("command", ["check", "whoami"])
def test_a_name_from_telegram_does_nothing_to_the_terminal(desk, command) -> None:
    desk.bot_api.arm("getMe", faults.Result({"username": "bot\nFAIL  \x1b[2Jall"}), None)
    assert "@bot FAIL ?[2Jall" in desk.run(command).output.replace(",", "")


def test_a_refusal_from_telegram_does_nothing_to_the_terminal(desk) -> None:
    desk.bot_api.arm("getChat", Refusal(status=400, description="Bad\nFAIL \x1b[2J"), None)
    output = desk.run("check").output
    assert ("Bad FAIL ?[2J" in output, "\x1b" in output) == (True, False)


def test_a_bot_that_is_not_to_run_is_said_not_to(desk) -> None:
    desk.settle(enabled="false")
    done = desk.run("check")
    assert done.exit_code == 0
    assert "WARN  telegram   the bot does not run beside the service: set telegram.enabled to true" in done.output


@pytest.mark.parametrize(
    ("mode", "warned"),
    [pytest.param(0o600, False, id="for its owner"), pytest.param(0o644, True, id="for everybody")],
)
def test_a_file_with_the_token_that_others_can_read_is_warned_of(desk, mode, warned) -> None:
    file = desk.folder / "telegram-token"
    file.write_text(desk.bot_api.token)
    file.chmod(mode)
    desk.settle(token="", token_file="'telegram-token'")
    done = desk.run("check")
    assert (done.exit_code, f"WARN  telegram   others can read {file}: chmod 600 it" in done.output) == (0, warned)


def test_a_file_that_is_not_read_is_not_looked_at(desk) -> None:
    desk.settle(token_file="'none'")
    assert desk.run("check").exit_code == 0


@pytest.mark.parametrize(("command", "code"), [("check", 1), ("whoami", 2)])
def test_a_proxy_that_cannot_be_used_is_said_in_a_sentence(desk, monkeypatch, command, code) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    done = desk.run(command)
    assert done.exit_code == code
    assert "(HTTP_PROXY, SSL_CERT_FILE and the like) cannot be used" in done.output


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
        desk.bot_api.wait_for(lambda: desk.sent != [], "the answer")
        polls_before = len(desk.bot_api.polls)
        done = desk.run("whoami", "--json")
        end(service)
    assert [seen["user_id"] for seen in json.loads(done.output)["people"]] == [OPERATOR]
    assert [
        poll.timeout_s for poll in desk.bot_api.polls[polls_before:] if poll.limit == 100 and not poll.timeout_s
    ] == []
