"""Reactions, by which people see that they were heard: harmless to repeat, in no order, and given up quietly."""

from __future__ import annotations

from domain.model import Fact
from domain.ports import SendResult, ThreadPort
from domain.sending import Abandon, Dead, Delivered, Following, Tried, after_reaction
from eventlog.event import LogEvent
from eventlog.events.reaction import ReactionAdded, ReactionFailed
from replies.record import REACTION, Target, read_target
from statedb.ledger import Claim


class ReactionChannel:
    """Puts reactions on comments."""

    name = REACTION
    keeps_order = False

    def send(self, port: ThreadPort, target: Target, body: str) -> SendResult:
        """Put the reaction on the object that the target names, or on the item itself where it names none."""
        return port.react(target.thread, target.repository, target.fact or Fact.SNAPSHOT, target.object_id, body)

    def after(self, result: SendResult, tried: Tried) -> Following:
        """A reaction in doubt is just put there again."""
        return after_reaction(result, tried)

    def leaving(self, claim: Claim) -> LogEvent | None:
        """Nobody asks for it."""
        return None

    def told(self, claim: Claim, following: Following) -> LogEvent | None:
        """Only how it ended."""
        object_id = read_target(claim.target).object_id or None
        match following:
            case Delivered():
                return ReactionAdded(content=claim.body, comment_id=object_id)
            case Dead(reason=reason) | Abandon(reason=reason):
                return ReactionFailed(content=claim.body, comment_id=object_id, error=reason)
            case _:
                return None
