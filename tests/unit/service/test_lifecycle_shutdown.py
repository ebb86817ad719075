"""Taking an application down: the order of the phases, a start in progress, and the exit code."""

import threading

import pytest

from service.lifecycle.admission import AdmissionClosed
from service.lifecycle.latch import CancelToken
from service.lifecycle.resource import Health, Phase
from service.lifecycle.shutdown import (
    ForceReason,
    ResourceEnd,
    ResourceResult,
    ShutdownBudget,
    ShutdownOutcome,
    ShutdownResult,
    exit_code,
)
from service.lifecycle.startup import StartInterrupted
from service.lifecycle.status import ApplicationState
from tests.fakes.lifecycle import (
    LIMIT_S,
    BrokenResource,
    Hang,
    ScriptedResource,
    bench,
    chain,
    ends,
    fail,
    failed_phases,
    in_thread,
)


def test_a_clean_shutdown_sweeps_in_reverse_phase_by_phase():
    diary: list[str] = []
    the = bench(*chain(diary))
    the.application.start()
    diary.clear()
    the.clock.advance(100)
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert diary == [
        *("stop_admission c", "stop_admission b", "stop_admission a"),
        *("drain c", "drain b", "drain a"),
        *("close c", "close b", "close a"),
    ]
    assert result == ShutdownResult(
        outcome=ShutdownOutcome.CLEAN,
        reason=None,
        cleanup_complete=True,
        accepted=0,
        completed=0,
        pending=0,
        pending_at_force=0,
        resources=tuple(
            ResourceResult(name=name, required=True, end=ResourceEnd.CLOSED, ended_early=False, failures=())
            for name in "abc"
        ),
        duration_s=0.0,
    )
    assert exit_code(result) == 0
    assert the.application.snapshot().state is ApplicationState.STOPPED


def test_pending_work_is_waited_for_between_the_end_of_admission_and_draining():
    diary: list[str] = []
    stopped, draining = threading.Event(), threading.Event()
    scripts = {
        "a": {Phase.ADMISSION: lambda context: stopped.set()},
        "c": {Phase.DRAIN: lambda context: draining.set()},
    }
    the = bench(*chain(diary, **scripts))
    the.application.start()
    lease = the.application.admission.acquire()
    diary.clear()
    end = the.application.begin_shutdown()
    assert the.application.snapshot().state is ApplicationState.DRAINING
    assert the.application.admission.acquire() is None
    assert stopped.wait(timeout=LIMIT_S)
    # The one wait for something that must not happen: long beside the microseconds that a wrong kernel would need.
    assert not draining.wait(timeout=0.1)
    lease.release()
    result = end.result(timeout=LIMIT_S)
    assert (result.outcome, result.accepted, result.completed) == (ShutdownOutcome.CLEAN, 1, 1)
    assert diary[3:] == ["drain c", "drain b", "drain a", "close c", "close b", "close a"]


def test_who_waits_for_admission_is_turned_away_by_the_shutdown():
    store = ScriptedResource("store")
    the = bench(store)
    the.application.start()
    store.started.report_health(Health.DEGRADED)
    waiter = in_thread(lambda: the.application.admission.acquire_when_accepting(CancelToken(), timeout_s=600))
    the.clock.await_waiters(1)
    the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert isinstance(waiter.exception(timeout=LIMIT_S), AdmissionClosed)
    with pytest.raises(AdmissionClosed):
        the.application.admission.acquire_when_accepting(CancelToken(), timeout_s=600)


def test_a_second_call_gives_the_same_future_and_its_budget_is_ignored():
    the = bench(ScriptedResource("a"))
    the.application.start()
    lease = the.application.admission.acquire()
    first = the.application.begin_shutdown(ShutdownBudget(grace_s=10, force_s=1))
    second = the.application.begin_shutdown(ShutdownBudget(grace_s=1000, force_s=1))
    assert first is second
    the.clock.advance(10)
    result = first.result(timeout=LIMIT_S)
    assert (result.outcome, result.reason) == (ShutdownOutcome.FORCED, ForceReason.DEADLINE)
    lease.release()


def test_the_future_of_a_shutdown_cannot_be_cancelled():
    the = bench()
    the.application.start()
    lease = the.application.admission.acquire()
    assert the.application.begin_shutdown().cancel() is False
    lease.release()
    assert the.application.wait_until_stopped(LIMIT_S).outcome is ShutdownOutcome.CLEAN


def test_waiting_for_the_end_gives_none_while_nobody_asked_for_it():
    the = bench()
    assert the.application.wait_until_stopped(0.0) is None


