"""The bot answers what it is asked, keeps what has to wait, and does not start where it could not work."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.application import Bot
from bot.broadcast import send
from bot.settings import Settings, SettingsWrong, read
from bot.store import Store
from service.clock import SystemClock
from service.lifecycle.shutdown import exit_code
from service.lifecycle.startup import StartFailed
from telegrambot.calls import Token
from telegrambot.replies import Reply
from tests.telegram import TOKEN, Telegram

OPERATOR = -100


@pytest.fixture
def telegram() -> Iterator[Telegram]:
    with Telegram() as server:
        yield server


@pytest.fixture
def settings(telegram: Telegram, tmp_path: Path) -> Settings:
    return Settings(token=Token(TOKEN), state=tmp_path, api_url=telegram.url, operator_chat=OPERATOR)


@contextmanager
def running(settings: Settings) -> Iterator[Bot]:
    """The bot, from its start to a clean end."""
    bot = Bot(settings, SystemClock())
    bot.application.start()
    try:
        yield bot
    finally:
        assert exit_code(bot.application.begin_shutdown().result(timeout=30)) == 0


def test_a_command_is_answered_and_anything_else_is_not(telegram: Telegram, settings: Settings) -> None:
    with running(settings):
        telegram.write("hello")
        telegram.write("/help@another_bot")
        telegram.write("/STOP@our_bot")
        assert telegram.wait_for_sent(1) == [(5, "You get nothing more.")]
    assert telegram.confirmed() == 3


def test_the_menu_is_told_before_the_first_update_is_asked_for(telegram: Telegram, settings: Settings) -> None:
    telegram.write("/help")
    with running(settings):
        telegram.wait_for_sent(1)
    methods = [method for method, _ in telegram.calls]
    assert methods.index("setMyCommands") < methods.index("getUpdates")


def test_a_webhook_that_is_set_is_why_the_bot_does_not_start(telegram: Telegram, settings: Settings) -> None:
    telegram.webhook = "https://elsewhere.example/hook"
    with pytest.raises(StartFailed) as raised:
        Bot(settings, SystemClock()).application.start()
    assert "elsewhere.example" in str(raised.value.__cause__)


def test_the_operator_can_have_the_bot_begin_anew_and_the_request_does_not_come_again(
    telegram: Telegram, settings: Settings
) -> None:
    with running(settings) as bot:
        telegram.write("/restart", chat_id=OPERATOR)
        assert bot.application.wait_until_stopped(10) is not None
    assert telegram.sent() == [(OPERATOR, "Back in a moment.")]
    assert telegram.confirmed() == 1


def test_nobody_else_can(telegram: Telegram, settings: Settings) -> None:
    with running(settings) as bot:
        telegram.write("/restart")
        assert telegram.wait_for_sent(1) == [(5, "That is for the operator.")]
        assert bot.application.admission.accepting


def test_a_reply_that_would_hold_up_the_others_waits_on_disk(telegram: Telegram, settings: Settings) -> None:
    telegram.floods_s = 60
    with running(settings):
        telegram.write("/stop", chat_id=6)
        telegram.write("/stop", chat_id=7)
        assert telegram.wait_for_sent(1) == [(7, "You get nothing more.")]
    store = Store(settings.state / "bot.db")
    store.open()
    try:
        (waiting,) = store.due(time.time() + 60)
    finally:
        store.shut()
    assert waiting.reply == Reply(chat_id=6, text="You get nothing more.")


def test_a_reply_is_sent_when_its_time_has_come(telegram: Telegram, settings: Settings) -> None:
    store = Store(settings.state / "bot.db")
    store.open()
    store.put_by(Reply(chat_id=6, text="at last"), due_at=0)
    store.shut()
    with running(settings):
        assert telegram.wait_for_sent(1) == [(6, "at last")]


def test_a_broadcast_goes_once_to_all_who_said_start(telegram: Telegram, settings: Settings) -> None:
    with running(settings):
        telegram.write("/start", chat_id=6)
        telegram.write("/start", chat_id=7)
        telegram.write("/stop", chat_id=6)
        telegram.wait_for_sent(3)
    for _ in range(2):
        asyncio.run(send(settings, "news", "It works."))
    assert telegram.sent()[3:] == [(7, "It works.")]


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        pytest.param({}, "BOT_TOKEN", id="no token"),
        pytest.param({"BOT_TOKEN": TOKEN, "OPERATOR_CHAT": "me"}, "OPERATOR_CHAT", id="a chat without a number"),
        pytest.param({"BOT_TOKEN": TOKEN, "BOT_API_URL": "http://localhost"}, "BOT_API_FILES_ROOT", id="no files"),
        pytest.param({"BOT_TOKEN": TOKEN, "BOT_API_FILES_ROOT": "files"}, "start with /", id="files somewhere"),
    ],
)
def test_what_is_wrong_with_the_settings_is_said(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsWrong, match=said):
        read(environment)
