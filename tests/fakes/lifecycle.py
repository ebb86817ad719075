"""Doubles for the lifecycle's tests: a clock that only the test moves, and a resource that does as it is told."""

import concurrent.futures
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from service.lifecycle.application import Application
from service.lifecycle.resource import Phase, PhaseContext, Resource, ResourceFailure, StartContext
from service.lifecycle.roster import Observers
from service.lifecycle.shutdown import ResourceEnd, ShutdownBudget, ShutdownResult
from service.lifecycle.status import Snapshot

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""


class ManualClock:
    """A clock that stands still until `advance`; those who wait on it are woken by it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._now = 1000.0
        self._waiting: list[threading.Condition] = []

    def monotonic(self) -> float:
        return self._now

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._now)

    def wait(self, condition: threading.Condition, deadline: float) -> None:
        with self._changed:
            if self._now >= deadline:
                return
            self._waiting.append(condition)
            self._changed.notify_all()
        condition.wait(timeout=LIMIT_S)
        with self._changed:
            self._waiting.remove(condition)

    def advance(self, seconds: float) -> None:
        with self._changed:
            self._now += seconds
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()

    def await_waiters(self, count: int) -> None:
        """Return once `count` threads wait on this clock."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._waiting) >= count, timeout=LIMIT_S)


class BrokenResource(RuntimeError):
    """What a scripted resource raises when it is told to fail."""


@dataclass
class ScriptedResource:
    """Writes each call into a shared diary, then does what the script has for that phase."""

    name: str
    diary: list[str] = field(default_factory=list)
    depends_on: tuple[str, ...] = ()
    required: bool = True
    script: dict[Phase, Callable[..., None]] = field(default_factory=dict)
    started: StartContext | None = None

    def start(self, context: StartContext) -> None:
        self.started = context
        self._act("start", Phase.START, context)

    def stop_admission(self, context: PhaseContext) -> None:
        self._act("stop_admission", Phase.ADMISSION, context)

    def drain(self, context: PhaseContext) -> None:
        self._act("drain", Phase.DRAIN, context)

    def close(self, context: PhaseContext) -> None:
        self._act("close", Phase.CLOSE, context)

    def force(self, context: PhaseContext) -> None:
        self._act("force", Phase.FORCE, context)

    def _act(self, call: str, phase: Phase, context: StartContext | PhaseContext) -> None:
        self.diary.append(f"{call} {self.name}")
        if phase in self.script:
            self.script[phase](context)


@dataclass
class Hang:
    """A call that does not come back until the test lets it; `entered` tells that it was reached."""

    entered: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def __call__(self, context: object) -> None:
        self.entered.set()
        self.let_go.wait(timeout=LIMIT_S)

    def await_entry(self) -> None:
        assert self.entered.wait(timeout=LIMIT_S)


def fail(context: object) -> None:
    raise BrokenResource("told to fail")


@dataclass
class Bench:
    """An application on a manual clock, with all that its observers were told."""

    clock: ManualClock
    application: Application
    snapshots: list[Snapshot]
    failures: list[ResourceFailure]
    further_observers: list[Callable[[Snapshot], None]]

    def observe(self, on_change: Callable[[Snapshot], None]) -> None:
        """Have `on_change` told of every snapshot too."""
        self.further_observers.append(on_change)

    def failed_phases(self) -> list[tuple[str, Phase]]:
        return [(failure.resource, failure.phase) for failure in self.failures]


def bench(*resources: Resource, grace_s: float = 30.0, force_s: float = 5.0) -> Bench:
    clock = ManualClock()
    snapshots: list[Snapshot] = []
    failures: list[ResourceFailure] = []
    further_observers: list[Callable[[Snapshot], None]] = []

    def on_change(snapshot: Snapshot) -> None:
        snapshots.append(snapshot)
        for observer in further_observers:
            observer(snapshot)

    application = Application(
        resources,
        clock=clock,
        observers=Observers(on_change=on_change, on_failure=failures.append),
        budget=ShutdownBudget(grace_s=grace_s, force_s=force_s),
    )
    return Bench(clock, application, snapshots, failures, further_observers)


def in_thread(call: Callable[[], object]) -> concurrent.futures.Future:
    """Run `call` in a thread of its own; the future has its result or its error."""
    future: concurrent.futures.Future = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def chain(diary: list[str], **scripts) -> list[ScriptedResource]:
    """Three resources a, b, c, each on the one before it; `scripts` by name."""
    return [
        ScriptedResource(name, diary, depends_on=depends_on, script=scripts.get(name, {}))
        for name, depends_on in (("a", ()), ("b", ("a",)), ("c", ("b",)))
    ]


def ends(result: ShutdownResult) -> dict[str, ResourceEnd]:
    """How each resource ended, by name."""
    return {resource.name: resource.end for resource in result.resources}


def failed_phases(result: ShutdownResult) -> list[tuple[str, Phase]]:
    """What failed, and in which phase."""
    return [(resource.name, failure.phase) for resource in result.resources for failure in resource.failures]
