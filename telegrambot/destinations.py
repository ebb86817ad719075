"""Where a message goes whose chat was moved or whose topic is gone: learned from refusals, and remembered."""

from dataclasses import dataclass

from telegrambot.failures import Failure, Reason
from telegrambot.floods import ChatId

GENERAL_THREAD_ID = 1
"""The topic that every forum has; it is written to without a number."""
REDIRECTIONS_MAX = 2
"""So often one message is sent on: its chat moved, and its topic is gone."""
GONE_MAX = 1_000
"""So many topics that are gone are remembered; the oldest is then tried again."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A chat, and a topic of it; None: the chat itself, which in a forum is its general topic."""

    chat_id: ChatId
    thread_id: int | None = None


class Destinations:
    """What was learned of them since the start. A topic that was closed counts as gone, also when it is opened again."""

    __slots__ = ("_gone", "_moved")

    def __init__(self) -> None:
        self._gone: dict[Destination, None] = {}
        self._moved: dict[ChatId, int] = {}

    def now(self, addressed: Destination) -> Destination:
        """Where a message that is addressed so is to be sent."""
        there = Destination(self._moved.get(addressed.chat_id, addressed.chat_id), addressed.thread_id)
        if there.thread_id == GENERAL_THREAD_ID or there in self._gone:
            return Destination(there.chat_id)
        return there

    def learn(self, refused: Destination, failure: Failure) -> bool:
        """Whether the failure of a message that was sent there says that it is to go elsewhere; `now` then says where."""
        if failure.reason is Reason.MIGRATED and failure.migrate_to_chat_id is not None:
            self._move(refused.chat_id, failure.migrate_to_chat_id)
            return True
        if failure.reason is Reason.THREAD_NOT_FOUND and refused.thread_id is not None:
            self._gone[refused] = None
            if len(self._gone) > GONE_MAX:
                del self._gone[next(iter(self._gone))]
            return True
        return False

    def _move(self, old: ChatId, new: int) -> None:
        moved = {origin: new if there == old else there for origin, there in self._moved.items()}
        self._moved = {origin: there for origin, there in {**moved, old: new}.items() if origin != new}
