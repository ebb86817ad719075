"""The poller's thread: it works under a lease, sleeps by the injected clock, and ends when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from poller.means import Means
from poller.poller import ADMISSION_PAUSE_S, Poller
from tests.fakes.dispatching import LIMIT_S, Dispatching
from tests.fakes.polling import INTERVAL_S, PollClock


class Gate:
    """Admission that the test opens and shuts; counts the leases."""

    def __init__(self) -> None:
        self.is_open = True
        self.given = 0
        self.held = 0

    def admit(self) -> Lease | None:
        return Lease(self) if self.is_open else None


class Lease:
    """Counted while it is held."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        gate.given += 1

    def __enter__(self) -> None:
        self._gate.held += 1

    def __exit__(self, *unused: object) -> None:
        self._gate.held -= 1


class Loop:
    """A poller without repositories, in a thread of its own."""

    def __init__(self, dispatching: Dispatching) -> None:
        self.clock = PollClock()
        self.gate = Gate()
        self.events = dispatching.events
        means = Means(
            database=dispatching.database,
            committer=dispatching.committer,
            dispatcher=dispatching.dispatcher,
            clock=self.clock,
            emit=self.events.emit,
        )
        self.poller = Poller([], means, admit=self.gate.admit, interval_s=INTERVAL_S)
        self.thread = threading.Thread(target=self.poller.run, name="poller")

    @contextmanager
    def running(self) -> Iterator[None]:
        self.thread.start()
        try:
            yield
        finally:
            self.poller.stop()
            self.thread.join(LIMIT_S)
            assert not self.thread.is_alive()

    def rounds(self) -> int:
        return len(self.events.named("poll.cycle"))


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with Dispatching(tmp_path) as dispatching:
        yield Loop(dispatching)


def test_a_round_is_made_at_once_and_then_every_interval(loop: Loop) -> None:
    with loop.running():
        loop.clock.await_waiters(1)
        assert loop.rounds() == 1
        loop.clock.advance(INTERVAL_S - 1)
        loop.clock.await_waiters(1)
        assert loop.rounds() == 1
        loop.clock.advance(1)
        loop.events.wait_for("poll.cycle", 2)
    assert (loop.gate.given, loop.gate.held) == (2, 0)


def test_nothing_is_polled_while_the_service_takes_no_work(loop: Loop) -> None:
    loop.gate.is_open = False
    with loop.running():
        loop.clock.await_waiters(1)
        assert loop.rounds() == 0
        loop.gate.is_open = True
        loop.clock.advance(ADMISSION_PAUSE_S)
        loop.events.wait_for("poll.cycle")


def test_a_sleeping_poller_ends_at_once_when_it_is_stopped(loop: Loop) -> None:
    with loop.running():
        loop.clock.await_waiters(1)
    assert loop.rounds() == 1


def test_a_poller_that_was_stopped_before_it_ran_does_nothing(loop: Loop) -> None:
    loop.poller.stop()
    loop.poller.stop()
    with loop.running():
        pass
    assert (loop.rounds(), loop.gate.given) == (0, 0)
