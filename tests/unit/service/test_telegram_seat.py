"""The bot beside the service: what of the service's facts goes into the operator's chat, by the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.event import LogEvent
from eventlog.events.dispatch import DispatchGaveUp, DispatchQueued
from eventlog.events.reply import ReplyAbandoned, ReplyRecorded
from eventlog.events.session import SessionFailed, SessionStarted
from eventlog.journal import Journal
from service.settings import Settings
from service.telegram.seat import TelegramSeat
from tests.fakes.bot_api.world import TOKEN

ITEM = "github:octo/repo#15"
FACTS: tuple[LogEvent, ...] = (
    SessionStarted(work_item=ITEM, harness="claude"),
    ReplyRecorded(work_item=ITEM, reply_id="r", kind="question", channel="thread"),
    SessionFailed(work_item=ITEM, will_retry=True),
    DispatchGaveUp(work_item=ITEM, event_key="github:comment-7", attempts=4),
    ReplyAbandoned(work_item=ITEM, reply_id="r", reason="gone"),
    DispatchQueued(work_item=ITEM),
)


def posted(folder: Path, **section: object) -> int:
    """How many of the facts wait for the chat; all of them are in the log."""
    settings = Settings(telegram={"enabled": True, "token": TOKEN, "chat": -100, **section})
    journal = Journal(folder / "events.jsonl", lambda: 0.0, "test")
    seat = TelegramSeat(settings, journal)
    seat.emit_all(FACTS)
    assert len((folder / "events.jsonl").read_text().splitlines()) == len(FACTS)
    return seat._channel.pending if seat._channel else 0


@pytest.mark.parametrize(
    ("section", "count"),
    [
        pytest.param({}, 5, id="all that needs a person"),
        pytest.param({"level": "warning"}, 4, id="no ordinary things"),
        pytest.param({"level": "error"}, 3, id="errors"),
        pytest.param({"level": "error", "levels": {"session_started": "error", "failed": "info"}}, 3, id="by kind"),
        pytest.param({"chat": None}, 0, id="no chat"),
    ],
)
def test_the_settings_say_what_is_told(tmp_path: Path, section: dict[str, object], count: int) -> None:
    assert posted(tmp_path, **section) == count
