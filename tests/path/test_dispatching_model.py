"""Deduper, store and Dispatcher against a small model in memory, over all roads, duplicates, restarts and a worker."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from domain.model import Event, EventKey, Fate, Phase, Road
from statedb.reading import fates_of
from statedb.rows import derived_fate, derived_outcome
from tests.fakes.core import Desk, comment, delivery
from tests.fakes.dispatching import Dispatching
from webhook.handled import Status

SAYINGS = [
    "hello",
    "hello",
    "the-loop start",
    "the-loop start",
    "the-loop stop",
    "the-loop pause",
    "the-loop resume",
    "the-loop strat",
]
numbers = st.integers(1, 6)
roads = st.sampled_from(Road)


class Roads(RuleBasedStateMachine):
    """Six things are said on one thread; each may come at any time, again, by any road, and the service may restart.

    The model knows which came, how often by which delivery, and the fate that was last told; it computes nothing.
    """

    @initialize(said=st.lists(st.sampled_from(SAYINGS), min_size=6, max_size=6))
    def begin(self, said: list[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="roads-"))
        self.events = {number: comment(number, body) for number, body in enumerate(said, start=1)}
        self.arrivals: dict[tuple[Road, str], int] = {}
        self.fates: dict[int, tuple[Fate, str]] = {}
        self._open()

    def _open(self) -> None:
        self.dispatching = Dispatching(self.folder)
        self.dispatching.start()
        self.desk = Desk(self.dispatching)

    @rule(
        skips=st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=1, max_size=4), road=roads, worker_lags=st.booleans()
    )
    def arrive(self, skips: list[int], road: Road, worker_lags: bool) -> None:
        """The next that have not come yet, or some after them, so that those between come late."""
        for skipped in skips:
            missing = [number for number in self.events if number not in self.fates]
            if missing:
                self._arrive(missing[min(skipped, len(missing) - 1)], road, repeated=False)
        if not worker_lags:
            self.worker_runs()

    @rule(number=numbers, road=roads, repeated=st.booleans())
    def arrives_perhaps_again(self, number: int, road: Road, repeated: bool) -> None:
        if number in self.fates:
            self._arrive(number, road, repeated=repeated)

    def _arrive(self, number: int, road: Road, *, repeated: bool) -> None:
        event = self.events[number]
        delivery_id = str(event.key) if road in (Road.POLL, Road.CATCHUP) else f"{number}-{repeated}"
        handled = self.dispatching.dispatcher.handle(event, delivery(road, delivery_id))
        self.arrivals[road, delivery_id] = self.arrivals.get((road, delivery_id), 0) + 1
        is_first = number not in self.fates
        assert handled.status is (Status.ACCEPTED if is_first else Status.DUPLICATE)
        if not is_first:
            assert (handled.fate, handled.outcome) == self.fates[number]
        assert handled.fate is not None
        self.fates[number] = (handled.fate, handled.outcome)
        assert event.key in self.dispatching.deduper

    def worker_runs(self) -> None:
        if not self.fates:
            return
        self.desk.carry_out()
        for number in [number for number, (fate, _) in self.fates.items() if fate is Fate.INFLIGHT]:
            self.fates[number] = self._stored(number)
            if self.fates[number][0] is Fate.DONE:
                assert self._phase_in_order() is Phase.RUNNING

    @rule()
    def restarts(self) -> None:
        """The service ends and comes up on the same file; the Deduper adopts what the store knows."""
        self.dispatching.stop()
        self._open()
        rows = self.dispatching.rows(
            "SELECT event_key, outcome FROM fates WHERE fate <> 'unhandled' ORDER BY decided_at"
        )
        self.dispatching.deduper.adopt((self._key(key), str(outcome)) for key, outcome in rows)

    @invariant()
    def the_store_says_what_was_told(self) -> None:
        for number, told in getattr(self, "fates", {}).items():
            assert self._stored(number) == told

    @invariant()
    def every_arrival_is_counted_once(self) -> None:
        if hasattr(self, "dispatching"):
            rows = self.dispatching.rows("SELECT road, delivery_id, arrivals FROM deliveries")
            assert {(Road(str(road)), str(known)): count for road, known, count in rows} == self.arrivals

    @invariant()
    def the_deduper_knows_no_outcome_that_the_store_does_not(self) -> None:
        for number, (fate, outcome) in getattr(self, "fates", {}).items():
            remembered = self.dispatching.deduper.outcome(str(self.events[number].key))
            assert remembered in ("", outcome if fate is Fate.SETTLED else "")

    @invariant()
    def nothing_is_carried_out_that_nobody_started(self) -> None:
        started = {number for number, event in self._arrived().items() if "start" in event.body}
        done = [number for number, (fate, _) in getattr(self, "fates", {}).items() if fate is Fate.DONE]
        assert all(min(started, default=99) < number for number in done)

    @invariant()
    def the_phase_does_not_depend_on_the_order_of_arrival(self) -> None:
        if self._arrived():
            assert self.desk.view().phase is self._phase_in_order()

    def _arrived(self) -> dict[int, Event]:
        return {number: self.events[number] for number in sorted(getattr(self, "fates", {}))}

    def _phase_in_order(self) -> Phase:
        """What a person reads: the sayings that arrived, from the oldest to the newest."""
        phase = Phase.NONE
        for event in self._arrived().values():
            match event.body, phase:
                case "the-loop start", _:
                    phase = Phase.RUNNING
                case "the-loop stop", _:
                    phase = Phase.STOPPED
                case "the-loop pause", Phase.RUNNING:
                    phase = Phase.PAUSED
                case "the-loop resume", Phase.PAUSED:
                    phase = Phase.RUNNING
                case _:
                    continue
        return phase

    def _stored(self, number: int) -> tuple[Fate, str]:
        key = self._key(self.events[number].key)
        rows = fates_of(self.dispatching.database.reader(), [key]).get(key, [])
        return derived_fate(rows), derived_outcome(rows)

    @staticmethod
    def _key(key: object) -> EventKey:
        return EventKey(str(key))

    def teardown(self) -> None:
        if hasattr(self, "dispatching"):
            self.dispatching.stop()
            shutil.rmtree(self.folder)


Roads.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
TestRoads = Roads.TestCase
