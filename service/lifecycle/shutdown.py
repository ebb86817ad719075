"""Taking an application down: the graceful way by phases, then force, both under deadlines fixed at the start."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from service.lifecycle.calls import Ending, GivenUp, begin, error_of, wait_for
from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken, Latch, wait_for_any
from service.lifecycle.resource import Phase, PhaseContext, ResourceFailure
from service.lifecycle.roster import Record, Roster
from service.lifecycle.status import ApplicationState, ResourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownBudget:
    """How long a shutdown may take: the graceful way, and force after it."""

    grace_s: float = 30.0
    force_s: float = 5.0


class ShutdownOutcome(StrEnum):
    """How a shutdown went."""

    CLEAN = "clean"
    """Every phase of every resource ended in time and without an error."""
    FORCED = "forced"
    """The graceful way was given up and what was not closed was forced."""


class ForceReason(StrEnum):
    """Why the graceful way was given up; there is none when a resource failed in it."""

    DEADLINE = "deadline"
    SIGNAL = "signal"


class ResourceEnd(StrEnum):
    """What became of one resource."""

    NOT_STARTED = "not-started"
    CLOSED = "closed"
    FORCE_FAILED = "force-failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResult:
    """What became of one resource, and what failed in its whole life."""

    name: str
    required: bool
    end: ResourceEnd
    ended_early: bool
    """Whether its own work had ended before anybody asked for a shutdown."""
    failures: tuple[ResourceFailure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownResult:
    """What a shutdown came to."""

    outcome: ShutdownOutcome
    reason: ForceReason | None
    cleanup_complete: bool
    """Whether everything that was started is closed."""
    accepted: int
    completed: int
    pending: int
    """Leases not released at the end."""
    pending_at_force: int
    """Leases not released when force began; 0 without force."""
    resources: tuple[ResourceResult, ...]
    duration_s: float


class GraceExpired(Exception):
    """The graceful way of a shutdown used up its time."""


class GraceAborted(Exception):
    """Someone would not wait for the graceful way of a shutdown any longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """The readings of the clock that a shutdown goes by, fixed when it was first asked for."""

    asked_at: float
    grace: float
    force: float


def fix_deadlines(now: float, budget: ShutdownBudget) -> Deadlines:
    """The deadlines of a shutdown asked for at `now`."""
    grace = now + budget.grace_s
    return Deadlines(asked_at=now, grace=grace, force=grace + budget.force_s)


def exit_code(result: ShutdownResult) -> int:
    """0 for an end that was clean and complete, of a service whose required resources never failed; else 1."""
    clean = result.outcome is ShutdownOutcome.CLEAN and result.cleanup_complete
    required = [resource for resource in result.resources if resource.required]
    return 0 if clean and not any(resource.failures or resource.ended_early for resource in required) else 1


@dataclass(frozen=True, slots=True)
class GivingUp:
    """How things stood when the graceful way was given up."""

    reason: ForceReason | None
    pending: int


