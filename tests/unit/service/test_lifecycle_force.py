"""When the graceful way down is given up: by a failure, by the deadline, by an impatient operator."""

import threading

import pytest

from service.lifecycle.application import Application
from service.lifecycle.calls import NotInTime
from service.lifecycle.resource import Phase
from service.lifecycle.roster import Observers
from service.lifecycle.shutdown import (
    ForceReason,
    ResourceEnd,
    ShutdownOutcome,
    exit_code,
)
from service.lifecycle.status import ApplicationState
from tests.fakes.lifecycle import (
    LIMIT_S,
    BrokenResource,
    Hang,
    ManualClock,
    ScriptedResource,
    bench,
    chain,
    ends,
    fail,
    failed_phases,
)


def test_work_that_outlives_the_grace_is_counted_and_everything_is_forced():
    diary: list[str] = []
    the = bench(*chain(diary))
    the.application.start()
    lease = the.application.admission.acquire()
    diary.clear()
    end = the.application.begin_shutdown()
    the.clock.advance(30)
    result = end.result(timeout=LIMIT_S)
    assert (result.outcome, result.reason) == (ShutdownOutcome.FORCED, ForceReason.DEADLINE)
    assert (result.accepted, result.completed, result.pending, result.pending_at_force) == (1, 0, 1, 1)
    assert {line for line in diary if not line.startswith("stop_admission")} == {"force a", "force b", "force c"}
    assert ends(result) == dict.fromkeys("abc", ResourceEnd.CLOSED)
    assert result.cleanup_complete
    assert result.duration_s == 30
    assert exit_code(result) == 1
    lease.release()


@pytest.mark.parametrize(
    ("phase", "calls_after_the_failure"),
    [
        pytest.param(Phase.ADMISSION, {"stop_admission a", "force a", "force b", "force c"}, id="stop_admission"),
        pytest.param(Phase.DRAIN, {"force a", "force b", "force c"}, id="drain"),
        pytest.param(Phase.CLOSE, {"force a", "force b"}, id="close"),
    ],
)
def test_a_phase_that_raises_is_recorded_and_what_is_not_closed_is_forced(phase, calls_after_the_failure):
    diary: list[str] = []
    the = bench(*chain(diary, b={phase: fail}))
    the.application.start()
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    call_name = "stop_admission" if phase is Phase.ADMISSION else str(phase)
    assert set(diary[diary.index(f"{call_name} b") + 1 :]) == calls_after_the_failure
    assert (result.outcome, result.reason, result.cleanup_complete) == (ShutdownOutcome.FORCED, None, True)
    assert failed_phases(result) == the.failed_phases() == [("b", phase)]
    assert exit_code(result) == 1


@pytest.mark.parametrize("phase", [Phase.ADMISSION, Phase.DRAIN, Phase.CLOSE])
def test_a_phase_that_hangs_is_given_up_when_the_grace_is_over(phase):
    hang = Hang()
    the = bench(*chain([], b={phase: hang}))
    the.application.start()
    end = the.application.begin_shutdown()
    hang.await_entry()
    the.clock.advance(30)
    result = end.result(timeout=LIMIT_S)
    assert (result.outcome, result.reason, result.cleanup_complete) == (
        ShutdownOutcome.FORCED,
        ForceReason.DEADLINE,
        True,
    )
    assert failed_phases(result) == [("b", phase)]
    assert isinstance(the.failures[0].error, NotInTime)
    hang.let_go.set()


def test_a_hanging_phase_learns_by_its_token_that_the_grace_is_over():
    entered, learned = threading.Event(), threading.Event()

    def wait_for_the_token(context):
        entered.set()
        context.cancel.on_set(learned.set)
        assert learned.wait(timeout=LIMIT_S)

    the = bench(ScriptedResource("a", script={Phase.DRAIN: wait_for_the_token}))
    the.application.start()
    end = the.application.begin_shutdown()
    assert entered.wait(timeout=LIMIT_S)
    the.clock.advance(30)
    assert end.result(timeout=LIMIT_S).reason is ForceReason.DEADLINE
    assert learned.wait(timeout=LIMIT_S)


def test_force_that_fails_or_hangs_makes_the_cleanup_incomplete_and_the_application_failed():
    hang = Hang()
    the = bench(*chain([], a={Phase.FORCE: hang}, b={Phase.DRAIN: fail}, c={Phase.FORCE: fail}))
    the.application.start()
    end = the.application.begin_shutdown()
    hang.await_entry()
    the.clock.advance(34.9)
    assert not end.done()
    the.clock.advance(0.2)
    result = end.result(timeout=LIMIT_S)
    assert ends(result) == {
        "a": ResourceEnd.FORCE_FAILED,
        "b": ResourceEnd.CLOSED,
        "c": ResourceEnd.FORCE_FAILED,
    }
    assert not result.cleanup_complete
    assert failed_phases(result) == [("a", Phase.FORCE), ("b", Phase.DRAIN), ("c", Phase.FORCE)]
    assert the.application.snapshot().state is ApplicationState.FAILED
    assert exit_code(result) == 1
    hang.let_go.set()


def test_resources_are_forced_all_at_once():
    """Each force returns only when all three were entered: one after the other they would never end."""
    together = threading.Barrier(3)

    def meet(context):
        together.wait(timeout=LIMIT_S)

    forced = {name: {Phase.FORCE: meet} for name in "abc"}
    forced["c"][Phase.ADMISSION] = fail
    the = bench(*chain([], **forced))
    the.application.start()
    assert the.application.begin_shutdown().result(timeout=LIMIT_S).cleanup_complete


def test_aborting_the_grace_forces_at_once_under_the_deadlines_fixed_at_first():
    deadlines: list[float] = []
    the = bench(ScriptedResource("a", script={Phase.FORCE: lambda context: deadlines.append(context.deadline)}))
    the.application.start()
    lease = the.application.admission.acquire()
    asked_at = the.clock.monotonic()
    end = the.application.begin_shutdown()
    the.clock.await_waiters(1)
    the.application.abort_grace()
    result = end.result(timeout=LIMIT_S)
    assert (result.outcome, result.reason, result.pending_at_force) == (ShutdownOutcome.FORCED, ForceReason.SIGNAL, 1)
    assert deadlines == [asked_at + 35]
    lease.release()


def test_a_grace_that_was_aborted_before_it_began_is_none():
    """The second press of a signal may overtake the first: nothing is lost by it."""
    the = bench(ScriptedResource("a"))
    the.application.start()
    lease = the.application.admission.acquire()
    the.application.abort_grace()
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert (result.outcome, result.reason) == (ShutdownOutcome.FORCED, ForceReason.SIGNAL)
    lease.release()


class StoppedClock(ManualClock):
    """A clock that can be broken: it stands for any fault of the lifecycle's own."""

    broken = False

    def wait(self, condition, deadline):
        if self.broken:
            raise BrokenResource("the clock stopped")
        super().wait(condition, deadline)


def test_a_fault_of_our_own_reaches_whoever_waits_for_the_end():
    clock = StoppedClock()
    nobody = Observers(on_change=lambda snapshot: None, on_failure=lambda failure: None)
    application = Application([ScriptedResource("a")], clock=clock, observers=nobody)
    application.start()
    lease = application.admission.acquire()
    clock.broken = True
    application.begin_shutdown()
    with pytest.raises(BrokenResource):
        application.wait_until_stopped(LIMIT_S)
    lease.release()
