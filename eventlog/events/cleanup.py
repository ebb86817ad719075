"""Event types of the removal of clones."""

from eventlog.event import Level, LogEvent, event_type


@event_type("cleanup.refused", Level.WARNING)
class CleanupRefused(LogEvent):
    """A clone was kept because removing it would lose work; the session is stopped all the same."""

    actor: str | None = None
    unsaved_files: int
    unpushed_commits: int


@event_type("cleanup.done", Level.INFO)
class CleanupDone(LogEvent):
    """A work item's clone is gone."""

    actor: str | None = None
    forced: bool = False


@event_type("cleanup.deferred", Level.INFO)
class CleanupDeferred(LogEvent):
    """A work item was closed and its clone kept, because nobody with a right was named as the one who closed it."""

    reason: str
    actor: str | None = None