class Shutdown:
    """One shutdown of one application; `run` is called once."""

    def __init__(self, *, roster: Roster, clock: Clock, deadlines: Deadlines, grace_over: CancelToken) -> None:
        self._roster = roster
        self._clock = clock
        self._deadlines = deadlines
        self._grace_over = grace_over
        self._failed = False

    def run(self, start_ended: Latch[None]) -> ShutdownResult:
        """Go through all phases, waiting for a start in progress first; takes until the force deadline at most."""
        wait_for_any((start_ended, self._grace_over), deadline=self._deadlines.grace, clock=self._clock)
        # A close that failed while the start was rolled back is not called again: only force is left for it.
        self._failed = any(record.close_called and not record.closed for record in self._roster.records)
        self._sweep(Phase.ADMISSION)
        if self._graceful():
            self._roster.gate.wait_until_idle(self._grace_over, self._deadlines.grace)
        if self._graceful():
            self._sweep(Phase.DRAIN)
        self._roster.move(ApplicationState.STOPPING, only_from=ApplicationState.DRAINING)
        if self._graceful():
            self._sweep(Phase.CLOSE)
        giving_up = self._give_up_if_needed()
        if giving_up is not None:
            self._force_all()
        return self._conclude(giving_up)

    def _give_up_if_needed(self) -> GivingUp | None:
        """None when all went well; else why not, read before the token is cancelled for everyone who still waits."""
        if not (self._failed or self._grace_over.cancelled):
            return None
        giving_up = GivingUp(_reason_of(self._grace_over.value), self._roster.gate.counts().pending)
        self._grace_over.cancel(GraceAborted("a resource failed"))
        return giving_up

    def _graceful(self) -> bool:
        """Whether the graceful way is still open; notices that its time is over."""
        if self._clock.monotonic() >= self._deadlines.grace:
            self._grace_over.cancel(GraceExpired("the time for a graceful end is over"))
        return not (self._failed or self._grace_over.cancelled)

    def _sweep(self, phase: Phase) -> None:
        """Call one phase of every resource that has something to end, in reverse of the start, one by one.

        After a failure the remaining resources still stop admission, for nothing new should come in while others are
        forced; they neither drain nor close any more.
        """
        for record in self._to_end():
            open_still = self._graceful() or (phase is Phase.ADMISSION and not self._grace_over.cancelled)
            if not open_still:
                return
            self._call(record, phase)

    def _call(self, record: Record, phase: Phase) -> None:
        """Call one phase of one resource and record how it went."""
        if phase is Phase.CLOSE:
            self._roster.mark_closing(record)
        elif phase is Phase.DRAIN:
            self._roster.mark(record, ResourceState.STOPPING)
        call_name = f"{phase}-{record.resource.name}"
        context = PhaseContext(cancel=self._grace_over, deadline=self._deadlines.grace, clock=self._clock)
        call = _call_of(record, phase)
        ending = begin(lambda: call(context), name=call_name)
        outcome = wait_for(ending, deadline=context.deadline, cancel=context.cancel, clock=self._clock)
        if isinstance(outcome, GivenUp):
            self._grace_over.cancel(GraceExpired(f"{call_name} used up the time for a graceful end"))
        if (error := error_of(outcome, call_name)) is not None:
            self._roster.mark_failed(record, phase, error)
            self._failed = True
        elif phase is Phase.CLOSE:
            self._roster.mark(record, ResourceState.STOPPED)

    def _force_all(self) -> None:
        """Force everything that is not closed, all at once, until the force deadline."""
        cancel = CancelToken()
        context = PhaseContext(cancel=cancel, deadline=self._deadlines.force, clock=self._clock)
        begun = [(record, _begin_force(record, context)) for record in self._to_end()]
        for record, ending in begun:
            outcome = wait_for(ending, deadline=context.deadline, cancel=cancel, clock=self._clock)
            error = error_of(outcome, f"force-{record.resource.name}")
            if error is None:
                self._roster.mark(record, ResourceState.STOPPED)
            else:
                self._roster.mark_failed(record, Phase.FORCE, error)
        cancel.cancel()

    def _to_end(self) -> list[Record]:
        """What was started and is not closed, in reverse of the start."""
        return [record for record in reversed(self._roster.records) if record.attempted and not record.closed]

    def _conclude(self, giving_up: GivingUp | None) -> ShutdownResult:
        results = tuple(_result_of(record) for record in self._roster.records)
        complete = all(result.end is not ResourceEnd.FORCE_FAILED for result in results)
        last_state = ApplicationState.STOPPED if complete else ApplicationState.FAILED
        self._roster.move(last_state, only_from=ApplicationState.STOPPING)
        counts = self._roster.gate.counts()
        return ShutdownResult(
            outcome=ShutdownOutcome.FORCED if giving_up else ShutdownOutcome.CLEAN,
            reason=giving_up.reason if giving_up else None,
            cleanup_complete=complete,
            accepted=counts.accepted,
            completed=counts.completed,
            pending=counts.pending,
            pending_at_force=giving_up.pending if giving_up else 0,
            resources=results,
            duration_s=self._clock.monotonic() - self._deadlines.asked_at,
        )


def _call_of(record: Record, phase: Phase) -> Callable[[PhaseContext], None]:
    calls = {
        Phase.ADMISSION: record.resource.stop_admission,
        Phase.DRAIN: record.resource.drain,
        Phase.CLOSE: record.resource.close,
    }
    return calls[phase]


def _begin_force(record: Record, context: PhaseContext) -> Latch[Ending]:
    return begin(lambda: record.resource.force(context), name=f"force-{record.resource.name}")


def _reason_of(grace_end: Exception | None) -> ForceReason | None:
    if grace_end is None:
        return None
    return ForceReason.DEADLINE if isinstance(grace_end, GraceExpired) else ForceReason.SIGNAL


def _result_of(record: Record) -> ResourceResult:
    end = ResourceEnd.CLOSED if record.closed else ResourceEnd.FORCE_FAILED
    return ResourceResult(
        name=record.resource.name,
        required=record.resource.required,
        end=end if record.attempted else ResourceEnd.NOT_STARTED,
        ended_early=record.ended_early,
        failures=tuple(record.failures),
    )
