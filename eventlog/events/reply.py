"""Event types of the reply ledger: what is known about the sending of each part of a reply."""

from eventlog.event import Level, LogEvent, event_type


@event_type("reply.recorded", Level.INFO)
class ReplyRecorded(LogEvent):
    """A reply is on disk and will be sent."""

    reply_id: str
    kind: str
    channel: str
    body_bytes: int | None = None


@event_type("reply.sent", Level.INFO)
class ReplySent(LogEvent):
    """A part's request may have left this machine; from now on it is not repeated blindly."""

    reply_id: str
    part: int = 1
    attempt: int | None = None


@event_type("reply.delivered", Level.INFO)
class ReplyDelivered(LogEvent):
    """A part is known to stand where it belongs."""

    reply_id: str
    part: int = 1
    comment_id: int | None = None


@event_type("reply.unknown", Level.WARNING)
class ReplyUnknown(LogEvent):
    """A part may have been sent or not; the thread is asked before it is sent again."""

    reply_id: str
    part: int = 1
    error: BaseException | str | None = None


@event_type("reply.probed", Level.INFO)
class ReplyProbed(LogEvent):
    """The thread was asked for a part in doubt; complete says that every page was read."""

    reply_id: str
    part: int = 1
    found: bool
    complete: bool


@event_type("reply.waiting", Level.WARNING)
class ReplyWaiting(LogEvent):
    """A part was not sent and will be tried at next_at, in UTC."""

    reply_id: str
    part: int = 1
    reason: str
    next_at: str | None = None


@event_type("reply.dead", Level.ERROR)
class ReplyDead(LogEvent):
    """A part can never be delivered where it belongs."""

    reply_id: str
    part: int = 1
    reason: str
    error: BaseException | str | None = None


@event_type("reply.abandoned", Level.ERROR)
class ReplyAbandoned(LogEvent):
    """A reply was given up before all of it was sent."""

    reply_id: str
    reason: str
