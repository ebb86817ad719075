"""A real Dispatcher over a real SQLite file with its committer's thread, as the service wires it, for tests."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from domain.marker import Sealer
from domain.policy import Authorities, Policy, Spawn
from eventlog.event import LogEvent
from replies.record import Recorder
from statedb.committer import QUEUE_MAX, Committer
from statedb.database import Database
from webhook.dispatcher import Dispatcher
from webhook.handled import Handled, Submission
from webhook.router import Deduper, Router

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""

START_MS = 1_800_000_000_000


class EventBook:
    """Keeps what was emitted; lets a test wait for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._events: list[LogEvent] = []

    def emit(self, event: LogEvent) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def all(self) -> list[LogEvent]:
        with self._changed:
            return list(self._events)

    def named(self, name: str) -> list[LogEvent]:
        """Those of one type, by the type's name in the catalogue."""
        return [event for event in self.all() if event.name == name]

    def wait_for(self, name: str, count: int = 1) -> list[LogEvent]:
        """The events of one type, once there are so many; fails when they do not come in time."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(event.name == name for event in self._events) >= count, LIMIT_S
            ), f"{name} was not logged {count} times: {self._events}"
        return self.named(name)


class Dispatching:
    """Everything between a road and the disk. Use it as a context, or `start` and `stop` the committer yourself.

    A second one on the same folder is the service after a restart. `clock` gives milliseconds and moves one per call
    unless given; events are kept in `events` unless `emit` takes them. Ada (id 5) and Bob (id 6) may do anything unless
    `logins` says otherwise.
    """

    def __init__(
        self,
        folder: Path,
        *,
        logins: frozenset[str] = frozenset({"ada", "bob"}),
        spawn: Spawn = Spawn.LABELED,
        queue_max: int = QUEUE_MAX,
        own_accounts: Mapping[str, int] | None = None,
        repositories: frozenset[str] = frozenset(),
        clock: Callable[[], int] | None = None,
        emit: Callable[[LogEvent], None] | None = None,
        emit_all: Callable[[Sequence[LogEvent]], None] | None = None,
    ) -> None:
        self.clock = clock or itertools.count(START_MS).__next__
        self.path = folder / "state.db"
        self.database = Database(self.path, self.clock)
        self.committer: Committer[Submission, Handled] = Committer(self.database, queue_max)
        self.events = EventBook()
        self.woken: list[int] = []
        pins: dict[str, int] = {}
        authorities = Authorities(logins=logins, pinned=pins)
        self.policy = Policy(spawn=spawn, label="the-loop", authorities=authorities, digest="tests")
        self.sealer = Sealer("abcdef01", b"key")
        self.deduper = Deduper()
        self.dispatcher = Dispatcher(
            self.committer,
            Router(self.deduper, authorities, repositories, own_accounts or {}),
            self.deduper,
            self.policy,
            Recorder(self.sealer, map(str, itertools.count(1)).__next__),
            clock=self.clock,
            own_accounts=own_accounts or {},
            pins=pins,
            emit=emit or self.events.emit,
            wake=self.woken.append,
            publish=lambda: None,
            emit_all=emit_all,
        )
        self._thread = threading.Thread(target=self.committer.run, name="committer")

    def start(self) -> None:
        """Let the committer work; until then everything submitted waits in its queue."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is queued and close the store. Safe to repeat, and where the committer was never started."""
        self.committer.stop()
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "the committer did not end"

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What the store holds, by a query of the test's own."""
        return list(self.database.reader().execute(query))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
