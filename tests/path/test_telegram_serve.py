"""The bot beside a real `serve`: who is answered and who is told, over crashes and with Telegram out of order."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli.main import the_loop
from tests.fakes.bot_api.answers import Refusal, conflict
from tests.fakes.bot_api.faults import Fault, Hang, Slow
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.serve_process import ServeProcesses, end
from tests.fakes.session_hosts import WAIT_S, wait_until

OPERATOR, STRANGER, CHAT = 7, 8, -100
QUIET = "[webhook]\nenabled = false\n"
NO_PROXY_LIBRARY = "socks5://127.0.0.1:1"
"""A proxy of a kind that httpx knows, and needs a package for which we do not ask."""


@pytest.fixture
def bot_api() -> Iterator[StandInBotApi]:
    with StandInBotApi() as served:
        served.pace(is_on=False)
        yield served


@pytest.fixture
def services(tmp_path: Path) -> Iterator[ServeProcesses]:
    with ServeProcesses(tmp_path) as made:
        yield made


def settings(bot_api: StandInBotApi, more: str = "") -> str:
    return (
        f'{QUIET}[telegram]\nenabled = true\ntoken = "{bot_api.token}"\napi_url = "{bot_api.root_url}"\n'
        f"operators = [{OPERATOR}]\nchat = {CHAT}\n{more}"
    )


def texts(bot_api: StandInBotApi, chat_id: int) -> list[str]:
    return [send.text for send in bot_api.sends if send.chat_id == chat_id]


def log_of(services: ServeProcesses, event: str) -> list[dict]:
    lines = (services.state / "logs" / "events.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["event"] == event]


def status_of(services: ServeProcesses, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What `the-loop status` says of the bot."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(services.folder))
    arguments = ["status", "--json", "--config", str(services.folder / "the-loop.toml")]
    return json.loads(CliRunner().invoke(the_loop, arguments).stdout)["service"]["telegram"]


def wait_for_sends(bot_api: StandInBotApi, chat_id: int, count: int = 1) -> None:
    bot_api.wait_for(lambda: len(texts(bot_api, chat_id)) >= count, f"{count} messages in {chat_id}")


def test_an_operator_is_answered_where_they_ask_and_a_stranger_is_not(services, bot_api) -> None:
    service = services.start(settings(bot_api))
    bot_api.push_text("/status", chat_id=STRANGER, sender_id=STRANGER)
    bot_api.push_text("hello", chat_id=OPERATOR, sender_id=OPERATOR)
    bot_api.push_text("/whoami", chat_id=OPERATOR, sender_id=OPERATOR)
    bot_api.push_text("/status@somebody_elses_bot", chat_id=OPERATOR, sender_id=OPERATOR)
    bot_api.push_text("/status", chat_id=OPERATOR, sender_id=OPERATOR)
    wait_for_sends(bot_api, OPERATOR, 2)
    end(service)
    whoami, status = texts(bot_api, OPERATOR)
    assert whoami == f"You are {OPERATOR}, and this chat is {OPERATOR}."
    assert status.splitlines()[0] == f"state      {services.state}"
    assert "telegram   the bot hears" in status.splitlines()
    assert texts(bot_api, STRANGER) == []
    assert [(line["update_id"], line["reason"]) for line in log_of(services, "telegram.update_ignored")] == [
        (10, "not-an-operator"),
        (11, "no-command"),
        (13, "no-command"),
    ]


def test_a_service_that_is_killed_before_it_confirms_a_batch_loses_none_and_answers_none_twice(
    services, bot_api
) -> None:
    ids = [bot_api.push_text(text, chat_id=OPERATOR, sender_id=OPERATOR) for text in ("/whoami", "/status", "/help")]
    for method, answered in (("getUpdates", 1), ("sendMessage", 2)):
        bot_api.arm(method, Slow(), times=answered)
        bot_api.arm(method, Hang(), times=None)
    service = services.start(settings(bot_api))
    bot_api.wait_for_calls("getUpdates", 1)
    bot_api.release()
    bot_api.wait_for_calls("sendMessage", 1)
    bot_api.release()
    bot_api.wait_for_calls("sendMessage", 2)
    bot_api.release()
    # Those of one chat are handled in turn: when the last one is, those before it have ended.
    bot_api.wait_for_calls("sendMessage", 3)
    service.send_signal(signal.SIGKILL)
    service.communicate(timeout=WAIT_S)
    confirmed_before = bot_api.confirmed_ids
    bot_api.lift()
    second = services.start(settings(bot_api))
    last = bot_api.push_text("/whoami", chat_id=OPERATOR, sender_id=OPERATOR)
    wait_for_sends(bot_api, OPERATOR, 4)
    end(second)
    bot_api.wait_for(lambda: bot_api.confirmed_ids == [*ids, last], "the confirmation")
    assert confirmed_before == []
    assert [text.split()[0] for text in texts(bot_api, OPERATOR)] == ["You", "state", "/status", "You"]


def test_a_service_that_is_killed_in_a_handler_answers_as_soon_as_it_is_started_again(services, bot_api) -> None:
    bot_api.arm("sendMessage", Hang())
    service = services.start(settings(bot_api))
    bot_api.push_text("/whoami", chat_id=OPERATOR, sender_id=OPERATOR)
    bot_api.wait_for_calls("sendMessage", 1)
    service.send_signal(signal.SIGKILL)
    service.communicate(timeout=WAIT_S)
    bot_api.lift()
    second = services.start(settings(bot_api))
    wait_for_sends(bot_api, OPERATOR)
    end(second)
    assert len(texts(bot_api, OPERATOR)) == 1


@pytest.mark.parametrize(
    ("trouble", "cause"),
    [
        pytest.param(Refusal(status=401, description="Unauthorized"), "unauthorized", id="the token is revoked"),
        pytest.param(conflict("can't use getUpdates method while webhook is active"), "webhook", id="a webhook is set"),
    ],
)
def test_the_service_goes_on_while_telegram_is_out_of_order_and_says_so_once(
    services, bot_api, monkeypatch, trouble: Fault, cause: str
) -> None:
    bot_api.arm("getUpdates", trouble, times=None)
    service = services.start(settings(bot_api))
    wait_until(lambda: "begun anew" in str(status_of(services, monkeypatch)))
    said = status_of(services, monkeypatch)
    end(service)
    assert len(log_of(services, "telegram.ended")) == 1
    again_in = r"and is begun anew in \d+ s: `the-loop telegram check` tells more"
    assert re.fullmatch(rf"the bot hears nothing: polling has ended \({cause}\), {again_in}", str(said)), said


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param("ALL_PROXY", NO_PROXY_LIBRARY, id="a proxy"),
        pytest.param("SSL_CERT_FILE", "/no/such/file", id="certificates"),
    ],
)
def test_an_environment_that_cannot_be_used_keeps_the_bot_from_running_and_nothing_else(
    services, bot_api, monkeypatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    service = services.start(settings(bot_api))
    said = status_of(services, monkeypatch)
    warnings = end(service)
    (logged,) = log_of(services, "telegram.ended")
    assert f"warning: {said}\n" in warnings
    assert "Traceback" not in warnings
    assert str(said).startswith("the Telegram bot does not run: the proxy or the certificates ")
    assert (logged["cause"], logged["error"] in str(said)) == ("environment", True)
    assert bot_api.calls == []


def test_a_notice_is_posted_with_the_address_that_it_is_about(services, bot_api) -> None:
    polled = "[polling]\nenabled = true\n[[repositories]]\nname = 'octo/repo'\n"
    bot_api.chat(CHAT).open_topic(44)
    service = services.start(settings(bot_api, f"topics = {{coverage_stopped = 44}}\n{polled}"))
    wait_for_sends(bot_api, CHAT)
    end(service)
    (post,) = [send for send in bot_api.sends if send.chat_id == CHAT]
    assert post.text.startswith("https://github.com/octo/repo cannot be read")
    assert post.thread_id == 44


def test_a_chat_that_cannot_be_reached_holds_nothing_up(services, bot_api) -> None:
    bot_api.chat(CHAT).refuses(Refusal(status=400, description="Bad Request: chat not found"), None)
    polled = "[polling]\nenabled = true\n[[repositories]]\nname = 'octo/repo'\n"
    service = services.start(settings(bot_api, polled))
    bot_api.wait_for(
        lambda: any(call.values["chat_id"] == CHAT for call in bot_api.calls_of("sendMessage")), "a notice"
    )
    bot_api.push_text("/whoami", chat_id=OPERATOR, sender_id=OPERATOR)
    wait_for_sends(bot_api, OPERATOR)
    end(service)
    assert [line["reason"] for line in log_of(services, "telegram.post_dropped")] == ["refused"]
    assert [line["event"] for line in log_of(services, "service.ready")] == ["service.ready"]


def test_no_line_of_the_service_shows_the_token(services, bot_api) -> None:
    bot_api.revoke()
    service = services.start(settings(bot_api))
    bot_api.wait_for_calls("getUpdates", 1)
    said = end(service)
    log = (services.state / "logs" / "events.jsonl").read_text()
    assert bot_api.token.partition(":")[2] not in said + log
