"""The bot answers what it is asked, keeps what has to wait, and does not start where it could not work."""

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot import broadcast
from bot.application import Bot
from bot.commands import Command
from bot.settings import Settings, SettingsWrong, read
from bot.store import Store, StoreUnusable
from service.clock import SystemClock
from service.lifecycle.shutdown import exit_code
from service.lifecycle.startup import StartFailed
from telegrambot.calls import Token
from telegrambot.replies import Reply
from tests.telegram import TOKEN, Telegram

OPERATOR = -100

Ends = Callable[..., str | int | None]
"""Runs `python -m bot.broadcast` with arguments, and tells what it ends with: a code, or a sentence that makes it 1."""


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


@pytest.fixture
def ends(telegram: Telegram, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Ends:
    monkeypatch.setenv("BOT_TOKEN", TOKEN)
    monkeypatch.setenv("BOT_API_URL", telegram.url)
    monkeypatch.setenv("BOT_API_FILES_ROOT", "/files")
    monkeypatch.setenv("STATE_DIR", str(settings.state))

    def ends(*arguments: str) -> str | int | None:
        monkeypatch.setattr(sys, "argv", ["bot.broadcast", *arguments])
        with pytest.raises(SystemExit) as ended:
            broadcast.run()
        return ended.value.code

    return ends


def subscribe(settings: Settings, *chat_ids: int) -> None:
    """These have said /start."""
    store = Store(settings.state)
    store.open()
    for chat_id in chat_ids:
        store.subscribe(chat_id)
    store.shut()


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


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


def test_an_update_that_cannot_be_handled_is_told_confirmed_and_holds_up_no_other(
    telegram: Telegram, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(chat_id: int) -> str:
        raise KeyError("no such thing")

    with running(settings) as bot:
        bot._commands.table["help"] = Command("Broken", broken)
        telegram.write("/help")
        telegram.write("/stop")
        sent = telegram.wait_for_sent(2)
    told = (OPERATOR, "An update could not be handled (KeyError): see the journal.")
    assert sorted(sent) == sorted([told, (5, "You get nothing more.")])
    assert telegram.confirmed() == 2
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "update 1 could not be handled"
    ]


def test_a_reply_that_would_hold_up_the_others_waits_on_disk(telegram: Telegram, settings: Settings) -> None:
    telegram.floods_s = 60
    with running(settings):
        telegram.write("/stop", chat_id=6)
        telegram.write("/stop", chat_id=7)
        assert telegram.wait_for_sent(1) == [(7, "You get nothing more.")]
    store = Store(settings.state)
    store.open()
    try:
        (waiting,) = store.due(time.time() + 60)
    finally:
        store.shut()
    assert waiting.reply == Reply(chat_id=6, text="You get nothing more.")


def test_a_reply_is_sent_when_its_time_has_come(telegram: Telegram, settings: Settings) -> None:
    store = Store(settings.state)
    store.open()
    store.put_by(Reply(chat_id=6, text="at last"), due_at=0)
    store.shut()
    with running(settings):
        assert telegram.wait_for_sent(1) == [(6, "at last")]


def test_a_broadcast_goes_once_to_all_who_said_start(telegram: Telegram, settings: Settings, ends: Ends) -> None:
    with running(settings):
        telegram.write("/start", chat_id=6)
        telegram.write("/start", chat_id=7)
        telegram.write("/stop", chat_id=6)
        telegram.wait_for_sent(3)
    assert [ends("news", "It works.") for _ in range(2)] == [0, 0]
    assert telegram.sent()[3:] == [(7, "It works.")]


def test_a_broadcast_to_nobody_is_refused_and_can_be_sent_by_that_name_later(
    telegram: Telegram, settings: Settings, ends: Ends
) -> None:
    subscribe(settings)
    assert "nobody" in str(ends("news", "It works."))
    subscribe(settings, 7)
    assert ends("news", "It works.") == 0
    assert telegram.sent() == [(7, "It works.")]


def test_a_broadcast_makes_no_store_where_the_bot_has_none(
    settings: Settings, ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIR", str(settings.state / "mistyped"))
    assert "has the bot ever run with this STATE_DIR?" in str(ends("news", "It works."))
    assert files_below(settings.state) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a" * 4097, "too long: 4097 of 4096 characters", id="too long"),
        pytest.param("\U0001f600" * 2049, "too long: 4098 of 4096 characters", id="too long in pairs"),
        pytest.param(" \n", "empty", id="empty"),
        pytest.param("\udcff", "not UTF-8", id="no text"),
    ],
)
def test_a_text_that_telegram_takes_from_nobody_is_refused_before_anything_is_kept(
    settings: Settings, ends: Ends, text: str, said: str
) -> None:
    subscribe(settings, 7)
    assert said in str(ends("news", text))
    assert files_below(settings.state) == [settings.state / "bot.db"]


