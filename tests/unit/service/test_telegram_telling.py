"""What becomes of the bot, in the event log: each trouble once, until it is another or over."""

from __future__ import annotations

import pytest

from eventlog.event import Level, LogEvent
from eventlog.events.telegram import (
    TelegramEnded,
    TelegramHearing,
    TelegramPollFailed,
    TelegramPostDropped,
    TelegramReplyHeld,
    TelegramUpdateFailed,
    TelegramUpdatePassedOver,
)
from service.telegram.telling import Telling
from telegrambot.attempts import Abandoned, Failed
from telegrambot.endings import Cause, Ended
from telegrambot.failures import Evidence, Failure, Reason
from telegrambot.intake import AttemptFailed, GivenUp
from telegrambot.notices import Hearing, NothingMoved, PassedOver, Recovered, Retrying
from telegrambot.operator_notices import Dropped, DropReason
from telegrambot.replies import HandedOver, Reply
from telegrambot.updates import Update

FAILURE = Failure(method="getUpdates", reason=Reason.SERVER_ERROR, evidence=Evidence.STATUS, status=500)
OTHER = Failure(method="getUpdates", reason=Reason.NO_ANSWER, evidence=Evidence.TRANSPORT)
UPDATE = Update(update_id=10, kind="message", content={})
ERROR = ValueError("no good")


@pytest.fixture
def told() -> list[LogEvent]:
    return []


@pytest.fixture
def telling(told: list[LogEvent]) -> Telling:
    return Telling(told.append)


def test_a_trouble_is_told_once_until_another_one_comes_or_it_is_over(telling: Telling, told: list[LogEvent]) -> None:
    for notice in (
        Hearing(), Retrying(FAILURE, 1.0), Retrying(FAILURE, 2.0), Retrying(OTHER, 4.0), Recovered(7.0), Recovered(1.0),
        Retrying(FAILURE, 1.0),
    ):  # fmt: skip
        telling.polled(notice)
    assert told == [
        TelegramHearing(),
        TelegramPollFailed(reason="server-error", error=str(FAILURE), retry_in_s=1.0),
        TelegramPollFailed(reason="no-answer", error=str(OTHER), retry_in_s=4.0),
        TelegramHearing(),
        TelegramPollFailed(reason="server-error", error=str(FAILURE), retry_in_s=1.0),
    ]


def test_an_end_is_told_once_for_each_cause_and_again_after_the_bot_heard(
    telling: Telling, told: list[LogEvent]
) -> None:
    pauses = [telling.ended(Ended(cause=cause, failure=FAILURE)) for cause in (Cause.DEAF, Cause.DEAF, Cause.CONFLICT)]
    telling.polled(Hearing())
    telling.ended(Ended(cause=Cause.DEAF, failure=FAILURE))
    ends = [(event.cause, event.again_in_s) for event in told if isinstance(event, TelegramEnded)]
    assert (pauses, ends) == ([10.0, 10.0, 300.0], [("deaf", 10.0), ("conflict", 300.0), ("deaf", 10.0)])


@pytest.mark.parametrize(
    ("tell", "event", "level"),
    [
        pytest.param(
            lambda telling: telling.polled(PassedOver(11, "no chat")),
            TelegramUpdatePassedOver(update_id=11, reason="no chat"),
            Level.WARNING,
            id="an update that cannot be read",
        ),
        pytest.param(
            lambda telling: telling.polled(NothingMoved(5, 1.0)),
            TelegramPollFailed(reason="nothing-moved", retry_in_s=1.0),
            Level.WARNING,
            id="a batch that moves nothing",
        ),
        pytest.param(
            lambda telling: telling.taken_in(
                AttemptFailed(update=UPDATE, attempt=1, error=ERROR, then=Failed(why="", retry_in_s=5.0))
            ),
            TelegramUpdateFailed(update_id=10, attempt=1, will_retry=True, error=ERROR),
            Level.ERROR,
            id="a handler that fails",
        ),
        pytest.param(
            lambda telling: telling.taken_in(AttemptFailed(update=UPDATE, attempt=5, error=ERROR, then=Abandoned(""))),
            TelegramUpdateFailed(update_id=10, attempt=5, will_retry=False, error=ERROR),
            Level.ERROR,
            id="a handler that failed for good",
        ),
        pytest.param(
            lambda telling: telling.taken_in(GivenUp(UPDATE)),
            TelegramUpdateFailed(update_id=10, will_retry=False),
            Level.ERROR,
            id="an attempt that never ended",
        ),
        pytest.param(
            lambda telling: telling.held(HandedOver(reply=Reply(chat_id=5, text=""), not_before_s=60.04, failure=None)),
            TelegramReplyHeld(chat_id=5, retry_in_s=60.0),
            Level.WARNING,
            id="an answer that has to wait",
        ),
        pytest.param(
            lambda telling: telling.dropped(Dropped(text="a text", topic="failed", reason=DropReason.OVERFLOW)),
            TelegramPostDropped(reason="overflow", topic="failed"),
            Level.WARNING,
            id="a notice that is dropped",
        ),
    ],
)
def test_each_notice_has_its_event_and_level(telling: Telling, told: list[LogEvent], tell, event, level) -> None:
    tell(telling)
    assert (told, type(told[0]).level) == ([event], level)
