"""What the publisher asks of a channel: how a part goes out, what follows from the try, and which lines tell of it."""

from __future__ import annotations

from typing import Protocol

from domain.ports import SendResult, ThreadPort
from domain.sending import Following, Tried
from eventlog.event import LogEvent
from replies.record import Target
from statedb.ledger import Claim


class Channel(Protocol):
    """One way to say something; the shelf `replies/channels/` has one file for each."""

    @property
    def name(self) -> str:
        """As replies name it."""

    @property
    def keeps_order(self) -> bool:
        """Whether a part waits for those recorded before it for the same thread. What keeps order also goes first."""

    def send(self, port: ThreadPort, target: Target, body: str) -> SendResult:
        """Send once."""

    def after(self, result: SendResult, tried: Tried) -> Following:
        """What follows from a try. `Doubt` only where the thread can be asked."""

    def leaving(self, claim: Claim) -> LogEvent | None:
        """The line for a request that may have left."""

    def told(self, claim: Claim, following: Following) -> LogEvent | None:
        """The line for what followed from a try or a question; None where there is nothing new to tell."""
