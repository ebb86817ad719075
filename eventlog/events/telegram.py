"""Event types of the operator's seat in Telegram."""

from eventlog.event import Level, LogEvent, event_type


@event_type("telegram.hearing", Level.INFO)
class TelegramHearing(LogEvent):
    """Telegram answers: the bot hears what is written to it."""


@event_type("telegram.poll_failed", Level.WARNING)
class TelegramPollFailed(LogEvent):
    """Telegram was asked for updates in vain, or a batch could not be taken; nothing is lost, it is asked again."""

    reason: str
    retry_in_s: float | None = None
    error: BaseException | str | None = None


@event_type("telegram.ended", Level.ERROR)
class TelegramEnded(LogEvent):
    """The bot hears nothing any more until polling is begun anew, if it is; GitHub's work goes on."""

    cause: str
    again_in_s: float | None = None
    error: BaseException | str | None = None


@event_type("telegram.update_passed_over", Level.WARNING)
class TelegramUpdatePassedOver(LogEvent):
    """An update cannot be read: it was confirmed without being handled."""

    update_id: int | None = None
    reason: str


@event_type("telegram.update_ignored", Level.INFO)
class TelegramUpdateIgnored(LogEvent):
    """An update asked for nothing that we do, or came from somebody who may not ask."""

    update_id: int
    reason: str


@event_type("telegram.update_failed", Level.ERROR)
class TelegramUpdateFailed(LogEvent):
    """An update could not be handled; unless it is given up, it is tried again."""

    update_id: int | None = None
    attempt: int | None = None
    will_retry: bool
    error: BaseException | str | None = None


@event_type("telegram.command", Level.INFO)
class TelegramCommand(LogEvent):
    """The operator asked for something in Telegram, and was answered."""

    update_id: int
    command: str


@event_type("telegram.reply_held", Level.WARNING)
class TelegramReplyHeld(LogEvent):
    """Telegram takes no answer for a chat now: it is owed, and given when the chat takes messages again."""

    chat_id: int | str
    retry_in_s: float
    error: BaseException | str | None = None


@event_type("telegram.post_dropped", Level.WARNING)
class TelegramPostDropped(LogEvent):
    """A notice for the operator's chat was not sent, for this reason; the log has what it was about."""

    reason: str
    topic: str | None = None
    error: BaseException | str | None = None
