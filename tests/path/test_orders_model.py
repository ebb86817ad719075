"""The model of order: words said on one thread, read as a person reads them, against our decisions and our Dispatcher.

A word is what was said, in the order of the thread; it may arrive in any order, and a worker may lag. Two things must
never happen: a comment is refused although everything known by then says that its stretch runs on, and a comment is
handed over that by the thread was said to nobody. All short words are tried on the decisions alone, and longer ones,
with all that else may happen, on the Dispatcher over its store.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.decision import Apply, Queue, Reject, Suppress
from domain.model import Event, ItemId, Outcome, Phase, Road, Thread
from domain.phase import Folded, PhaseCommand, fold
from domain.policy import ItemView, View, decide, judge_again
from statedb.database import Connection
from statedb.reading import item_by_id
from statedb.rows import ItemRow, Step
from tests.fakes.core import HOST, carry_out, comment, decide_all_again, delivery, policy, snapshot, view_of
from tests.fakes.dispatching import Dispatching
from webhook.handled import Submission

RULES = policy()
COMMENT = "hello"
COMMANDS = ("start", "stop", "pause", "resume")
SAYINGS = (*COMMANDS, COMMENT)

Word = tuple[str, ...]


# How a person reads the thread: the oracle, apart from our own fold

_READ = {
    ("none", "start"): "running",
    ("stopped", "start"): "running",
    ("paused", "start"): "running",
    ("running", "pause"): "paused",
    ("paused", "resume"): "running",
}


def read(said: Sequence[str]) -> list[str]:
    """The phase after each saying, with the phase before all of them in front."""
    phases = ["none"]
    for saying in said:
        phases.append("stopped" if saying == "stop" else _READ.get((phases[-1], saying), phases[-1]))
    return phases


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the comment at a position, and which positions of the word had arrived by then."""

    position: int
    outcome: Outcome | None
    arrived: frozenset[int]

    def violates(self, word: Word) -> bool:
        known = sorted(self.arrived)
        before = read([word[at] for at in known if at < self.position])[-1]
        since = read([word[at] for at in known])[sum(at <= self.position for at in known) :]
        if self.outcome is None:
            return before in ("none", "stopped")
        return before == "running" and set(since) == {"running"}


def event_of(word: Word, position: int, **about) -> Event:
    saying = word[position]
    return comment(position + 1, saying if saying == COMMENT else f"the-loop {saying}", **about)


# The decisions alone


@dataclass(slots=True)
class PureItem:
    """One work item made of nothing but decisions: what the Dispatcher and a worker do, without a store."""

    word: Word
    commands: list[PhaseCommand] = field(default_factory=list)
    folded: Folded = field(default_factory=Folded)
    waiting: list[int] = field(default_factory=list)
    arrived: set[int] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)

    def arrive(self, position: int) -> None:
        self.arrived.add(position)
        match decide(EVENTS[position, self.word[position]], View(item=ItemView(folded=self.folded)), RULES):
            case Apply(folded=after, newest=newest):
                self._keep(position)
                self.folded = after if newest else fold(self.commands)
            case Reject(stands=True):
                self._keep(position)
                self.folded = fold(self.commands)
            case Queue():
                self.waiting = sorted([*self.waiting, position])
            case Suppress(outcome=outcome):
                self._conclude(position, outcome)
            case other:
                raise AssertionError(other)

    def carry_out(self, at_most: int = 99) -> None:
        """Judge again what waits, in order."""
        judged, self.waiting = self.waiting[:at_most], self.waiting[at_most:]
        for position in judged:
            event = EVENTS[position, self.word[position]]
            self._conclude(position, judge_again(event, ItemView(folded=self.folded), RULES))

    def _keep(self, position: int) -> None:
        self.commands.append(MOVES[position, self.word[position]])

    def _conclude(self, position: int, outcome: Outcome | None) -> None:
        self.verdicts.append(Verdict(position, outcome, frozenset(self.arrived)))


EVENTS = {(at, said): event_of((said,) * (at + 1), at) for at in range(5) for said in SAYINGS}
MOVES = {
    (at, command.verb.value): PhaseCommand(key=event.key, place=event.place, verb=command.verb)
    for (at, _), event in EVENTS.items()
    for command in (event.reading.commands if event.reading else ())
    if event.key is not None
}


