"""How a stand-in agent behaves: at its start, and at each turn that is handed to it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import StrEnum

from domain.model import ItemId, SessionId, TurnId
from sessions.host.protocol import HandState
from sessions.host.records import Receipt, Recorded, TroubleKind
from sessions.port import HarnessFailed, SessionOrder

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""


class Death(StrEnum):
    """When a host dies, without a word, at a turn that is handed to it."""

    UNWRITTEN = "unwritten"
    """Before it wrote the turn down."""
    FORGOTTEN = "forgotten"
    """After it wrote the turn down; the agent never kept it."""
    UNTOLD = "untold"
    """The agent has it; the host wrote no receipt."""
    TAKEN = "taken"
    """The agent has it, and the receipt is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How an agent meets one turn. It answers with `after_tools` at once unless told otherwise."""

    after_tools: str = "Done."
    before_tools: str = ""
    receipt: Receipt | None = Receipt.MESSAGE
    """None: no sign of life."""
    ends: bool = True
    """False: it works until `finish`, a cancel, or its death."""
    heeds_cancel: bool = True
    dies: Death | None = None
    trouble: TroubleKind | None = None
    """The turn ends in this trouble; the host lives on."""
    state: HandState | None = None
    """What the host answers instead of writing the turn down."""
    ready: threading.Event | None = None
    """The agent is still starting: the hand-over waits for this, or for the host's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How one start of an agent goes. It opens unless told otherwise."""

    fails: Exception | None = None
    """Raised by `open`."""
    released: threading.Event | None = None
    """`open` hangs until this is set, or until it is cancelled."""
    trouble: TroubleKind | None = None
    """The host starts, writes this down and ends."""
    dies: bool = False
    """The host starts and dies without a word."""
    missed: bool = False
    """Where the host ends at once, `open` comes too late to reach it and raises."""

    def wait(self, cancelled: threading.Event) -> None:
        """Wait for leave to go on. Raises HarnessFailed at the cancel that a start must heed."""
        if self.released is None:
            return
        for _ in range(int(LIMIT_S / 0.01)):
            if self.released.wait(0.005):
                return
            if cancelled.wait(0.005):
                raise HarnessFailed("the start was interrupted")
        raise HarnessFailed("nobody released the start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A turn as an agent got it."""

    item_id: ItemId
    session_id: SessionId
    conversation_id: str
    turn_id: TurnId
    text: str


@dataclass(slots=True)
class Host:
    """One session with its journal, and the process that is or is not there."""

    order: SessionOrder
    journal: list[Recorded] = field(default_factory=list)
    lives: bool = False
    conversation_id: str = ""
    replayed: tuple[str, ...] = ()
    known: dict[str, HandState] = field(default_factory=dict)
    running: tuple[TurnId, Manner] | None = None

    @property
    def running_id(self) -> TurnId | None:
        """The turn that runs."""
        return self.running[0] if self.running is not None else None

    def require_life(self) -> None:
        """Raises HarnessFailed where the process is gone."""
        if not self.lives:
            raise HarnessFailed("the host is gone")
