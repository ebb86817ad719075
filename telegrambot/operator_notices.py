"""What is told an operator and how much of it, and why a notice is dropped; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from telegrambot.failures import Failure, Reason
from telegrambot.floods import ChatId
from telegrambot.operator_dedupe import Deduping, Held

UNANSWERED_MAX = 2
"""A message whose sending was not answered is sent once more: for an operator a second copy is cheaper than silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChat:
    """Where notices go, and how many."""

    chat_id: ChatId
    topics: Mapping[str, int] = field(default_factory=dict)
    """The threads of a forum by the names that `post` knows them by; any other name means the chat itself."""
    queued_max: int = 200
    interval_s: float = 3.0
    """Between the end of one call and the next: a group takes some 20 messages a minute."""
    attempts_max: int = 3
    """So often one message is sent; being sent on to where its chat or topic went does not count."""
    deduping: Deduping | None = field(default_factory=Deduping)
    """None: every notice is worth a message."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Exact values that no notice shows. What has a bot token's form is hidden in any case."""

    def __post_init__(self) -> None:
        if self.queued_max < 1 or self.attempts_max < 1:
            raise ValueError("a channel queues at least one notice, and sends it at least once")


class DropReason(StrEnum):
    """Why a notice was not sent, or not known to be."""

    OVERFLOW = "overflow"
    """The queue was full, and this was the oldest in it."""
    REFUSED = "refused"
    """Telegram does not take it, however often it is sent."""
    ATTEMPTS = "attempts"
    """It was sent as often as it may be, or as often as that is harmless without an answer."""
    CLOSED = "closed"
    """The channel was closed first. If it was being sent then, it may have arrived."""
    REPEATED = "repeated"
    """A like one waits or was sent a short while ago; it is counted, and the next like one says so."""
    OVER_BUDGET = "over-budget"
    """There were enough of them for now; it is counted, and a later message says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A notice that was not sent; its text as it would have been, masked and cut."""

    text: str
    topic: str | None
    reason: DropReason
    failure: Failure | None = None
    """The last one, for `REFUSED` and `ATTEMPTS`."""


def drop_reason_after(failures: Sequence[Failure], attempts_max: int) -> DropReason | None:
    """Why a notice that failed so, the last time last, is given up; None: it is to be sent again."""
    last = failures[-1]
    unanswered = [failure.reason for failure in failures].count(Reason.NO_ANSWER)
    if not last.retryable and last.reason is not Reason.NO_ANSWER:
        return DropReason.REFUSED
    spent = len(failures) >= attempts_max or unanswered >= UNANSWERED_MAX
    return DropReason.ATTEMPTS if spent else None


def drop_reason_of(held: Held) -> DropReason:
    """The same in the words of drops."""
    match held:
        case Held.REPEATED:
            return DropReason.REPEATED
        case Held.OVER_BUDGET:
            return DropReason.OVER_BUDGET
        case _:
            assert_never(held)