def words(longest: int, sayings: Sequence[str] = SAYINGS) -> Iterator[Word]:
    for length in range(1, longest + 1):
        yield from itertools.product(sayings, repeat=length)


def in_order_faults(item: PureItem) -> list[object]:
    """What a person would object to after everything arrived in order and was carried out."""
    word, phases = item.word, read(item.word)
    outcomes = {verdict.position: verdict.outcome for verdict in item.verdicts}
    comments = [at for at, saying in enumerate(word) if saying == COMMENT]
    handed = [verdict.position for verdict in item.verdicts if verdict.outcome is None]
    faults: list[object] = [verdict for verdict in item.verdicts if verdict.violates(word)]
    faults += [("no fate", at) for at in comments if at not in outcomes]
    faults += [
        ("refused as if nobody had started", at)
        for at in comments
        if phases[at] == "running" and outcomes.get(at) is Outcome.AWAITING_START
    ]
    faults += [("out of order or twice", handed)] if handed != sorted(set(handed)) else []
    faults += [("phase", item.folded.phase)] if item.folded.phase != phases[-1] else []
    return faults


def test_in_order_with_a_worker_that_lags_at_will_nothing_is_lost_refused_or_delivered_wrongly() -> None:
    """All words of up to four sayings; after each the worker does nothing, takes one comment, or takes all."""
    faults = []
    for word in words(4):
        for takes in itertools.product((0, 1, 99), repeat=len(word)):
            item = PureItem(word)
            for position, at_most in enumerate(takes):
                item.arrive(position)
                item.carry_out(at_most)
            item.carry_out()
            faults += [(word, takes, fault) for fault in in_order_faults(item)]
    assert faults == []


def test_commands_that_arrive_in_any_order_end_in_the_phase_of_the_thread() -> None:
    """All words of up to four commands, all permutations, each decided against the fold as it then stood."""
    faults = []
    for word in words(4, COMMANDS):
        for arrival in itertools.permutations(range(len(word))):
            item = PureItem(word)
            for position in arrival:
                item.arrive(position)
            if item.folded.phase != read(word)[-1]:
                faults.append((word, arrival, item.folded.phase))
    assert faults == []


def late_arrivals(length: int) -> set[tuple[int, ...]]:
    """All arrivals in which one saying comes later than its place."""
    found = set()
    for late in range(length):
        others = [at for at in range(length) if at != late]
        for behind in range(late, length):
            found.add((*others[:behind], late, *others[behind:]))
    return found


def test_with_one_late_arrival_nothing_is_refused_or_delivered_wrongly() -> None:
    """All words of up to four sayings, each of them late by any number of places, the worker at any time."""
    faults = []
    for word in words(4):
        for arrival in late_arrivals(len(word)):
            for worker_runs in itertools.product((False, True), repeat=len(word)):
                item = PureItem(word)
                for position, runs in zip(arrival, worker_runs, strict=True):
                    item.arrive(position)
                    if runs:
                        item.carry_out()
                item.carry_out()
                faults += [(word, arrival, worker_runs, v) for v in item.verdicts if v.violates(word)]
    assert faults == []


# The Dispatcher over its store


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A word, the order in which it arrives, before which arrivals the worker runs, and by which roads it comes."""

    word: Word
    arrival: tuple[int, ...]
    worker_runs: tuple[bool, ...]
    polled: tuple[bool, ...]
    """A polled saying does not tell the item's labels."""
    twice: tuple[bool, ...]
    """It comes by the other road too."""


def play(dispatching: Dispatching, connection: Connection, run: Run, number: int) -> tuple[list[Verdict], Phase]:
    """Let a run happen on a thread of its own, inside one transaction; what was concluded, and the phase at the end."""
    thread = Thread(host=HOST, repository_id=100, number=number)
    events = [_told(run, thread, at) for at in range(len(run.word))]
    verdicts: dict[int, Verdict] = {}
    arrived: set[int] = set()
    for position, runs in zip(run.arrival, run.worker_runs, strict=True):
        arrived.add(position)
        road = Road.POLL if run.polled[position] else Road.WEBHOOK
        dispatching.dispatcher(connection, [Submission(events[position], delivery(road))])
        if run.twice[position]:
            dispatching.dispatcher(connection, [Submission(events[position], delivery(Road.CATCHUP))])
        if runs:
            _work(dispatching, connection, thread)
        _note(connection, run.word, events, arrived, verdicts)
    _work(dispatching, connection, thread)
    _note(connection, run.word, events, arrived, verdicts)
    return list(verdicts.values()), view_of(_item(connection, thread)).phase


