"""Event types of the Router: what may become an event, and what is passed over and why."""

from eventlog.event import Level, LogEvent, event_type


@event_type("routing.dropped", Level.INFO)
class RoutingDropped(LogEvent):
    """The Router passed a delivery over, so that it is no event and has no row; the reason is of the closed list."""

    reason: str
    road: str
    github_event: str | None = None
    action: str | None = None
    actor: str | None = None
