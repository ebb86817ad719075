"""The harness port: how a session's agent is run, in words that no protocol of agents has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from domain.model import ItemId, SessionId, TurnId
from sessions.host.protocol import HandState
from sessions.host.records import Recorded


class HarnessFailed(Exception):
    """A session could not be opened or reached; the text is of our own making and may be shown."""


class ConversationGone(HarnessFailed):
    """The agent no longer knows the conversation: only a new one helps."""


class CloneHeld(HarnessFailed):
    """Somebody else holds the item's clone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOrder:
    """What a session is opened with. `environment` is what the seat adds; `is_untrusted`: the tree comes from a fork."""

    session_id: SessionId
    item_id: ItemId
    folder: Path
    clone: Path
    conversation_id: str | None
    environment: Mapping[str, str]
    is_untrusted: bool


class Records(Protocol):
    """What a session writes down, as it is written; read by one thread, closed by any."""

    def next(self, timeout_s: float) -> Recorded | None:
        """The next record, None when none came in time. Raises HarnessFailed after the last one of an ended host."""

    def close(self) -> None:
        """Stop reading; a waiting `next` raises. Safe to repeat."""


class Live(Protocol):
    """A link to a session that runs. Safe to use from any thread."""

    def hand(self, turn_id: TurnId, text: str, timeout_s: float) -> HandState:
        """Hand a turn over by its id. Safe to repeat. Raises HarnessFailed."""

    def cancel(self, turn_id: TurnId) -> None:
        """Ask for the end of a turn. Safe to repeat. Raises HarnessFailed."""

    def end(self, reason: str) -> None:
        """Ask for the end of the session with all its processes. Safe to repeat. Raises HarnessFailed."""

    def records(self, from_offset: int) -> Records:
        """Follow what is written from that offset on. Raises HarnessFailed."""

    def close(self) -> None:
        """Let go of the link; the session stays."""


class Harness(Protocol):
    """A kind of agent."""

    @property
    def name(self) -> str:
        """As the settings name it."""

    def missing(self) -> str | None:
        """What is missing on this machine and how to get it; None: it can be used."""

    def open(self, order: SessionOrder, cancelled: Event) -> Live:
        """Start the session's agent, or load its conversation. Raises HarnessFailed, CloneHeld."""

    def attach(self, session_id: SessionId, folder: Path) -> Live | None:
        """Reach a session that may still run; None where its host is gone. Raises HarnessFailed where it lives and gives
        no answer: that is no death."""

    def left_behind(self, session_id: SessionId, folder: Path, from_offset: int) -> list[Recorded]:
        """What a dead host wrote behind the offset. Everything of the session still running is ended first."""
