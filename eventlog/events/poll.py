"""Event types of the polled road."""

from eventlog.event import Level, LogEvent, event_type


@event_type("poll.cycle", Level.INFO)
class PollCycle(LogEvent):
    """The poller looked at all its repositories once; not_modified counts answers that cost no budget."""

    repositories: int
    requests: int | None = None
    not_modified: int | None = None
    comments_seen: int
    comments_forwarded: int
    comments_settled: int | None = None
    failures: int
    took_ms: int | None = None


@event_type("poll.comment_forwarded", Level.INFO)
class PollCommentForwarded(LogEvent):
    """A polled comment was given to the Dispatcher and is in play."""

    comment_id: int
    actor: str | None = None
    attempt: int | None = None


@event_type("poll.comment_settled", Level.INFO)
class PollCommentSettled(LogEvent):
    """A polled comment is resolved because its event is settled: no attempt is spent, nothing re-arms it."""

    comment_id: int
    actor: str | None = None
    outcome: str
    will_retry: bool = False


@event_type("poll.source_error", Level.ERROR)
class PollSourceError(LogEvent):
    """A source of a repository could not be read; its cursor has not moved and the other repositories went on."""

    repository: str
    source_name: str
    next_at: str | None = None
    error: BaseException | str | None = None


@event_type("poll.baselined", Level.INFO)
class PollBaselined(LogEvent):
    """What stood on a source before we watched it was marked as seen, without being delivered."""

    repository: str
    source_name: str
    since: str
    comments: int | None = None
