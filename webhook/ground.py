"""What all deeds stand on: the means, the sessions that this process follows, and how a deed is put down and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from domain.model import ItemId
from sessions.port import HarnessFailed, Live
from statedb.database import Connection
from statedb.reading import item_by_id
from webhook.aftermath import Aftermath
from webhook.giving_up import Failure, Written
from webhook.live import LiveSessions
from webhook.means import Means

T = TypeVar("T")


class Ground:
    """Shared by the deeds of one worker. Safe to use from any thread."""

    def __init__(self, means: Means) -> None:
        self.means = means
        self.aftermath = Aftermath(means.recorder, means.limits.retries_max)
        self.sessions = LiveSessions(means)
        self.handing: dict[ItemId, Live] = {}
        """Hand-overs that wait for an agent which is still starting."""

    def write(self, write: Callable[[Connection], T]) -> T:
        """Run it in a transaction; what it recorded to say is published."""
        written = self.means.committer.write(write)
        self.means.publish()
        return written

    def tell(self, written: Written) -> None:
        """It is on disk: the Deduper and the log may know."""
        self.sessions.tell_written(written)

    def failed(self, item_id: ItemId, failure: Failure) -> None:
        """No session could be opened: what waits for one spends an attempt."""
        self.tell(self.write(lambda c: self.aftermath.start_failed(c, item_id, failure, self.means.clock())))

    def is_wanted(self, item_id: ItemId) -> bool:
        """Whether the item's work was started and not ended since. Look again once you can be interrupted: an end that
        came before found nobody to interrupt."""
        item = item_by_id(self.means.database.reader(), item_id)
        return item is not None and item.folded.opening is not None

    def give_back(self, item_id: ItemId) -> None:
        """The item holds no place and no slot any more."""
        self.means.starts.give_back(item_id)
        self.means.hand_overs.give_back(item_id)
        self.means.places.give_back(item_id)


def ask_to_end(live: Live, reason: str) -> None:
    """Ask a session to end; one that cannot be asked is ended from outside."""
    try:
        live.end(reason)
    except HarnessFailed:
        return
