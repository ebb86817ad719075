"""The kinds of notices that the operator may be told, and how much they matter: words of the settings."""

from enum import StrEnum


class PostKind(StrEnum):
    """What a notice is about."""

    SESSION_STARTED = "session_started"
    """An agent began to work on an item."""
    WAITING = "waiting"
    """An agent asked a question and waits for a person."""
    FAILED = "failed"
    """An agent could not be started, or died."""
    GAVE_UP = "gave_up"
    """A comment will not reach an agent: all attempts failed."""
    COVERAGE_STOPPED = "coverage_stopped"
    """Comments may go unheard: a source or a road is out of order."""
    REPLY_ABANDONED = "reply_abandoned"
    """An answer did not reach its thread, and will not."""


class PostLevel(StrEnum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
