"""Bringing the resources up, one after another, and taking them down again when that fails."""

from dataclasses import dataclass

from service.lifecycle.calls import begin, error_of, wait_for
from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken
from service.lifecycle.resource import Health, Phase, PhaseContext, ResourceFailure, StartContext
from service.lifecycle.roster import Record, Roster
from service.lifecycle.status import ApplicationState, ResourceState


class StartInterrupted(Exception):
    """A shutdown was asked for before the start was through; the shutdown closes what was started."""


class StartFailed(Exception):
    """A required resource did not come up; what was started is closed again as far as `rollback_failures` allows.

    The resource's own error is the cause.
    """

    def __init__(self, resource: str) -> None:
        super().__init__(f"resource {resource} did not start")
        self.resource = resource
        self.rollback_failures: tuple[ResourceFailure, ...] = ()


class EndedBeforeReady(Exception):
    """A resource's own work ended while it was still starting."""


class DependencyNotReady(Exception):
    """A resource was not started, because one that it depends on is not ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """One start of one application, and its rollback."""

    roster: Roster
    clock: Clock
    start_s: float
    """Seconds that each resource has for its `start`."""
    rollback_s: float
    """Seconds that all resources together have for being closed again."""
    shutdown_asked: CancelToken
    """Tells a start in progress that it has no purpose any more."""
    grace_over: CancelToken
    """Ends the waiting for a start in progress or a rollback, when a shutdown has no more time for it."""

    def run(self) -> None:
        """Start every resource; raises `StartFailed` after the rollback, `StartInterrupted` without one."""
        try:
            for record in self.roster.records:
                self._start_one(record)
            if (missing := self.roster.become_ready()) is not None:
                raise StartFailed(missing.resource.name) from missing.end_error
            self._raise_if_interrupted()
        except StartFailed as failed:
            if not self.roster.shutdown_asked:
                failed.rollback_failures = self._roll_back()
                self.roster.move(ApplicationState.FAILED, only_from=ApplicationState.STARTING)
            raise

    def _start_one(self, record: Record) -> None:
        self._raise_if_interrupted()
        error = self._missing_dependency(record)
        if error is None:
            self.roster.mark(record, ResourceState.STARTING)
            error = self._call_start(record)
            if error is None or error is self.shutdown_asked.value:
                self._raise_if_interrupted()
        if error is None and self.roster.mark_ready(record):
            return
        fault = error or _ended_before_ready(record)
        self.roster.mark_failed(record, Phase.START if error else Phase.COMPLETION, fault)
        self._raise_if_interrupted()
        if record.resource.required:
            raise StartFailed(record.resource.name) from fault

    def _missing_dependency(self, record: Record) -> BaseException | None:
        for dependency in record.resource.depends_on:
            if self.roster.record(dependency).state is not ResourceState.READY:
                return DependencyNotReady(f"{record.resource.name} needs {dependency}, which is not ready")
        return None

    def _call_start(self, record: Record) -> BaseException | None:
        """Call `start` and wait for it; its error, or None when it returned."""

        def report_health(health: Health) -> None:
            self.roster.report_health(record, health)

        def report_completion(error: BaseException | None) -> None:
            self.roster.report_completion(record, error)

        context = StartContext(
            admission=self.roster.gate,
            cancel=self.shutdown_asked,
            deadline=self.clock.monotonic() + self.start_s,
            clock=self.clock,
            report_health=report_health,
            report_completion=report_completion,
        )
        call_name = f"start-{record.resource.name}"
        ending = begin(lambda: record.resource.start(context), name=call_name)
        outcome = wait_for(ending, deadline=context.deadline, cancel=self.grace_over, clock=self.clock)
        return error_of(outcome, call_name)

    def _raise_if_interrupted(self) -> None:
        if self.roster.shutdown_asked:
            raise StartInterrupted("a shutdown was asked for during the start")

    def _roll_back(self) -> tuple[ResourceFailure, ...]:
        """Close what was started, in reverse; what fails is recorded and the others are closed all the same."""
        context = PhaseContext(
            cancel=self.grace_over, deadline=self.clock.monotonic() + self.rollback_s, clock=self.clock
        )
        failures = []
        for record in reversed(self.roster.records):
            if record.attempted and (error := self._close_one(record, context)) is not None:
                self.roster.mark_failed(record, Phase.CLOSE, error)
                failures.append(ResourceFailure(record.resource.name, Phase.CLOSE, error))
        return tuple(failures)

    def _close_one(self, record: Record, context: PhaseContext) -> BaseException | None:
        self.roster.mark_closing(record)
        call_name = f"close-{record.resource.name}"
        ending = begin(lambda: record.resource.close(context), name=call_name)
        outcome = wait_for(ending, deadline=context.deadline, cancel=context.cancel, clock=self.clock)
        error = error_of(outcome, call_name)
        if error is None:
            self.roster.mark(record, ResourceState.STOPPED)
        return error


def _ended_before_ready(record: Record) -> EndedBeforeReady:
    fault = EndedBeforeReady(f"the work of {record.resource.name} ended before it was ready")
    fault.__cause__ = record.end_error
    return fault
