"""A committer with a plan of names, for tests of what it does with batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from statedb.committer import Committer, Ticket
from statedb.database import Connection, Database
from tests.fakes.dispatching import LIMIT_S

POISON = "poison"


Act = Callable[[Connection, str], None]


def nothing_more(connection: Connection, name: str) -> None:
    """Write the name and do no other thing."""


class Names:
    """A plan that writes each name down; `act` may do more with it."""

    def __init__(self, act: Act = nothing_more) -> None:
        self.act = act
        self.batches: list[list[str]] = []
        self.told: list[list[str]] = []

    def __call__(self, connection: Connection, batch: Sequence[str]) -> Sequence[str]:
        self.batches.append(list(batch))
        for name in batch:
            connection.execute("INSERT INTO facts_of_ours VALUES (?, '')", (name,))
            self.act(connection, name)
        return [f"{name} is written" for name in batch]

    def committed(self, answers: Sequence[str]) -> None:
        self.told.append(list(answers))


class Wakings:
    """A notifier that counts how it was called and can be waited for."""

    def __init__(self, expected: int = 1) -> None:
        self.calls: list[list[Ticket[Any]]] = []
        self._expected = expected
        self._done = threading.Event()

    def wake(self, tickets: Sequence[Ticket[Any]]) -> None:
        self.calls.append(list(tickets))
        if sum(map(len, self.calls)) >= self._expected:
            self._done.set()

    def wait(self) -> None:
        assert self._done.wait(LIMIT_S), "nobody was woken"


def committer_on(
    folder: Path, plan: Names, queue_max: int = 1000, database: Database | None = None
) -> Committer[str, str]:
    committer: Committer[str, str] = Committer(database or Database(folder / "state.db", lambda: 1), queue_max)
    committer.serve(plan)
    return committer


@contextmanager
def running(committer: Committer[str, str]) -> Iterator[None]:
    thread = threading.Thread(target=committer.run)
    thread.start()
    try:
        yield
    finally:
        committer.stop()
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def names_on_disk(folder: Path) -> list[str]:
    rows = Database(folder / "state.db", lambda: 1).reader().execute("SELECT name FROM facts_of_ours ORDER BY name")
    return [name for (name,) in rows]


def error_of(ticket: Ticket[Any]) -> type[BaseException] | None:
    return type(ticket.error) if ticket.error is not None else None


class Observed(Committer[str, str]):
    """A committer that lets a test wait until a job stands in the queue."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.queued = threading.Semaphore(0)

    def _put(self, job: Any) -> None:
        super()._put(job)
        self.queued.release()
