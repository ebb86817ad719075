"""Event types of an event's way from the disk to its fate."""

from eventlog.event import Level, LogEvent, event_type


@event_type("dispatch.accepted", Level.INFO)
class DispatchAccepted(LogEvent):
    """An event and the first decision on it are on disk, and whoever sent it may be told so."""

    road: str
    kind: str
    actor: str | None = None


@event_type("dispatch.duplicate", Level.INFO)
class DispatchDuplicate(LogEvent):
    """A fact that is known arrived again; only the arrival was recorded."""

    road: str
    fate: str
    outcome: str | None = None


@event_type("dispatch.settled", Level.INFO)
class DispatchSettled(LogEvent):
    """An event is finished with although no session got it; a cause key names the event that brought this about."""

    outcome: str
    actor: str | None = None
    cause_key: str | None = None


@event_type("dispatch.unhandled", Level.WARNING)
class DispatchUnhandled(LogEvent):
    """An event was refused and its mark released, so that a new arrival of the same fact may claim it."""

    reason: str


@event_type("dispatch.queued", Level.INFO)
class DispatchQueued(LogEvent):
    """An event waits for its work item's session; waiting counts the events before it."""

    waiting: int | None = None


@event_type("dispatch.done", Level.INFO)
class DispatchDone(LogEvent):
    """A session has the event: there is a receipt for the turn that carries it."""

    waited_ms: int | None = None


@event_type("dispatch.failed", Level.WARNING)
class DispatchFailed(LogEvent):
    """One attempt to carry an event out failed; next_at is when the next one is due, in UTC."""

    attempt: int
    will_retry: bool
    next_at: str | None = None
    error: BaseException | str | None = None


@event_type("dispatch.gave_up", Level.ERROR)
class DispatchGaveUp(LogEvent):
    """The attempts for an event are spent: it stays unhandled and the thread is told once."""

    attempts: int
    error: BaseException | str | None = None


@event_type("dispatch.rearmed", Level.INFO)
class DispatchRearmed(LogEvent):
    """A comment on a failed work item gave its start new attempts, and waits behind it."""
