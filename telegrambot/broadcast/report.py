"""How a broadcast stands, or how its run ended."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from telegrambot.broadcast.delivery import HaltCause
from telegrambot.broadcast.journal import Outcome, Progress
from telegrambot.failures import Failure


class RunOutcome(StrEnum):
    """What became of a run."""

    RUNNING = "running"
    FINISHED = "finished"
    """No recipient is left."""
    STOPPED = "stopped"
    """It was asked to; a run of the same name goes on from here."""
    HALTED = "halted"
    """Something has to be looked at first; a run of the same name goes on from here."""
    DRY_RUN = "dry-run"
    """Nothing was sent or written: so it would begin."""


@dataclass(frozen=True, slots=True)
class Halted:
    """Why a run halted; `failure` is what Telegram or the line said."""

    cause: HaltCause
    failure: Failure | None = None

    def __str__(self) -> str:
        return f"{self.cause}: {self.failure}" if self.failure else str(self.cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Numbers of recipients, over all runs of the name."""

    name: str
    outcome: RunOutcome
    total: int
    delivered: int
    unreachable: int
    failed: int
    uncertain: int
    pending: int
    """Still to be written to."""
    halt: Halted | None = None
    """Only for `halted`."""


def report_of(name: str, total: int, progress: Progress, outcome: RunOutcome, halt: Halted | None = None) -> Report:
    """The numbers of a progress."""
    numbers = Counter(progress.settled.values())
    return Report(
        name=name,
        outcome=outcome,
        total=total,
        delivered=numbers[Outcome.DELIVERED],
        unreachable=numbers[Outcome.UNREACHABLE],
        failed=numbers[Outcome.FAILED],
        uncertain=numbers[Outcome.UNCERTAIN],
        pending=total - numbers.total(),
        halt=halt,
    )