def _told(run: Run, thread: Thread, at: int) -> Event:
    saying = run.word[at]
    body = saying if saying == COMMENT else f"the-loop {saying}"
    told = None if run.polled[at] else snapshot("the-loop")
    return comment(thread.number * 100 + at, body, at_s=at, thread=thread, told=told)


def _work(dispatching: Dispatching, connection: Connection, thread: Thread) -> None:
    """What a worker does: ask what is lacking, decide again, hand over."""
    facts = ItemView(snapshot=snapshot("the-loop"))
    for step in (Step.NEED, Step.BEHIND):
        decide_all_again(dispatching, _item(connection, thread), step, facts, connection)
    carry_out(dispatching, connection, _item(connection, thread).item_id)


def _note(
    connection: Connection, word: Word, events: list[Event], arrived: set[int], verdicts: dict[int, Verdict]
) -> None:
    """Keep what was concluded of comments since the last look."""
    for at in arrived - set(verdicts):
        rows = connection.execute("SELECT fate, outcome FROM fates WHERE event_key = ?", (events[at].key,))
        ((fate, outcome),) = rows
        if word[at] == COMMENT and fate in ("done", "settled"):
            verdicts[at] = Verdict(at, Outcome(outcome) if outcome else None, frozenset(arrived))


def _item(connection: Connection, thread: Thread) -> ItemRow:
    ((item_id,),) = connection.execute("SELECT item_id FROM threads WHERE number = ?", (thread.number,))
    item = item_by_id(connection, ItemId(item_id))
    assert item is not None
    return item


def faults_of(run: Run, verdicts: list[Verdict], phase: Phase) -> list[object]:
    comments = {at for at, saying in enumerate(run.word) if saying == COMMENT}
    faults: list[object] = [verdict for verdict in verdicts if verdict.violates(run.word)]
    faults += [("no fate", at) for at in comments - {verdict.position for verdict in verdicts}]
    faults += [("phase", phase)] if phase != read(run.word)[-1] else []
    return faults


def every_run(longest: int) -> Iterator[Run]:
    """All short words about a comment, with one late arrival and all lags, pushed and polled."""
    for word in words(longest):
        if COMMENT not in word:
            continue
        for arrival in late_arrivals(len(word)):
            for worker_runs in itertools.product(*[(False, True)] * (len(word) - 1), (False,)):
                for polled in (False, True):
                    each = (polled,) * len(word)
                    yield Run(
                        word=word, arrival=arrival, worker_runs=worker_runs, polled=each, twice=(False,) * len(word)
                    )


def test_the_dispatcher_keeps_to_the_model_for_every_short_word(tmp_path: Path) -> None:
    with Dispatching(tmp_path) as dispatching:

        def play_all(connection: Connection) -> list[object]:
            faults: list[object] = []
            for number, run in enumerate(every_run(3), start=1):
                faults += [(run, fault) for fault in faults_of(run, *play(dispatching, connection, run, number))]
            return faults

        assert dispatching.committer.write(play_all, timeout_s=100) == []


@st.composite
def runs(draw: st.DrawFn) -> Run:
    word = tuple(draw(st.lists(st.sampled_from((*SAYINGS, COMMENT)), min_size=2, max_size=9)))

    def each() -> tuple[bool, ...]:
        return tuple(draw(st.lists(st.booleans(), min_size=len(word), max_size=len(word))))

    arrival = tuple(draw(st.permutations(range(len(word)))))
    return Run(word=word, arrival=arrival, worker_runs=each(), polled=each(), twice=each())


@pytest.fixture(scope="module")
def dispatching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dispatching]:
    """One store for all examples: each is on a thread of its own."""
    with Dispatching(tmp_path_factory.mktemp("orders")) as dispatching:
        yield dispatching


_numbers = itertools.count(1)


@given(runs())
@settings(max_examples=300)
def test_the_dispatcher_keeps_to_the_model_for_longer_words_in_any_order_by_any_road(
    dispatching: Dispatching, run: Run
) -> None:
    number = next(_numbers)
    verdicts, phase = dispatching.committer.write(lambda connection: play(dispatching, connection, run, number))
    assert faults_of(run, verdicts, phase) == []
