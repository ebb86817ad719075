"""Event types of sessions: an agent at work on a work item."""

from eventlog.event import Level, LogEvent, event_type


@event_type("session.started", Level.INFO)
class SessionStarted(LogEvent):
    """A new session has its clone and its agent, and can take a prompt."""

    harness: str
    branch: str | None = None
    took_ms: int | None = None


@event_type("session.attached", Level.INFO)
class SessionAttached(LogEvent):
    """The service follows the journal of a session host, from this offset on."""

    host_pid: int | None = None
    from_offset_bytes: int | None = None


@event_type("session.found", Level.INFO)
class SessionFound(LogEvent):
    """A session of an earlier run of the service was looked for at start, and this is its state."""

    state: str


@event_type("session.resumed", Level.INFO)
class SessionResumed(LogEvent):
    """A session runs again, with its conversation loaded."""

    harness: str
    took_ms: int | None = None


@event_type("session.idle_ended", Level.INFO)
class SessionIdleEnded(LogEvent):
    """A session's processes ended because it was idle; its conversation is kept and loaded when needed."""

    idle_s: int | None = None


@event_type("session.ended", Level.INFO)
class SessionEnded(LogEvent):
    """A session and its whole process tree have ended."""

    cause: str


@event_type("session.failed", Level.ERROR)
class SessionFailed(LogEvent):
    """A session could not be started, or its agent died."""

    harness: str | None = None
    will_retry: bool
    error: BaseException | str | None = None


@event_type("session.trouble", Level.WARNING)
class SessionTrouble(LogEvent):
    """A session cannot work now, for a cause that is not the comment's: ours, the provider's, a lost conversation."""

    kind: str
    next_at: str | None = None
    error: BaseException | str | None = None


@event_type("session.queued_for_place", Level.INFO)
class SessionQueuedForPlace(LogEvent):
    """All places are taken by sessions in a turn, so that a work item waits for one; ahead counts those before it."""

    ahead: int | None = None


@event_type("session.permission", Level.INFO)
class SessionPermission(LogEvent):
    """An agent asked for a permission and was answered; the setting is the one that decided."""

    tool_kind: str
    allowed: bool
    setting: str
