"""Resources whose work is a coroutine on an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from service.clock import SystemClock
from service.lifecycle.application import Application
from service.lifecycle.coroutines import EventLoop, NotInOrder, Running
from service.lifecycle.resource import Phase, ResourceFailure, StartContext
from service.lifecycle.roster import Observers
from service.lifecycle.shutdown import ShutdownBudget, ShutdownOutcome
from service.lifecycle.startup import StartFailed
from tests.fakes.lifecycle import LIMIT_S


class Work:
    """A coroutine that runs until it is asked to end, and what befell it."""

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.ends_when_asked = True
        self.fault: Exception | None = None
        self.began = threading.Event()
        self._asked = asyncio.Event()

    async def run(self, context: StartContext) -> None:
        self.diary.append("run")
        self.began.set()
        try:
            await self._asked.wait()
        except asyncio.CancelledError:
            self.diary.append("cancelled")
            raise
        if self.fault is not None:
            raise self.fault

    def stop(self) -> None:
        self.diary.append("stop")
        if self.ends_when_asked:
            self._asked.set()


def application(
    loop: EventLoop, *resources: Running, grace_s: float = 10.0
) -> tuple[Application, list[ResourceFailure], threading.Event]:
    failures, failed = [], threading.Event()

    def note(failure: ResourceFailure) -> None:
        failures.append(failure)
        failed.set()

    observers = Observers(on_change=lambda _: None, on_failure=note)
    budget = ShutdownBudget(grace_s=grace_s, force_s=LIMIT_S)
    return Application([loop, *resources], clock=SystemClock(), observers=observers, budget=budget), failures, failed


def running(loop: EventLoop, work: Work, name: str = "work", **options: object) -> Running:
    return Running(name=name, loop=loop, work=work.run, stop=work.stop, **options)


async def refuse(context: StartContext) -> None:
    raise PermissionError("no token")


@pytest.fixture
def loop() -> EventLoop:
    return EventLoop()


def test_a_coroutine_runs_until_the_shutdown_asks_it_to_end(loop) -> None:
    work = Work()
    started, failures, _ = application(loop, running(loop, work))
    started.start()
    result = started.begin_shutdown().result(LIMIT_S)
    assert (work.diary, result.outcome, failures) == (["run", "stop"], ShutdownOutcome.CLEAN, [])


def test_work_that_fetches_is_asked_to_end_as_soon_as_nothing_is_admitted(loop) -> None:
    fetching, serving, order = Work(), Work(), []
    for name, work in (("fetching", fetching), ("serving", serving)):
        work.stop = _noting(order, name, work.stop)
    started, _, _ = application(
        loop,
        running(loop, fetching, "fetching", halts_at_admission=True),
        running(loop, serving, "serving", needs=("fetching",)),
    )
    started.start()
    started.begin_shutdown().result(LIMIT_S)
    assert order[0] == "fetching"


def test_a_coroutine_that_ends_by_a_fault_ends_its_resource_with_it(loop) -> None:
    work = Work()
    work.fault = ValueError("broken")
    started, failures, failed = application(loop, running(loop, work, required=False))
    started.start()
    loop.call(work.stop)
    assert failed.wait(LIMIT_S)
    started.begin_shutdown().result(LIMIT_S)
    assert [(failure.resource, failure.phase, failure.error) for failure in failures] == [
        ("work", Phase.COMPLETION, work.fault)
    ]


def test_what_is_to_be_prepared_comes_first_and_its_fault_is_why_the_start_failed(loop) -> None:
    work = Work()
    started, _, _ = application(loop, running(loop, work, prepare=refuse))
    with pytest.raises(StartFailed) as failed:
        started.start()
    assert (str(failed.value.__cause__), work.diary) == ("no token", [])


def test_work_that_does_not_end_when_asked_is_cancelled_when_it_is_forced(loop) -> None:
    work = Work()
    work.ends_when_asked = False
    started, _, _ = application(loop, running(loop, work), grace_s=0.1)
    started.start()
    assert work.began.wait(LIMIT_S)
    result = started.begin_shutdown().result(LIMIT_S)
    assert (work.diary, result.outcome, result.cleanup_complete) == (
        ["run", "stop", "cancelled"],
        ShutdownOutcome.FORCED,
        True,
    )


def test_a_loop_that_is_forced_waits_for_the_last_words_of_what_runs_on_it(loop) -> None:
    said = []

    async def speak_last(context: StartContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # as a last call to a server takes its time
            said.append("confirmed")

    work = Running(name="work", loop=loop, work=speak_last, stop=lambda: None)
    started, _, _ = application(loop, work, grace_s=0.1)
    started.start()
    result = started.begin_shutdown().result(LIMIT_S)
    assert (said, result.cleanup_complete) == (["confirmed"], True)


def test_work_that_is_cancelled_unasked_ends_its_resource_by_a_fault(loop) -> None:
    async def give_up(context: StartContext) -> None:
        await asyncio.sleep(0.01)  # until the resource is ready
        raise asyncio.CancelledError

    work = Running(name="work", loop=loop, work=give_up, stop=lambda: None, required=False)
    started, failures, failed = application(loop, work)
    started.start()
    assert failed.wait(LIMIT_S)
    started.begin_shutdown().result(LIMIT_S)
    assert [(failure.phase, str(failure.error)) for failure in failures] == [
        (Phase.COMPLETION, "work was cancelled unasked")
    ]


def test_a_loop_that_does_not_run_takes_no_work(loop) -> None:
    work = Work()
    with pytest.raises(NotInOrder):
        loop.submit(work.run(None))
    loop.call(work.stop)
    assert work.diary == []


def _noting(order: list[str], name: str, stop: Callable[[], None]) -> Callable[[], None]:
    def noted() -> None:
        order.append(name)
        stop()

    return noted
