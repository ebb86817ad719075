"""`the-loop telegram broadcast`: what is wrong costs no recipient, is said in a sentence, and can be mended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bot_api import faults
from tests.fakes.bot_api.answers import bad_request
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
        pytest.param(["--text", "caf\udce9"], b"1\n", "the text is not UTF-8", id="an argument in another encoding"),
        pytest.param(["--text-file", "-"], b"1\n", "cannot both come from one place", id="one input for two"),
        pytest.param(["--text", "a", "--rate", "nan"], b"1\n", "not in the range", id="no rate"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(desk, arguments, to, said) -> None:
    latin = desk.folder / "latin.txt"
    latin.write_bytes(b"caf\xe9")
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
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=WAIT_S)
    assert (process.returncode, "ended at once" in said, "Traceback" in said) == (1, True, False)
