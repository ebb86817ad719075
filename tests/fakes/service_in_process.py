"""The service's dispatch path and workers in this process: real SQLite, threads and wiring, a stand-in harness, a set clock."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as Flag
from types import TracebackType
from typing import Any, Self

from domain.model import Account, Event, Fact, ItemId, ItemKind, Phase, Road, Snapshot, Thread, TurnId
from domain.ports import ItemFacts, Listing, Missing, NoAnswer, NotSent, Repository, Said, SendResult
from githubapi.door import GitHub
from githubapi.pulls import GitHubPulls
from replies.record import Target
from service import wiring
from service.clock import SystemClock
from service.parts import SPARE_WORKERS
from service.ports import Ports
from service.repositories import Remotes
from service.settings import Settings
from service.state_folder import StateFolder
from sessions.clones import CloneOrder, Clones, PreparedClone
from sessions.git import item_branch
from sessions.port import Harness
from sessions.unsaved import Unsaved
from statedb import session_rows
from statedb.reading import item_by_id
from statedb.rows import ItemRow
from statedb.session_rows import SessionRow
from statedb.writing import write_reply
from tests.fakes.core import ADA, HOST, THREAD, comment, delivery
from tests.fakes.dispatching import LIMIT_S, START_MS, EventBook
from tests.fakes.harness import StandInHarness
from tests.fakes.links import StandInRecords
from tests.fakes.manners import Manner
from webhook.handled import Handled
from webhook.means import Means
from webhook.worker import Worker, item_view

NOBODY = ItemId(0)
"""No item has this id: waking it lets the lanes look at the clock again, and at nothing else."""
PAUSES_S = (2, 10, 30)
"""How long the service waits before each repeat of a failed attempt."""
QUIET_LOOKS = 4
"""How often in a row nothing may be found going on before it counts as quiet."""


class SetClock(SystemClock):
    """A time of day that only tests move; waiting is real."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def wall_ms(self) -> int:
        """The time as it was set."""
        return self.now_ms


class ScriptedGitHub:
    """Answers for an issue with the label and a repository on this disk; or not at all. Takes nothing that is said."""

    def __init__(self, repository: Path) -> None:
        self.repository_path = repository
        self.is_reachable = True
        self.labels: tuple[str, ...] = ("the-loop",)
        self.deleted: set[int] = set()

    def me(self) -> Account | NoAnswer:
        """The account that posts."""
        return Account(login="loop-bot", id=900)

    def item(self, thread: Thread, repository: str) -> ItemFacts | Missing | NoAnswer:
        """An open issue."""
        if not self.is_reachable:
            return NoAnswer("it is away")
        told = Snapshot(
            kind=ItemKind.ISSUE, title="An item", is_open=True, labels=self.labels, updated_at_ms=10_000_000
        )
        return ItemFacts(snapshot=told, url=f"https://{HOST}/o/r/issues/{thread.number}", body="", author=ADA)

    def repository(self, name: str) -> Repository | Missing | NoAnswer:
        """The repository on this disk."""
        if not self.is_reachable:
            return NoAnswer("it is away")
        return Repository(
            host=HOST, id=100, name=name, default_branch="main", clone_url=f"file://{self.repository_path}"
        )

    def comment(self, thread: Thread, repository: str, fact: Fact, object_id: int) -> Said | Missing | NoAnswer:
        """Gone where it was deleted; of others nothing is asked here."""
        return Missing() if object_id in self.deleted else NoAnswer("nothing is said of it")

    def post(self, thread: Thread, repository: str, body: str) -> SendResult:
        """Not now."""
        return NotSent("it is away")

    def react(self, thread: Thread, repository: str, fact: Fact, object_id: int, content: str) -> SendResult:
        """Not now."""
        return NotSent("it is away")

    def own_comments(self, thread: Thread, repository: str, since_ms: int) -> Listing | NoAnswer:
        """Not now."""
        return NoAnswer("it is away")

    def said(self, thread: Thread, repository: str, kind: ItemKind) -> Listing | Missing | NoAnswer:
        """Not now."""
        return NoAnswer("it is away")


@dataclass(frozen=True, slots=True)
class EmptyClones(Clones):
    """Clones without git: a folder each, in which nothing is ever unsaved."""

    def find(self, item_id: ItemId, thread: Thread) -> PreparedClone | None:
        """The folder, if it stands there."""
        path = self.folder / str(item_id)
        return _empty_clone(item_id, thread, path) if path.is_dir() else None

    def prepare(self, order: CloneOrder, cancelled: Flag | None = None) -> PreparedClone:
        """Make the folder."""
        path = self.folder / str(order.item_id)
        path.mkdir(exist_ok=True)
        return _empty_clone(order.item_id, order.thread, path)

    def remove(self, clone: PreparedClone, cancelled: Flag | None = None) -> Unsaved | None:
        """Remove the folder."""
        clone.path.rmdir()
        return None

    def discard(self, item_id: ItemId, cancelled: Flag | None = None) -> None:
        """Remove the folder."""
        path = self.folder / str(item_id)
        if path.is_dir():
            path.rmdir()


