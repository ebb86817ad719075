"""The queue of updates as the server keeps it: what an offset forgets, what a limit lets through, what time takes away."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Update = Mapping[str, Any]

KEPT_S = 24 * 3600.0
ANSWER_BYTES_MAX = 4 * 2**20
AHEAD_MAX = 10
"""How far above the next id an offset may be and still be believed."""

KINDS = frozenset(
    {
        "business_connection",
        "business_message",
        "callback_query",
        "channel_post",
        "chat_boost",
        "chat_join_request",
        "chat_member",
        "chosen_inline_result",
        "deleted_business_messages",
        "edited_business_message",
        "edited_channel_post",
        "edited_message",
        "inline_query",
        "message",
        "message_reaction",
        "message_reaction_count",
        "my_chat_member",
        "poll",
        "poll_answer",
        "pre_checkout_query",
        "purchased_paid_media",
        "removed_chat_boost",
        "shipping_query",
    }
)
KINDS_BY_DEFAULT = KINDS - {"chat_member", "message_reaction", "message_reaction_count"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """One update that nobody has confirmed; `update` holds its id."""

    update_id: int
    update: Update
    expires_at_s: float


class UpdateQueue:
    """Updates in the order of their ids. It knows no clock: who asks says the time."""

    def __init__(self, first_id: int) -> None:
        self.queued: list[Queued] = []
        self.confirmed_ids: list[int] = []
        self.expired_ids: list[int] = []
        self.kinds = KINDS_BY_DEFAULT
        self._next_id = first_id

    def allow(self, kinds: object) -> None:
        """None or no list leaves what was said before; an empty list means the default. Queued updates stay."""
        if isinstance(kinds, Sequence) and not isinstance(kinds, str):
            self.kinds = KINDS & frozenset(map(str, kinds)) or KINDS_BY_DEFAULT

    def push(self, update: Update, now_s: float) -> int | None:
        """The id that it got; None when its kind is not wanted. What is of no known kind is always wanted."""
        kinds = KINDS & update.keys()
        if kinds and not kinds & self.kinds:
            return None
        update_id = self._next_id
        self._next_id += 1
        numbered = {**update, "update_id": update_id}
        self.queued.append(Queued(update_id=update_id, update=numbered, expires_at_s=now_s + KEPT_S))
        return update_id

    def restart_ids(self, at: int) -> None:
        """Go on with another id, as after a week of silence or on another server; what is queued is gone."""
        self.queued = []
        self._next_id = at

    def has_any(self, offset: int, now_s: float) -> bool:
        """Whether `take` with this offset would find something; forgets nothing."""
        self.expire(now_s)
        return any(offset <= queued.update_id or not self._is_believed(offset) for queued in self.queued)

    def take(self, offset: int, limit: int, now_s: float) -> list[Update]:
        """Forget what the offset confirms and give the first updates of the rest; they stay queued."""
        self.expire(now_s)
        if offset < 0:
            self._forget(len(self.queued) + offset)
        elif self._is_believed(offset):
            self._forget(sum(queued.update_id < offset for queued in self.queued))
        return _fitting([queued.update for queued in self.queued[:limit]])

    def settle(self, update_id: int) -> None:
        """A webhook took it."""
        self.queued = [queued for queued in self.queued if queued.update_id != update_id]
        self.confirmed_ids.append(update_id)

    def drop_all(self) -> None:
        self._forget(len(self.queued))

    def expire(self, now_s: float) -> None:
        self.expired_ids += [queued.update_id for queued in self.queued if queued.expires_at_s <= now_s]
        self.queued = [queued for queued in self.queued if queued.expires_at_s > now_s]

    def _is_believed(self, offset: int) -> bool:
        return offset <= self._next_id + AHEAD_MAX

    def _forget(self, count: int) -> None:
        gone = max(0, count)
        self.confirmed_ids += [queued.update_id for queued in self.queued[:gone]]
        self.queued = self.queued[gone:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One getUpdates, its values within the server's bounds."""

    offset: int
    limit: int
    timeout_s: int


class Pace:
    """Slows down who asks with the same offset again and again."""

    def __init__(self) -> None:
        self._offset: int | None = None
        self._at_s = 0.0

    def applied(self, asked: Asked, now_s: float) -> Asked:
        """Within 3 s the wait is 3 s at least, within half a second there is one update at most."""
        since_s = now_s - self._at_s if asked.offset == self._offset else float("inf")
        self._offset, self._at_s = asked.offset, now_s
        return Asked(
            offset=asked.offset,
            limit=1 if since_s < 0.5 else asked.limit,
            timeout_s=max(3, asked.timeout_s) if since_s < 3 else asked.timeout_s,
        )


def _fitting(updates: list[Update]) -> list[Update]:
    total = 0
    for count, update in enumerate(updates):
        total += len(json.dumps(update))
        if total > ANSWER_BYTES_MAX and count:
            return updates[:count]
    return updates
