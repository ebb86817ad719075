"""Starting an application: order, readiness, health, rollback, and resources that end by themselves."""

import pytest

from service.lifecycle.admission import AdmissionClosed
from service.lifecycle.application import AlreadyStarted
from service.lifecycle.calls import NotInTime
from service.lifecycle.latch import CancelToken
from service.lifecycle.resource import Health, Phase
from service.lifecycle.startup import DependencyNotReady, EndedBeforeReady, StartFailed, StartInterrupted
from service.lifecycle.status import ApplicationState, ResourceState
from tests.fakes.lifecycle import LIMIT_S, BrokenResource, Hang, ScriptedResource, bench, fail, in_thread


def states(snapshots) -> list[ApplicationState]:
    """The states published, each once for a stretch of snapshots with it."""
    seen: list[ApplicationState] = []
    for snapshot in snapshots:
        if not seen or seen[-1] is not snapshot.state:
            seen.append(snapshot.state)
    return seen


def test_resources_start_in_the_order_of_their_dependencies_and_then_work_is_accepted():
    diary: list[str] = []
    workers = ScriptedResource("workers", diary, depends_on=("store",))
    the = bench(workers, ScriptedResource("store", diary))
    assert not the.application.admission.accepting
    the.application.start()
    assert diary == ["start store", "start workers"]
    assert the.application.admission.accepting
    assert states(the.snapshots) == [ApplicationState.STARTING, ApplicationState.READY]
    assert the.snapshots[-1] == the.application.snapshot()


def test_the_context_of_a_start_carries_admission_token_deadline_and_clock():
    store = ScriptedResource("store")
    the = bench(store)
    the.application.start()
    assert store.started.admission is the.application.admission
    assert store.started.clock is the.clock
    assert store.started.deadline == the.clock.monotonic() + 60
    assert not store.started.cancel.cancelled


def test_no_work_is_accepted_while_a_required_resource_is_still_starting():
    hang = Hang()
    the = bench(ScriptedResource("store"), ScriptedResource("late", depends_on=("store",), script={Phase.START: hang}))
    starting = in_thread(the.application.start)
    hang.await_entry()
    assert the.application.snapshot().state is ApplicationState.STARTING
    assert the.application.admission.acquire() is None
    hang.let_go.set()
    starting.result(timeout=LIMIT_S)
    assert the.application.admission.accepting


def test_an_application_starts_once():
    the = bench()
    the.application.start()
    with pytest.raises(AlreadyStarted):
        the.application.start()


@pytest.mark.parametrize("health", [Health.DEGRADED, Health.UNHEALTHY, Health.UNKNOWN])
def test_a_required_resource_that_is_not_healthy_shuts_admission_until_it_is_again(health):
    store = ScriptedResource("store")
    the = bench(store)
    the.application.start()
    store.started.report_health(health)
    assert the.application.admission.acquire() is None
    assert the.application.snapshot().state is ApplicationState.READY
    store.started.report_health(Health.HEALTHY)
    assert the.application.admission.accepting


def test_an_optional_resource_that_is_not_healthy_only_degrades():
    chat = ScriptedResource("chat", required=False)
    the = bench(ScriptedResource("store"), chat)
    the.application.start()
    chat.started.report_health(Health.UNHEALTHY)
    assert the.application.admission.accepting
    assert the.application.snapshot().health is Health.DEGRADED


def test_the_same_health_again_publishes_nothing():
    store = ScriptedResource("store")
    the = bench(store)
    the.application.start()
    published = len(the.snapshots)
    for _ in range(100):
        store.started.report_health(Health.HEALTHY)
    assert len(the.snapshots) == published
    store.started.report_health(Health.DEGRADED)
    store.started.report_health(Health.DEGRADED)
    assert len(the.snapshots) == published + 1


def test_what_a_resource_said_of_itself_during_its_start_outlives_becoming_ready():
    def degraded(context):
        context.report_health(Health.DEGRADED)

    store = ScriptedResource("store", script={Phase.START: degraded})
    the = bench(store)
    the.application.start()
    assert the.application.snapshot().state is ApplicationState.READY
    assert not the.application.admission.accepting
    store.started.report_health(Health.HEALTHY)
    assert the.application.admission.accepting


