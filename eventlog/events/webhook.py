"""Event types of the pushed road, up to the point where a request has become a delivery."""

from eventlog.event import Level, LogEvent, event_type


@event_type("webhook.received", Level.INFO)
class WebhookReceived(LogEvent):
    """A signed request was read and is a delivery."""

    github_event: str
    action: str | None = None
    body_bytes: int


@event_type("webhook.rejected", Level.WARNING)
class WebhookRejected(LogEvent):
    """A request was refused for its signature, type, size, time or shape, and nothing of it was kept."""

    reason: str
    status: int
    github_event: str | None = None
    body_bytes: int | None = None


@event_type("webhook.ping", Level.INFO)
class WebhookPing(LogEvent):
    """GitHub said that a hook points here; missing events are those that we need and the hook does not send."""

    hook_id: int | None = None
    missing_events: tuple[str, ...] = ()


@event_type("webhook.overloaded", Level.WARNING)
class WebhookOverloaded(LogEvent):
    """A request was answered with 503 and nothing of it was recorded; GitHub counts it as failed."""

    reason: str
    retry_after_s: int
