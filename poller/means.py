"""What the polled road works with, joined once by the service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from domain.ports import ItemPort
from eventlog.event import LogEvent
from githubapi.door import GitHub
from statedb.committer import Committer
from statedb.database import Database
from webhook.dispatcher import Dispatcher


class Clock(Protocol):
    """Where time comes from: what is stored is `wall_ms`, what is waited for is `monotonic`."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def wait(self, condition: threading.Condition, deadline: float) -> None:
        """Wait on a condition that the caller holds, at most until `monotonic` reaches the deadline; may return early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A repository to poll: its name (owner/repo) as the operator gave it, and the door to its host."""

    name: str
    github: GitHub
    items: ItemPort


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Everything the poller may use."""

    database: Database
    committer: Committer[Any, Any]
    dispatcher: Dispatcher
    clock: Clock
    emit: Callable[[LogEvent], None]
