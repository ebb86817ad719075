"""Event types of the reactions by which people see that they were heard."""

from eventlog.event import Level, LogEvent, event_type


@event_type("reaction.added", Level.DEBUG)
class ReactionAdded(LogEvent):
    """A reaction stands on a comment."""

    content: str
    comment_id: int | None = None


@event_type("reaction.failed", Level.WARNING)
class ReactionFailed(LogEvent):
    """A reaction could not be added; nothing else depends on it."""

    content: str
    comment_id: int | None = None
    error: BaseException | str | None = None