def test_an_application_that_never_started_stops_clean():
    diary: list[str] = []
    the = bench(*chain(diary))
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert ends(result) == dict.fromkeys("abc", ResourceEnd.NOT_STARTED)
    assert (exit_code(result), diary) == (0, [])
    assert [snapshot.state for snapshot in the.snapshots] == [ApplicationState.STOPPING, ApplicationState.STOPPED]


def test_a_shutdown_waits_for_a_start_in_progress_and_closes_what_it_started():
    diary: list[str] = []
    hang = Hang()
    the = bench(*chain(diary, b={Phase.START: hang}))
    starting = in_thread(the.application.start)
    hang.await_entry()
    end = the.application.begin_shutdown()
    the.clock.await_waiters(2)
    assert not any(line.startswith("stop_admission") for line in diary)
    hang.let_go.set()
    assert isinstance(starting.exception(timeout=LIMIT_S), StartInterrupted)
    result = end.result(timeout=LIMIT_S)
    assert diary == [
        *("start a", "start b", "stop_admission b", "stop_admission a", "drain b", "drain a", "close b", "close a"),
    ]
    assert (result.outcome, exit_code(result)) == (ShutdownOutcome.CLEAN, 0)
    assert ends(result)["c"] is ResourceEnd.NOT_STARTED


def test_a_start_that_heeds_its_token_ends_by_it_and_has_not_failed():
    entered = threading.Event()

    def start(context):
        cancelled = threading.Event()
        context.cancel.on_set(cancelled.set)
        entered.set()
        assert cancelled.wait(timeout=LIMIT_S)
        context.cancel.raise_if_cancelled()

    the = bench(ScriptedResource("a", script={Phase.START: start}))
    starting = in_thread(the.application.start)
    assert entered.wait(timeout=LIMIT_S)
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert isinstance(starting.exception(timeout=LIMIT_S), StartInterrupted)
    assert (the.failures, exit_code(result)) == ([], 0)


def test_a_start_that_does_not_end_within_the_grace_is_left_behind_and_forced():
    diary: list[str] = []
    hang = Hang()
    the = bench(*chain(diary, b={Phase.START: hang}))
    starting = in_thread(the.application.start)
    hang.await_entry()
    end = the.application.begin_shutdown()
    the.clock.advance(30)
    result = end.result(timeout=LIMIT_S)
    assert isinstance(starting.exception(timeout=LIMIT_S), StartInterrupted)
    assert (result.outcome, result.reason) == (ShutdownOutcome.FORCED, ForceReason.DEADLINE)
    assert set(diary) == {"start a", "start b", "force a", "force b"}
    hang.let_go.set()


def test_a_shutdown_after_a_rollback_that_failed_forces_what_did_not_close():
    diary: list[str] = []
    the = bench(*chain(diary, a={Phase.CLOSE: fail}, b={Phase.START: fail}))
    assert in_thread(the.application.start).exception(timeout=LIMIT_S) is not None
    diary.clear()
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert [line for line in diary if not line.startswith("stop_admission")] == ["force a"]
    assert ends(result) == {"a": ResourceEnd.CLOSED, "b": ResourceEnd.CLOSED, "c": ResourceEnd.NOT_STARTED}


def test_an_end_of_its_own_during_the_shutdown_is_what_was_asked_for():
    poller = ScriptedResource("poller")
    poller.script[Phase.ADMISSION] = lambda context: poller.started.report_completion(BrokenResource("cut off"))
    the = bench(poller)
    the.application.start()
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert (the.failures, result.outcome, exit_code(result)) == ([], ShutdownOutcome.CLEAN, 0)


@pytest.mark.parametrize("error", [BrokenResource("deaf"), None], ids=["with an error", "without one"])
def test_a_service_whose_required_resource_ended_by_itself_stops_clean_but_does_not_exit_with_0(error):
    diary: list[str] = []
    poller = ScriptedResource("poller", diary)
    the = bench(ScriptedResource("store", diary), poller)
    the.application.start()
    poller.started.report_completion(error)
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert (result.outcome, result.cleanup_complete) == (ShutdownOutcome.CLEAN, True)
    assert "close poller" in diary
    assert exit_code(result) == 1


def test_an_optional_resource_that_failed_long_ago_does_not_spoil_the_exit_code():
    chat = ScriptedResource("chat", required=False, script={Phase.START: fail})
    the = bench(ScriptedResource("store"), chat)
    the.application.start()
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert failed_phases(result) == [("chat", Phase.START)]
    assert exit_code(result) == 0
