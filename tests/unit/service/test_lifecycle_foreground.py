"""An application in the foreground ends by a signal, or with a required resource, and always in the same way."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from service.clock import SystemClock
from service.lifecycle import foreground
from service.lifecycle.application import Application
from service.lifecycle.latch import wait_for_any
from service.lifecycle.resource import Phase, StartContext
from service.lifecycle.roster import Observers
from service.lifecycle.shutdown import ShutdownResult, exit_code
from service.lifecycle.startup import StartFailed
from tests.fakes.lifecycle import BrokenResource, ScriptedResource, fail


def terminate(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def run(resource: ScriptedResource, **told: Callable[[], object]) -> ShutdownResult:
    clock = SystemClock()
    observers = Observers(on_change=lambda _: None, on_failure=lambda _: None)
    return foreground.run(Application([resource], clock=clock, observers=observers), clock, **told)


def test_a_signal_ends_it_cleanly_after_it_was_ready() -> None:
    store = ScriptedResource("store")

    def ready() -> None:
        store.diary.append("ready")
        terminate()

    result = run(store, on_ready=ready)
    assert exit_code(result) == 0
    assert store.diary == ["start store", "ready", "stop_admission store", "drain store", "close store"]


def test_a_signal_during_the_start_closes_what_was_started_and_nobody_hears_that_it_was_ready() -> None:
    store, told = ScriptedResource("store"), []

    def interrupted(context: StartContext) -> None:
        terminate()
        wait_for_any((context.cancel,), deadline=context.deadline, clock=context.clock)
        context.cancel.raise_if_cancelled()

    store.script[Phase.START] = interrupted
    result = run(store, on_ready=lambda: told.append("ready"))
    assert (exit_code(result), told) == (0, [])
    assert store.diary == ["start store", "stop_admission store", "drain store", "close store"]


def test_a_signal_that_came_before_it_was_bound_is_heard() -> None:
    store = ScriptedResource("store")
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # to this thread: others do not block it
        result = run(store)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    assert exit_code(result) == 0


def test_a_required_resource_that_ends_by_itself_takes_the_rest_down_in_order() -> None:
    store = ScriptedResource("store")
    result = run(store, on_ready=lambda: store.started.report_completion(BrokenResource("gone")))
    assert (exit_code(result), result.cleanup_complete) == (1, True)
    assert store.diary[-1] == "close store"


def test_a_failed_start_is_told_by_its_error() -> None:
    store = ScriptedResource("store", script={Phase.START: fail})
    with pytest.raises(StartFailed) as raised:
        run(store)
    assert isinstance(raised.value.__cause__, BrokenResource)
