"""Event types of turns: one prompt and the events that it carries."""

from eventlog.event import Level, LogEvent, event_type


@event_type("turn.frozen", Level.INFO)
class TurnFrozen(LogEvent):
    """A turn's text and the keys of the events that it carries are on disk and change no more."""

    event_keys: tuple[str, ...]
    prompt_bytes: int


@event_type("turn.handed", Level.INFO)
class TurnHanded(LogEvent):
    """A session host acknowledged a turn; whether the agent has it is not known yet."""

    event_keys: tuple[str, ...] = ()
    attempt: int | None = None


@event_type("turn.taken", Level.INFO)
class TurnTaken(LogEvent):
    """There is a receipt: the agent has the turn."""

    event_keys: tuple[str, ...] = ()
    receipt: str


@event_type("turn.ended", Level.INFO)
class TurnEnded(LogEvent):
    """The agent ended a turn and its answer is recorded."""

    stop_reason: str
    answer_bytes: int | None = None
    took_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@event_type("turn.cancelled", Level.INFO)
class TurnCancelled(LogEvent):
    """A turn was called back, before or after it was taken; its text is kept and not posted."""

    cause: str


@event_type("turn.interrupted", Level.WARNING)
class TurnInterrupted(LogEvent):
    """A turn's host or machine died before an answer was recorded; interruptions counts this turn's."""

    cause: str
    interruptions: int