def test_another_text_by_the_same_name_is_refused_unless_it_is_forced(
    telegram: Telegram, settings: Settings, ends: Ends
) -> None:
    subscribe(settings, 7)
    telegram.refuses = "Bad Request: message is too long"
    assert ends("news", "It woks.") == 1
    telegram.refuses = ""
    assert "--force" in str(ends("news", "It works."))
    assert ends("news", "It works.", "--force") == 0
    assert telegram.sent() == [(7, "It works.")]


def test_a_broadcast_that_cannot_write_its_files_says_what_to_do(settings: Settings, ends: Ends) -> None:
    subscribe(settings, 7)
    (settings.state / "broadcasts").write_text("")
    assert "make room if the disk is full, and run this again" in str(ends("news", "It works."))


def test_what_is_kept_is_for_its_owner_alone_in_a_folder_that_is_open(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    usual = os.umask(0)
    try:
        Store(tmp_path / "state").open()
    finally:
        os.umask(usual)
    assert stat.S_IMODE((tmp_path / "state" / "bot.db").stat().st_mode) == 0o600


def _file_for_a_folder(state: Path) -> None:
    state.write_text("")


def _corrupt_store(state: Path) -> None:
    state.mkdir()
    (state / "bot.db").write_text("no database " * 100)


@pytest.mark.parametrize("spoil", [_file_for_a_folder, _corrupt_store])
def test_a_store_that_cannot_be_used_is_a_sentence_that_names_state_dir(
    settings: Settings, ends: Ends, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    state = settings.state / "spoiled"
    spoil(state)
    with pytest.raises(StoreUnusable, match="STATE_DIR"):
        Store(state).open()
    monkeypatch.setenv("STATE_DIR", str(state))
    assert "STATE_DIR" in str(ends("news", "It works."))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        pytest.param({}, "BOT_TOKEN", id="no token"),
        *(
            pytest.param({"BOT_TOKEN": TOKEN, "OPERATOR_CHAT": chat}, "OPERATOR_CHAT", id=f"the chat {chat!a}")
            for chat in ("me", "0", "-0", "1_0", "+5", "\u0663", "1" * 17)
        ),
        *(
            pytest.param(
                {"BOT_TOKEN": TOKEN, "BOT_API_URL": url}, "BOT_API_URL must be http", id=f"the address {url!a}"
            )
            for url in (
                "foo",
                "ftp://a",
                "http://",
                "http://a:0",
                "http://a:65536",
                "http://a:b",
                "http://[a",
                "http://a/?b",
                "http://a b",
                "http://a\\b",
                "http://a..b",
            )
        ),
        pytest.param({"BOT_TOKEN": TOKEN, "BOT_API_URL": "http://localhost"}, "BOT_API_FILES_ROOT", id="no files"),
        pytest.param({"BOT_TOKEN": TOKEN, "BOT_API_FILES_ROOT": "files"}, "start with /", id="files somewhere"),
    ],
)
def test_what_is_wrong_with_the_settings_is_said(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsWrong, match=said):
        read(environment)


@pytest.mark.parametrize("address", ["http://localhost:8081", "https://a.example/bots", "http://[::1]:80"])
def test_a_server_of_ones_own_is_taken_with_or_without_a_slash_behind_it(address: str) -> None:
    files = {"BOT_TOKEN": TOKEN, "BOT_API_FILES_ROOT": "/files"}
    assert [read({**files, "BOT_API_URL": address + end}).api_url for end in ("", "/")] == [address] * 2
