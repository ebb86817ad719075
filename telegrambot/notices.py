"""What a poller tells its application while it runs."""

from dataclasses import dataclass

from telegrambot.failures import Failure


@dataclass(frozen=True, slots=True)
class PassedOver:
    """An update cannot be read: it is confirmed unseen. Without a number it cannot even be confirmed by itself."""

    update_id: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Hearing:
    """The poller's first poll was answered: updates come."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """A poll failed and is repeated."""

    failure: Failure
    retry_in_s: float


@dataclass(frozen=True, slots=True)
class Recovered:
    """Polls are answered again, after so many seconds of failures."""

    after_s: float


@dataclass(frozen=True, slots=True)
class HandlingFailed:
    """The handler took a batch only in part, or not at all: the rest is asked for again."""

    error: BaseException
    retry_in_s: float


@dataclass(frozen=True, slots=True)
class NothingMoved:
    """A batch brought nothing that the next poll could confirm: an error of the server's, or a server that was changed."""

    offset: int | None
    retry_in_s: float


@dataclass(frozen=True, slots=True)
class NotConfirmed:
    """The last batch could not be confirmed at the end: it comes again."""

    failure: Failure


Notice = Hearing | PassedOver | Retrying | Recovered | HandlingFailed | NothingMoved | NotConfirmed
