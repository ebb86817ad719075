"""Comments on the thread: never twice, in the order in which they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from domain.ports import SendResult, ThreadPort
from domain.sending import Abandon, Dead, Delivered, Doubt, Following, Tried, Wait, after_comment
from eventlog.event import LogEvent
from eventlog.events.reply import (
    ReplyAbandoned,
    ReplyDead,
    ReplyDelivered,
    ReplySent,
    ReplyUnknown,
    ReplyWaiting,
)
from replies.record import THREAD, Target
from statedb.ledger import Claim, PartState


class ThreadChannel:
    """Posts comments."""

    name = THREAD
    keeps_order = True

    def send(self, port: ThreadPort, target: Target, body: str) -> SendResult:
        """Post the comment."""
        return port.post(target.thread, target.repository, body)

    def after(self, result: SendResult, tried: Tried) -> Following:
        """A comment in doubt is looked for on the thread."""
        return after_comment(result, tried)

    def leaving(self, claim: Claim) -> LogEvent | None:
        """From now on it is not repeated blindly."""
        return ReplySent(reply_id=claim.reply_id, part=claim.part + 1, attempt=claim.attempts + 1)

    def told(self, claim: Claim, following: Following) -> LogEvent | None:
        """Doubt is told once, by the try; each question tells of itself."""
        reply_id, part = claim.reply_id, claim.part + 1
        match following:
            case Delivered(comment_id=comment_id):
                return ReplyDelivered(reply_id=reply_id, part=part, comment_id=comment_id)
            case Wait(at_ms=at_ms, reason=reason):
                return ReplyWaiting(reply_id=reply_id, part=part, reason=reason, next_at=_utc(at_ms))
            case Doubt(reason=reason):
                asked = claim.state is PartState.UNKNOWN
                return None if asked else ReplyUnknown(reply_id=reply_id, part=part, error=reason)
            case Dead(reason=reason):
                return ReplyDead(reply_id=reply_id, part=part, reason=reason)
            case Abandon(reason=reason):
                return ReplyAbandoned(reply_id=reply_id, reason=reason)
            case _:
                assert_never(following)


def _utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
