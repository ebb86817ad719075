"""`the-loop telegram broadcast`: everybody once, and what is wrong costs no recipient, is said, and can be mended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.seat.protocol import TOKEN_VARIABLE
from tests.fakes.bot_api import faults
from tests.fakes.bot_api.answers import BLOCKED_BY_USER, Refusal, bad_request
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.session_hosts import WAIT_S
from tests.fakes.telegram_desk import CHAT, Desk
from tests.tidy import tree


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with StandInBotApi() as bot_api:
        made = Desk(tmp_path, bot_api)
        made.settle()
        yield made


def started(desk: Desk) -> subprocess.Popen[str]:
    """A broadcast to two people as a process of its own."""
    (desk.folder / "people").write_text("1\n2\n")
    arguments = ["broadcast", "--name", "news", "--to", str(desk.folder / "people"), "--text", "hello"]
    return subprocess.Popen(
        [sys.executable, "-m", "service.cli.main", "telegram", *arguments, "--config", str(desk.config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tree.ROOT,
        env=os.environ | {"XDG_RUNTIME_DIR": str(desk.folder)},
    )


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(bad_request("something that nobody has heard of"), id="a refusal that nobody knows"),
        pytest.param(faults.NotJson(status=407), id="a proxy that wants a login"),
        pytest.param(faults.NotJson(status=301), id="an address that has moved"),
    ],
)
def test_what_is_not_the_recipients_fault_halts_and_costs_nobody(desk, fault) -> None:
    desk.bot_api.arm("sendMessage", fault, times=None)
    halted = desk.broadcast("--text", "hello")
    desk.bot_api.lift()
    assert (halted.exit_code, "3 left" in halted.output) == (1, True)
    assert desk.broadcast("--text", "hello").exit_code == 0
    assert desk.sent == [(1, "hello"), (2, "hello"), (3, "hello")]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
def test_where_nothing_left_nobody_is_charged(desk, url, monkeypatch) -> None:
    async def at_once(clock: object, seconds: float) -> None:
        return

    monkeypatch.setattr("telegrambot.clock.SystemClock.sleep", at_once)
    desk.settle(api_url=f"'{url}'")
    assert "3 left" in desk.broadcast("--text", "hello").output
    desk.settle()
    assert desk.broadcast("--text", "hello").exit_code == 0


def test_a_chat_to_copy_from_that_is_not_there_costs_nobody(desk) -> None:
    desk.bot_api.arm("getChat", bad_request("chat not found"))
    refused = desk.broadcast("--copy", f"{CHAT}/7")
    assert (refused.exit_code, f"the chat {CHAT} that is to be copied from" in refused.output) == (2, True)
    assert desk.bot_api.calls_of("copyMessage") == []


def test_a_message_to_copy_that_is_not_there_costs_nobody(desk) -> None:
    halted = desk.broadcast("--copy", f"{CHAT}/77")
    assert (halted.exit_code, "3 left" in halted.output, "--force" in halted.output) == (1, True, True)


@pytest.mark.parametrize("nobody", ["", "\n# nobody yet\n"], ids=["nothing", "only words"])
def test_nobody_to_write_to_is_said_and_the_name_stays_free(desk, nobody) -> None:
    refused = desk.broadcast("--text", "hello", to=nobody)
    assert (refused.exit_code, "there is nobody to write to" in refused.output) == (2, True)
    assert desk.broadcast("--text", "hello").exit_code == 0


def test_a_mark_in_front_of_a_file_is_no_part_of_it(desk) -> None:
    text = desk.folder / "news.txt"
    text.write_bytes(b"\xef\xbb\xbfhello\r\n")
    done = desk.broadcast("--text-file", str(text), to=b"\xef\xbb\xbf1\r\n2\r\n")
    assert (done.exit_code, desk.sent) == (0, [(1, "hello"), (2, "hello")])


@pytest.mark.parametrize(
    ("arguments", "to", "said"),
    [
        pytest.param(["--text-file", "{latin}"], b"1\n", "latin.txt is not UTF-8", id="a text in another encoding"),
        pytest.param(["--text", "hello"], b"\xff\n", "is not UTF-8", id="recipients in another encoding"),
        pytest.param(["--text", "f\udcfcr"], b"1\n", "the text is not UTF-8", id="an argument in another encoding"),
        pytest.param(["--text-file", "-"], b"1\n", "cannot both come from one place", id="one input for two"),
        pytest.param(["--text", "a", "--rate", "nan"], b"1\n", "not in the range", id="no rate"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(desk, arguments, to, said) -> None:
    latin = desk.folder / "latin.txt"
    latin.write_bytes(b"f\xfcr")
    done = desk.broadcast(*(argument.format(latin=latin) for argument in arguments), to=to)
    assert (done.exit_code, desk.sent) == (2, [])
    assert said in done.output


def test_a_place_that_cannot_be_written_is_said_with_what_to_do(desk) -> None:
    (desk.folder / "state").mkdir()
    (desk.folder / "state" / "broadcasts").write_text("a file")
    done = desk.broadcast("--text", "hello")
    assert (done.exit_code, desk.sent) == (1, [])
    assert "mend that and run it again" in done.output
    assert "report it" not in done.output


def test_a_second_signal_does_not_wait_for_the_send_that_is_under_way(desk) -> None:
    desk.bot_api.arm("sendMessage", faults.Hang(), times=None)
    process = started(desk)
    desk.bot_api.wait_for_calls("sendMessage", 1)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=WAIT_S)
    assert (process.returncode, "ended at once" in said, "Traceback" in said) == (1, True, False)


def test_a_broadcast_writes_to_everybody_once_however_often_it_is_run(desk) -> None:
    first = desk.broadcast("--text", "hello")
    again = desk.broadcast("--text", "hello", to="1\n2\n3\n4\n")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert desk.sent == [(1, "hello"), (2, "hello"), (3, "hello")]
    assert "news finished: 3 of 3 delivered" in again.output


def test_a_broadcast_that_is_only_tried_sends_and_writes_nothing(desk) -> None:
    done = desk.broadcast("--text", "hello", "--dry-run", "--json")
    assert (done.exit_code, json.loads(done.output)["pending"], desk.sent) == (0, 3, [])
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
    assert (forced.exit_code, desk.sent) == (0, [(chat, "hello!") for chat in (1, 2, 3)])


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
    assert (done.exit_code, desk.sent) == (2, [])
    assert said in done.output


def test_an_agent_may_write_to_nobody(desk, monkeypatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "an agent's")
    done = desk.broadcast("--text", "hello")
    assert (done.exit_code, desk.sent) == (2, [])


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
    process = started(desk)
    desk.bot_api.wait_for_calls("sendMessage", 1)
    process.send_signal(signal.SIGINT)
    desk.bot_api.release()
    said, _ = process.communicate(timeout=WAIT_S)
    assert (process.returncode, "1 uncertain, 1 left" in said) == (1, True)
