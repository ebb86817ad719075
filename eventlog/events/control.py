"""Event types of what people ask of a work item by a command."""

from eventlog.event import Level, LogEvent, event_type


@event_type("control.command", Level.INFO)
class ControlCommand(LogEvent):
    """A command was decided and folded into its work item's control phase."""

    verb: str
    effect: str
    actor: str
    road: str | None = None
    phase: str | None = None


@event_type("control.executed", Level.INFO)
class ControlExecuted(LogEvent):
    """The effect of a command is confirmed."""

    verb: str
    effect: str


@event_type("control.rejected", Level.WARNING)
class ControlRejected(LogEvent):
    """A command was refused and changed nothing; meant is the command that a near miss resembles."""

    reason: str
    verb: str | None = None
    actor: str | None = None
    meant: str | None = None


@event_type("control.ambiguous", Level.WARNING)
class ControlAmbiguous(LogEvent):
    """A comment holds different commands, so that none of them ran and nothing of it was handed over."""

    verbs: tuple[str, ...]
    actor: str | None = None
