"""Makes the rows of what is to be said: recorded before it is sent, marked as ours, cut visibly where it is too long."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from domain.marker import Sealer, without_markers
from domain.model import Event, Fact, ItemId, Thread, TurnId
from domain.texts import CUT
from eventlog.events.reply import ReplyRecorded
from statedb.rows import ReplyRow

COMMENT_CHARACTERS_MAX = 65_000
"""GitHub refuses a body of more than 65 536 characters; the marker and the sign of a cut need some of them."""
COMMENT_BYTES_MAX = 250_000
"""GitHub was measured to refuse more than 262 144 bytes of UTF-8."""

THREAD = "thread"
REACTION = "reaction"

SEEN = "eyes"
CARRIED_OUT = "rocket"
GAVE_UP = "confused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a reply goes: a thread, and for a reaction the object on it."""

    thread: Thread
    repository: str
    fact: Fact | None = None
    object_id: int = 0

    def write(self) -> str:
        """As the ledger keeps it."""
        thread = self.thread
        return json.dumps(
            [thread.host, thread.repository_id, thread.number, self.repository, self.fact, self.object_id]
        )


def read_target(written: str) -> Target:
    """What `Target.write` wrote."""
    host, repository_id, number, repository, fact, object_id = json.loads(written)
    return Target(
        thread=Thread(host=host, repository_id=repository_id, number=number),
        repository=repository,
        fact=Fact(fact) if fact else None,
        object_id=object_id,
    )


@dataclass(frozen=True, slots=True)
class Recorder:
    """Makes reply rows. `new_id` gives a fresh id of 16 to 32 hexadecimal digits; `mask` hides the service's secrets."""

    sealer: Sealer
    new_id: Callable[[], str]
    mask: Callable[[str], str] = str

    def comment(
        self, origin: str, kind: str, number: int, *, item_id: ItemId, target: Target, text: str, now_ms: int,
        turn_id: TurnId | None = None,
    ) -> ReplyRow:  # fmt: skip
        """A comment on the thread. `(origin, kind, number)` is its identity: the turn for what the agent says, the event
        key for what we say about an event."""
        reply_id = self.new_id()
        marker = self.sealer.line(reply_id, 0, target.thread)
        said = without_markers(self.mask(text))
        return ReplyRow(
            reply_id=reply_id, origin=origin, kind=kind, number=number, item_id=item_id, turn_id=turn_id,
            channel=THREAD, target=target.write(), whole=said, body=f"{cut_to_fit(said)}\n\n{marker}", marker=marker,
            created_at_ms=now_ms,
        )  # fmt: skip

    def reaction(self, event: Event, content: str, *, item_id: ItemId, now_ms: int) -> ReplyRow | None:
        """A reaction on the event's comment; None where GitHub has none for it (reviews, closings, the operator's words)."""
        if event.fact not in (Fact.COMMENT, Fact.INLINE) or event.key is None:
            return None
        target = Target(
            thread=event.thread, repository=event.label.repository, fact=event.fact, object_id=event.object_id
        )
        return ReplyRow(
            reply_id=self.new_id(), origin=event.key, kind=content, item_id=item_id, channel=REACTION,
            target=target.write(), whole=content, body=content, marker="", created_at_ms=now_ms,
        )  # fmt: skip


def target_of(event: Event) -> Target:
    """The thread that an event stands on."""
    return Target(thread=event.thread, repository=event.label.repository)


def cut_to_fit(text: str) -> str:
    """A text that fits into one comment; where it is cut, the reader sees it."""
    if len(text) <= COMMENT_CHARACTERS_MAX and len(text.encode("utf-8", "replace")) <= COMMENT_BYTES_MAX:
        return text
    kept = text[: COMMENT_CHARACTERS_MAX - len(CUT)]
    while len(kept.encode("utf-8", "replace")) > COMMENT_BYTES_MAX:
        kept = kept[: len(kept) * 9 // 10]
    return kept + CUT


def recorded_line(reply: ReplyRow) -> ReplyRecorded:
    """What the log says of a reply that is on disk."""
    return ReplyRecorded(
        reply_id=reply.reply_id,
        event_key=None if reply.turn_id else reply.origin,
        turn_id=reply.turn_id,
        kind=reply.kind,
        channel=reply.channel,
        body_bytes=len(reply.body.encode("utf-8", "replace")),
    )