def test_admission_already_holds_what_an_observer_reads():
    """An observer that asks for a lease on each publication gets one exactly when the snapshot says so."""
    store = ScriptedResource("store")
    the = bench(store)
    answers: list[bool] = []

    def ask(snapshot):
        lease = the.application.admission.acquire()
        answers.append((lease is not None) == snapshot.accepting)
        if lease is not None:
            lease.release()

    the.observe(ask)
    the.application.start()
    store.started.report_health(Health.DEGRADED)
    store.started.report_health(Health.HEALTHY)
    the.application.begin_shutdown().result(timeout=LIMIT_S)
    assert len(answers) == len(the.snapshots)
    assert all(answers)
    assert the.application.admission.counts().accepted == 2


def test_a_required_resource_that_fails_rolls_the_start_back_in_reverse():
    diary: list[str] = []
    the = bench(
        ScriptedResource("a", diary),
        ScriptedResource("b", diary, depends_on=("a",)),
        ScriptedResource("c", diary, depends_on=("b",), script={Phase.START: fail}),
        ScriptedResource("d", diary, depends_on=("c",)),
    )
    with pytest.raises(StartFailed) as caught:
        the.application.start()
    assert diary == ["start a", "start b", "start c", "close c", "close b", "close a"]
    assert caught.value.resource == "c"
    assert isinstance(caught.value.__cause__, BrokenResource)
    assert caught.value.rollback_failures == ()
    assert the.failed_phases() == [("c", Phase.START)]
    assert the.application.snapshot().state is ApplicationState.FAILED
    with pytest.raises(AdmissionClosed):
        the.application.admission.acquire_when_accepting(CancelToken(), timeout_s=60)


def test_a_rollback_closes_the_others_when_one_does_not_close():
    diary: list[str] = []
    the = bench(
        ScriptedResource("a", diary),
        ScriptedResource("b", diary, depends_on=("a",), script={Phase.CLOSE: fail}),
        ScriptedResource("c", diary, depends_on=("b",), script={Phase.START: fail}),
    )
    with pytest.raises(StartFailed) as caught:
        the.application.start()
    assert diary[-3:] == ["close c", "close b", "close a"]
    assert [(each.resource, each.phase) for each in caught.value.rollback_failures] == [("b", Phase.CLOSE)]
    assert the.failed_phases() == [("c", Phase.START), ("b", Phase.CLOSE)]


def test_a_rollback_gives_up_on_a_close_that_hangs():
    hang = Hang()
    the = bench(
        ScriptedResource("a", script={Phase.CLOSE: hang}),
        ScriptedResource("b", depends_on=("a",), script={Phase.START: fail}),
    )
    starting = in_thread(the.application.start)
    hang.await_entry()
    the.clock.await_waiters(1)
    the.clock.advance(30)
    failed = starting.exception(timeout=LIMIT_S)
    assert isinstance(failed, StartFailed)
    assert isinstance(failed.rollback_failures[0].error, NotInTime)
    hang.let_go.set()


def test_a_start_that_hangs_is_given_up_at_its_deadline():
    hang = Hang()
    the = bench(ScriptedResource("a", script={Phase.START: hang}))
    starting = in_thread(the.application.start)
    hang.await_entry()
    the.clock.await_waiters(1)
    the.clock.advance(60)
    failed = starting.exception(timeout=LIMIT_S)
    assert isinstance(failed, StartFailed)
    assert isinstance(failed.__cause__, NotInTime)
    hang.let_go.set()


def test_an_optional_resource_that_fails_is_left_out_with_all_that_needs_it():
    diary: list[str] = []
    the = bench(
        ScriptedResource("store", diary),
        ScriptedResource("chat", diary, required=False, script={Phase.START: fail}),
        ScriptedResource("menu", diary, required=False, depends_on=("chat",)),
    )
    the.application.start()
    assert "start menu" not in diary
    assert the.application.admission.accepting
    assert the.application.snapshot().health is Health.DEGRADED
    assert the.failed_phases() == [("chat", Phase.START), ("menu", Phase.START)]
    assert isinstance(the.failures[1].error, DependencyNotReady)


def test_a_required_resource_does_not_start_without_an_optional_one_it_depends_on():
    the = bench(
        ScriptedResource("chat", required=False, script={Phase.START: fail}),
        ScriptedResource("store", depends_on=("chat",)),
    )
    with pytest.raises(StartFailed, match="store"):
        the.application.start()


