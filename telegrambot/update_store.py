"""What the intake asks of a store: updates on disk, each claimed by one attempt at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from telegrambot.attempts import Settlement
from telegrambot.updates import Update


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """An update in the hands of one attempt; number, attempt and claim together are its fence."""

    update: Update
    attempt: int
    """1 for the first."""
    claim_id: str
    """No two claims have the same."""


class UpdateStore(Protocol):
    """The updates of one bot. Each method is one transaction, on disk when it returns; each may raise when the store fails.

    An update is pending, then processing under a claim, and in the end completed or abandoned; between two attempts it is
    failed. It is open until its end. Those of one line stand in the order in which they arrived, which is not that of
    their numbers: Telegram may begin these anew.
    """

    async def record(self, updates: Sequence[Update]) -> int:
        """Write down those that are not there yet, all or none, and return how many. Safe to repeat."""

    async def claim(self, limit: int) -> Sequence[Claimed]:
        """Take at most so many that are due, the earliest first, for `LEASE_S`.

        Of each line only the first open one can be taken: pending, failed and its pause over, or processing and its lease
        run out. An update whose `ATTEMPTS_MAX` are used up is not taken.
        """

    async def renew(self, claimed: Claimed) -> bool:
        """Hold a claim for another `LEASE_S`. False: somebody else has the update by now, or it has ended."""

    async def settle(self, claimed: Claimed, settlement: Settlement) -> bool:
        """Write down what became of an attempt. False, and nothing written, where its claim does not stand any more."""

    async def sweep(self) -> Sequence[Update]:
        """Abandon those whose last attempt's lease ran out, and return them. What ended is known for `KEPT_S` at least."""
