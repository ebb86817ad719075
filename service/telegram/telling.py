"""What becomes of the bot, in the event log: each trouble once, until it is another or over."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import assert_never

from eventlog.event import LogEvent
from eventlog.events.telegram import (
    TelegramEnded,
    TelegramHearing,
    TelegramPollFailed,
    TelegramPostDropped,
    TelegramReplyHeld,
    TelegramUpdateFailed,
    TelegramUpdatePassedOver,
)
from telegrambot.attempts import Failed
from telegrambot.endings import Cause, Ended
from telegrambot.intake import AttemptFailed, ClaimLost, GivenUp, IntakeNotice, StoreFailed
from telegrambot.notices import (
    HandlingFailed,
    Hearing,
    NotConfirmed,
    NothingMoved,
    Notice,
    PassedOver,
    Recovered,
    Retrying,
)
from telegrambot.operator_notices import Dropped
from telegrambot.replies import HandedOver

AGAIN_S = {
    Cause.DEAF: 10.0,
    Cause.FAULT: 60.0,
    Cause.CONFLICT: 300.0,
    Cause.UNAUTHORIZED: 600.0,
    Cause.WEBHOOK: 600.0,
}
"""When polling is begun anew: what only a person can mend is looked at less often."""

log = logging.getLogger(__name__)


class Telling:
    """Emits what the parts of the bot report. On the event loop of the bot, but for `dropped`, which is for any thread."""

    def __init__(self, emit: Callable[[LogEvent], None]) -> None:
        self._emit = emit
        self._said: set[str] = set()

    def polled(self, notice: Notice) -> None:
        """What happens while updates are asked for."""
        match notice:
            case Hearing() | Recovered():
                if self._said or isinstance(notice, Hearing):
                    self._emit(TelegramHearing())
                self._said.clear()
            case PassedOver(update_id=update_id, why=why):
                self._emit(TelegramUpdatePassedOver(update_id=update_id, reason=why))
            case Retrying(failure=failure, retry_in_s=retry_in_s):
                self._failed(failure.reason, str(failure), retry_in_s)
            case HandlingFailed(error=error, retry_in_s=retry_in_s):
                self._failed("not-recorded", error, retry_in_s)
            case NothingMoved(retry_in_s=retry_in_s):
                self._failed("nothing-moved", None, retry_in_s)
            case NotConfirmed(failure=failure):
                self._failed("not-confirmed", str(failure), None)
            case _:
                assert_never(notice)

    def ended(self, ended: Ended) -> float:
        """Polling ended; in so many seconds it is begun anew."""
        again_in_s = AGAIN_S[ended.cause]
        if self._is_news(f"ended {ended.cause}"):
            error = str(ended.failure) if ended.failure else ended.error
            self._emit(TelegramEnded(cause=ended.cause, again_in_s=again_in_s, error=error))
        return again_in_s

    def taken_in(self, notice: IntakeNotice) -> None:
        """What happens while updates are handled."""
        match notice:
            case AttemptFailed(update=update, attempt=attempt, error=error, then=then):
                self._emit(
                    TelegramUpdateFailed(
                        update_id=update.update_id,
                        attempt=attempt,
                        will_retry=isinstance(then, Failed),
                        error=error,
                    )
                )
            case GivenUp(update=update):
                self._emit(TelegramUpdateFailed(update_id=update.update_id, will_retry=False))
            case ClaimLost(update=update):
                log.warning("the update %d is in other hands: what became of it here does not count", update.update_id)
            case StoreFailed(error=error):
                log.warning("the store does not take what became of an update: %s", error)
            case _:
                assert_never(notice)

    def held(self, handed: HandedOver) -> None:
        """An answer could not be given now."""
        error = str(handed.failure) if handed.failure else None
        self._emit(
            TelegramReplyHeld(chat_id=handed.reply.chat_id, retry_in_s=round(handed.not_before_s, 1), error=error)
        )

    def dropped(self, dropped: Dropped) -> None:
        """A notice for the operator's chat was not sent."""
        error = str(dropped.failure) if dropped.failure else None
        self._emit(TelegramPostDropped(reason=dropped.reason, topic=dropped.topic, error=error))

    def _failed(self, reason: str, error: BaseException | str | None, retry_in_s: float | None) -> None:
        if self._is_news(reason):
            self._emit(TelegramPollFailed(reason=reason, error=error, retry_in_s=retry_in_s))

    def _is_news(self, what: str) -> bool:
        if what in self._said:
            return False
        self._said.add(what)
        return True