class ServiceInProcess:
    """Everything from `handle` to the harness. Use it as a context; a second one on the same folder is a restart.

    `real_clones`: with git, from `github.repository_path`. `routing`, `sessions` and `polling` are settings. `harness`
    may be made of the settings and the state folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        harness: StandInHarness | None = None,
        make_harness: Callable[[Settings, StateFolder], Harness] | None = None,
        clock: SetClock | SystemClock | None = None,
        github: ScriptedGitHub | None = None,
        real_clones: bool = False,
        routing: dict[str, Any] | None = None,
        sessions: dict[str, Any] | None = None,
        polling: dict[str, Any] | None = None,
        end_s: float = 5.0,
        emit: Callable[[Any], None] | None = None,
    ) -> None:
        self.folder = folder
        self.harness = harness or StandInHarness()
        self.clock = clock or SetClock()
        self.github = github or ScriptedGitHub(folder / "remote.git")
        self.events = EventBook()
        self.settings = Settings(
            name=f"test-{folder.name}"[:40],
            state_folder=folder / "state",
            base_folder=folder,
            routing={"authorized_users": ("ada", "bob")} | (routing or {}),
            sessions=sessions or {},
            polling=polling or {},
        )
        self.state = StateFolder(self.settings.state)
        self.state.make()
        port: Harness = make_harness(self.settings, self.state) if make_harness else self.harness
        self.emit = emit or self.events.emit
        outside = _ports(self.github, port)
        self.core = wiring.build_core(self.settings, self.clock, self.state, outside, self.emit)
        means = wiring.build_means(self.settings, self.clock, self.state, outside, self.core, self.emit)
        if not real_clones:
            means = replace(means, clones=EmptyClones(self.state.clones, means.clones.git, means.clones.mirrors))
        self.means: Means = replace(means, limits=replace(means.limits, end_s=end_s), spawn=self._start_thread)
        self.worker = Worker(self.means)
        self._threads: list[threading.Thread] = []
        self._workers: list[threading.Thread] = []

    # Its life

    def start(self) -> None:
        """Start the committer and the workers, and take up what an earlier run left."""
        self._spawn("committer", self.core.committer.run)
        self.worker.recover()
        for number in range(2 * self.settings.routing.max_concurrent_dispatches + SPARE_WORKERS):
            self._workers.append(self._spawn(f"worker-{number}", self.worker.run))
        self._workers.append(self._spawn("second-lane", self.worker.run_second_lane))

    def crash(self) -> None:
        """From now on nothing is written and nothing new is begun, as if the process had been killed. Never blocks."""
        self.core.committer.stop()
        self.core.lanes.stop()

    def stop(self) -> None:
        """End the service; its sessions go on. Safe to repeat, also after a crash."""
        self.core.lanes.stop()
        _join(self._workers)
        self.worker.let_go()
        self.core.committer.stop()
        _join(self._threads)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # What a test does

    def arrive(self, *events: Event, road: Road = Road.WEBHOOK) -> Handled:
        """Handle these one after another; what became of the last."""
        return [self.core.dispatcher.handle(event, delivery(road)) for event in events][-1]

    def tell(self, event: Event) -> None:
        """Handle one event, whatever becomes of it."""
        self.arrive(event)

    def begin(self, number: int = 1, text: str = "", thread: Thread = THREAD) -> Event:
        """Start the thread's item and wait until the agent has the start."""
        start = comment(number, f"the-loop start {text}".strip(), thread=thread)
        self.arrive(start)
        self.wait_fates([start], "control-executed")
        return start

    def meet(self, *manners: Manner) -> None:
        """Start the item, then let the turns after that one go like this."""
        self.begin()
        self.settle()
        self.harness.next_turns(*manners)

    def let_attempts_pass(self) -> None:
        """Until every repeat of a failing attempt was made."""
        for pause_s in PAUSES_S:
            self.settle()
            self.advance(pause_s)
        self.settle()

    def record_reply(self, turn_id: TurnId, text: str) -> None:
        """Record what the agent says through the seat during a turn."""
        said = self.core.recorder.comment(
            turn_id, "reply", 0, item_id=self.item_id(), target=Target(thread=THREAD, repository="o/r"), text=text,
            now_ms=self.clock.wall_ms(), turn_id=turn_id,
        )  # fmt: skip
        self.core.committer.write(lambda connection: write_reply(connection, said))

    def advance(self, seconds: float) -> None:
        """Move the clock, and let everyone look at it."""
        assert isinstance(self.clock, SetClock)
        self.clock.now_ms += round(seconds * 1000)
        self.core.lanes.wake_at(NOBODY, self.clock.now_ms)

    # What a test sees

    def item_id(self, thread: Thread = THREAD) -> ItemId:
        """The id of the thread's item."""
        ((item_id,),) = self.rows(
            "SELECT item_id FROM threads WHERE repository_id = ? AND number = ?", thread.repository_id, thread.number
        )
        return ItemId(item_id)

    def item(self, thread: Thread = THREAD) -> ItemRow:
        """The thread's item as it stands."""
        found = item_by_id(self.core.database.reader(), self.item_id(thread))
        assert found is not None
        return found

    def phase(self, thread: Thread = THREAD) -> Phase:
        """What people asked of the thread's item."""
        return item_view(self.item(thread)).phase

    def session(self, thread: Thread = THREAD) -> SessionRow | None:
        """The item's session that has not ended."""
        return session_rows.session_of(self.core.database.reader(), self.item_id(thread))

    def fates(self, *events: Event) -> list[str]:
        """For each event its outcome, or its fate where it has none."""
        return [self._fate(event) for event in events]

    def wait_fates(self, events: Sequence[Event], *wanted: str) -> None:
        """Return once the events have these fates or outcomes; fails when they do not get them in time."""
        self.until(lambda: self.fates(*events) == list(wanted), lambda: f"{self.fates(*events)}")

    def said(self, kind: str, thread: Thread = THREAD) -> list[str]:
        """What was recorded to be said on the thread, of one kind (`notice` stands for every notice)."""
        rows = self.rows(
            "SELECT whole FROM replies WHERE item_id = ? AND (kind = ? OR kind LIKE ?) ORDER BY rowid",
            self.item_id(thread), kind, f"{kind}-%",
        )  # fmt: skip
        return [row[0] for row in rows]

    def turns(self, thread: Thread = THREAD) -> list[tuple[str, str]]:
        """Kind and state of the item's turns, in the order in which they were written."""
        rows = self.rows("SELECT kind, state FROM turns WHERE item_id = ? ORDER BY rowid", self.item_id(thread))
        return [(kind, state) for kind, state in rows]

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the store holds, by a query of the test's own."""
        return list(self.core.database.reader().execute(query, values))

    def until(self, holds: Callable[[], bool], found: Callable[[], str] = str) -> None:
        """Wait until something holds that the service's threads bring about; fails when the time is over."""
        deadline_s = time.monotonic() + LIMIT_S
        while not holds():
            assert time.monotonic() < deadline_s, f"waited in vain: {found()}"
            _moment()

    def settle(self, *, but: Sequence[ItemId] = ()) -> None:
        """Return once nothing is going on any more before the clock moves, at other items than these."""
        deadline_s, looks = time.monotonic() + LIMIT_S, 0
        while looks < QUIET_LOOKS:
            assert time.monotonic() < deadline_s, f"it does not come to rest: {self.events.all()[-6:]}"
            looks = looks + 1 if self._is_quiet(set(but)) else 0
            _moment()

    def _fate(self, event: Event) -> str:
        assert event.key is not None
        reader, dispatcher = self.core.database.reader(), self.core.dispatcher
        outcome = dispatcher.delivery_outcome(reader, event.key)
        fate = dispatcher.delivery_status(reader, event.key)
        return outcome or (fate.value if self.rows("SELECT 1 FROM events WHERE event_key = ?", event.key) else "")

    def _is_quiet(self, but: set[ItemId]) -> bool:
        """Whether no lane is at work or about to be, and all that hosts wrote stands in the store."""
        lanes = self.core.lanes
        with lanes._changed:
            now_ms = self.clock.wall_ms()
            due = {item_id for at_ms, item_id in lanes._timers if at_ms <= now_ms}
            if (lanes._queued | lanes._busy | lanes._again | due) - but:
                return False
        stored = {row[0]: row[1:] for row in self.rows("SELECT session_id, journal_offset, state FROM sessions")}
        for host in self.harness.hosts():
            offset, state = stored[host.order.session_id]
            if host.order.item_id not in but and (offset < len(host.journal) or (state == "live") != host.lives):
                return False
        return all(
            followed.records.is_asked
            for followed in list(self.worker._ground.sessions._followed.values())
            if isinstance(followed.records, StandInRecords) and followed.session.item_id not in but
        )

    def _start_thread(self, name: str, body: Callable[[], None]) -> None:
        self._spawn(name, body)

    def _spawn(self, name: str, body: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=body, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread


def thread(number: int) -> Thread:
    """A thread of the repository."""
    return replace(THREAD, number=number)


def texts_in(prompt: str) -> list[str]:
    """What people wrote in a prompt, in its order."""
    block = prompt[prompt.index("{") : prompt.rindex("}") + 1]
    return [event["text"] for event in json.loads(block)["events"]]


def _join(threads: Sequence[threading.Thread]) -> None:
    for one in threads:
        one.join(LIMIT_S)
        assert not one.is_alive(), f"{one.name} did not end"


def _moment() -> None:
    threading.Event().wait(0.005)


def _empty_clone(item_id: ItemId, thread: Thread, path: Path) -> PreparedClone:
    return PreparedClone(
        item_id=item_id, thread=thread, path=path, branch=item_branch(thread.number), base_sha="0" * 40
    )


def _ports(github: ScriptedGitHub, harness: Harness) -> Ports:
    door = GitHub(HOST, "http://127.0.0.1:1", str)
    remotes = Remotes(github, {}, str)
    return Ports(github=door, items=github, threads=github, pulls=GitHubPulls(door), remotes=remotes, harness=harness)
