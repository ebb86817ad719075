"""What the seat needs of others, joined by the service, and who sits in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from domain.marker import Sealer
from domain.model import ItemId, Label, Thread, TurnId
from domain.policy import Authorities
from domain.ports import ItemPort, Missing, NoAnswer, PullPort, ThreadPort
from eventlog.event import LogEvent
from eventlog.masking import MASK
from sessions.clones import Clones
from sessions.git import Remote
from statedb.committer import Committer
from statedb.database import Database
from statedb.rows import ItemRow, ReplyRow
from statedb.session_rows import SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What an agent says in a turn; `(turn_id, kind, number)` is its identity in the ledger."""

    turn_id: TurnId
    kind: str
    number: int
    item_id: ItemId
    thread: Thread
    repository: str
    text: str
    now_ms: int


class RemotePort(Protocol):
    """Where an item's repository is pushed to."""

    def remote(self, thread: Thread, repository: str) -> Remote | Missing | NoAnswer:
        """The address, with the credentials for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPorts:
    """Everything that the verbs may use. Each may be called from any thread."""

    database: Database
    committer: Committer[Any, Any]
    threads: ThreadPort
    items: ItemPort
    pulls: PullPort
    remotes: RemotePort
    clones: Clones
    compose: Callable[[Saying], ReplyRow]
    """Makes the ledger's row, marked as ours."""
    sealer: Sealer
    authorities: Callable[[], Authorities]
    """Who has a right now."""
    mask: Callable[[str], str]
    """A text without the secrets of the service."""
    events: Callable[[Sequence[str], int], Sequence[str]]
    """The last lines of the event log about these work items, oldest first, at most so many."""
    clock: Callable[[], int]
    """Milliseconds since the epoch, UTC."""
    emit: Callable[[LogEvent], None]
    wake: Callable[[], None]
    """Something new is to be sent. Must not block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitter:
    """The session whose token was shown, and its work item."""

    session: SessionRow
    item: ItemRow
    token: str

    @property
    def label(self) -> Label:
        """The item as people name it."""
        return self.label_of(self.item.home)

    def label_of(self, thread: Thread) -> Label:
        """One of the item's threads as people name it."""
        return Label(host=thread.host, repository=self.item.repository, number=thread.number)

    def masked(self, ports: SeatPorts, text: str) -> str:
        """A text of the agent as it may leave this machine."""
        return ports.mask(text).replace(self.token, MASK)
