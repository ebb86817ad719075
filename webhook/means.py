"""What the workers work with: the ports and the numbers, joined once by the service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from domain.model import Event, SessionId, Thread, TurnId
from domain.ports import ItemPort, Missing, NoAnswer
from eventlog.event import LogEvent
from replies.record import Recorder
from sessions.clones import Clones
from sessions.excerpt import PromptEvent, PromptItem
from sessions.git import Remote
from sessions.port import Harness
from sessions.prompts import Refused
from statedb.committer import Committer
from statedb.database import Database
from webhook.dispatcher import Dispatcher
from webhook.lanes import Lanes, Slots


class PromptPort(Protocol):
    """Writes prompts; the last line of each carries the turn's id."""

    def first(self, item: PromptItem, events: Sequence[PromptEvent], refused: Refused | None, turn_id: TurnId) -> str:
        """For a new session."""

    def following(
        self, item: PromptItem, events: Sequence[PromptEvent], refused: Refused | None, turn_id: TurnId
    ) -> str:
        """For a session that has a conversation."""

    def after_interruption(self, item: PromptItem, turn_id: TurnId) -> str:
        """For a turn that the agent had when its host died."""

    def repeated(self, old_prompt: str, turn_id: TurnId) -> str:
        """An old turn for a new conversation: possibly a repeat."""


class RemotePort(Protocol):
    """Where an item's repository is fetched from and pushed to."""

    def remote(self, thread: Thread, repository: str) -> Remote | Missing | NoAnswer:
        """The address, with the credentials for it; a repository may be given as a local path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The operator's numbers."""

    retries_max: int = 3
    place_notice_ms: int = 60_000
    """How long an item waits for a place before the thread is told."""
    start_ms: int = 120_000
    """From taking a start up to its receipt."""
    hand_s: float = 120.0
    """How long a hand-over waits for an agent that is still starting."""
    reread_ms: int | None = None
    """A polled comment that waited longer is read again before its hand-over; None: nothing is polled."""
    end_s: float = 25.0
    """How long a session's end is waited for before its processes are ended from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Everything a worker may use. `spawn` starts a thread: only the service knows how."""

    database: Database
    committer: Committer[Any, Any]
    dispatcher: Dispatcher
    harness: Harness
    clones: Clones
    prompts: PromptPort
    items: ItemPort
    remotes: RemotePort
    recorder: Recorder
    lanes: Lanes
    starts: Slots
    hand_overs: Slots
    places: Slots
    limits: Limits
    clock: Callable[[], int]
    emit: Callable[[LogEvent], None]
    publish: Callable[[], None]
    """Something to say may have been recorded. Never blocks."""
    spawn: Callable[[str, Callable[[], None]], None]
    new_id: Callable[[], str]
    sessions_folder: Path
    agent_environment: Callable[[SessionId, str], dict[str, str]]
    """What the seat adds to an agent's environment, by session and token."""
    author_name: str
    author_email: str


def prompt_event(event: Event, *, is_edit: bool, is_command: bool) -> PromptEvent:
    """The event as a prompt carries it: a command hands over its comment without the command's own words."""
    text = event.reading.remainder if is_command and event.reading else event.body
    return PromptEvent(event=event, text=text, is_edit=is_edit, is_command=is_command)