def test_a_required_resource_that_ends_by_itself_fails_the_application_and_is_reported_once():
    poller = ScriptedResource("poller")
    the = bench(ScriptedResource("store"), poller)
    the.application.start()
    lease = the.application.admission.acquire()
    error = BrokenResource("lost its way")
    poller.started.report_completion(error)
    poller.started.report_completion(BrokenResource("again"))
    poller.started.report_health(Health.HEALTHY)
    snapshot = the.application.snapshot()
    assert (snapshot.state, snapshot.health, snapshot.accepting) == (
        ApplicationState.FAILED,
        Health.UNHEALTHY,
        False,
    )
    assert [each.health for each in snapshot.resources] == [Health.HEALTHY, Health.UNHEALTHY]
    assert [(each.resource, each.phase, each.error) for each in the.failures] == [("poller", Phase.COMPLETION, error)]
    with pytest.raises(AdmissionClosed):
        the.application.admission.acquire_when_accepting(CancelToken(), timeout_s=60)
    lease.release()


def test_a_resource_that_simply_returned_is_failed_too_but_there_is_no_error_to_report():
    poller = ScriptedResource("poller")
    the = bench(poller)
    the.application.start()
    poller.started.report_completion(None)
    assert the.application.snapshot().state is ApplicationState.FAILED
    assert the.failures == []


def test_an_optional_resource_that_ends_by_itself_leaves_the_others_at_work():
    chat = ScriptedResource("chat", required=False)
    the = bench(ScriptedResource("store"), chat)
    the.application.start()
    chat.started.report_completion(BrokenResource("deaf"))
    snapshot = the.application.snapshot()
    assert (snapshot.state, snapshot.health, snapshot.accepting) == (ApplicationState.READY, Health.DEGRADED, True)
    assert [each.state for each in snapshot.resources] == [ResourceState.READY, ResourceState.FAILED]


def test_a_resource_whose_work_ends_while_it_starts_does_not_become_ready():
    error = BrokenResource("too early")

    def end_at_once(context):
        context.report_completion(error)
        context.report_completion(BrokenResource("the first report counts"))

    the = bench(ScriptedResource("poller", script={Phase.START: end_at_once}))
    with pytest.raises(StartFailed) as caught:
        the.application.start()
    assert isinstance(caught.value.__cause__, EndedBeforeReady)
    assert caught.value.__cause__.__cause__ is error
    assert the.failed_phases() == [("poller", Phase.COMPLETION)]


def test_a_resource_that_ends_while_another_starts_fails_the_start():
    poller, hang = ScriptedResource("poller"), Hang()
    the = bench(poller, ScriptedResource("late", depends_on=("poller",), script={Phase.START: hang}))
    starting = in_thread(the.application.start)
    hang.await_entry()
    poller.started.report_completion(BrokenResource("gone"))
    hang.let_go.set()
    failed = starting.exception(timeout=LIMIT_S)
    assert isinstance(failed, StartFailed)
    assert failed.resource == "poller"
    assert the.failed_phases() == [("poller", Phase.COMPLETION)]


def test_a_shutdown_before_the_start_leaves_nothing_to_start():
    diary: list[str] = []
    the = bench(ScriptedResource("store", diary))
    the.application.begin_shutdown().result(timeout=LIMIT_S)
    with pytest.raises(StartInterrupted):
        the.application.start()
    assert diary == []


def test_observers_are_told_in_order_and_may_call_back(caplog):
    """An observer that asks for the shutdown from within a publication neither deadlocks nor reorders anything."""
    poller = ScriptedResource("poller")
    the = bench(poller)
    told: list[ApplicationState] = []

    def on_change(snapshot):
        if snapshot.state is ApplicationState.FAILED:
            the.application.begin_shutdown()
        told.append(snapshot.state)
        raise BrokenResource("an observer's own fault changes nothing")

    the.observe(on_change)
    the.application.start()
    poller.started.report_completion(None)
    the.application.begin_shutdown().result(timeout=LIMIT_S)
    order = [state for index, state in enumerate(told) if index == 0 or told[index - 1] is not state]
    assert order == [
        ApplicationState.STARTING,
        ApplicationState.READY,
        ApplicationState.FAILED,
        ApplicationState.DRAINING,
        ApplicationState.STOPPING,
        ApplicationState.STOPPED,
    ]
    assert "an observer of the lifecycle failed" in caplog.text
