"""The application: resources that come up together, take work under one admission and go down together."""

import concurrent.futures
import threading
from collections.abc import Sequence

from service.lifecycle.admission import Admission, AdmissionGate
from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken, Latch
from service.lifecycle.resource import Resource, start_order
from service.lifecycle.roster import Observers, Roster
from service.lifecycle.shutdown import (
    Deadlines,
    GraceAborted,
    Shutdown,
    ShutdownBudget,
    ShutdownResult,
    fix_deadlines,
)
from service.lifecycle.startup import StartInterrupted, Startup
from service.lifecycle.status import ApplicationState, Snapshot

START_S = 60.0
"""Seconds that each resource has for its `start`, unless the application is told otherwise."""


class AlreadyStarted(RuntimeError):
    """An application was started a second time; it has one life."""


class Application:
    """Starts, watches and stops its resources; it never ends the process.

    Every method may be called from any thread, but not from a signal handler: they take locks.
    """

    def __init__(
        self,
        resources: Sequence[Resource],
        *,
        clock: Clock,
        observers: Observers,
        budget: ShutdownBudget | None = None,
        start_s: float = START_S,
    ) -> None:
        """Raises `WrongResources` where names or dependencies do not fit; nothing has been started then."""
        self._clock = clock
        self._gate = AdmissionGate(clock)
        self._roster = Roster(start_order(resources), self._gate, observers)
        self._budget = budget or ShutdownBudget()
        self._start_s = start_s
        self._start_ended: Latch[None] = Latch()
        self._shutdown_asked = CancelToken()
        self._grace_over = CancelToken()
        self._end: concurrent.futures.Future[ShutdownResult] = concurrent.futures.Future()
        # From here on nobody who holds the future can cancel it.
        self._end.set_running_or_notify_cancel()

    @property
    def admission(self) -> Admission:
        return self._gate

    def snapshot(self) -> Snapshot:
        """Where the application stands now."""
        return self._roster.snapshot()

    def start(self) -> None:
        """Start every resource, each after those it depends on, and return when the application is ready.

        Raises `StartFailed` when a required resource did not come up (what was started is closed again),
        `StartInterrupted` when a shutdown was asked for, `AlreadyStarted` the second time. An optional resource that
        fails is reported and left out.
        """
        if not self._roster.move(ApplicationState.STARTING, only_from=ApplicationState.CREATED):
            if self._roster.shutdown_asked:
                raise StartInterrupted("a shutdown was asked for before the start")
            raise AlreadyStarted("an application is started once")
        try:
            Startup(
                roster=self._roster,
                clock=self._clock,
                start_s=self._start_s,
                rollback_s=self._budget.grace_s,
                shutdown_asked=self._shutdown_asked,
                grace_over=self._grace_over,
            ).run()
        finally:
            self._start_ended.set(None)

    def begin_shutdown(self, budget: ShutdownBudget | None = None) -> concurrent.futures.Future[ShutdownResult]:
        """Shut admission for ever and begin the shutdown, in a thread of its own; returns at once.

        Every call gives the same future; the first fixes the deadlines (by `budget`, None: the application's own) and
        those of later calls are ignored. Who must not wait for the result: observers and resources.
        """
        deadlines = fix_deadlines(self._clock.monotonic(), budget or self._budget)
        state_before = self._roster.ask_shutdown()
        if state_before is None:
            return self._end
        self._shutdown_asked.cancel(StartInterrupted("a shutdown was asked for"))
        if state_before is not ApplicationState.STARTING:
            self._start_ended.set(None)
        threading.Thread(target=self._shut_down, args=(deadlines,), name="shutdown", daemon=True).start()
        return self._end

    def abort_grace(self) -> None:
        """Go on to force at once, in the shutdown that is under way; one still to come has no grace then.

        So two threads may bring the first and the second press of a signal in any order. Safe to repeat.
        """
        self._grace_over.cancel(GraceAborted("the graceful end was aborted"))

    def wait_until_stopped(self, timeout_s: float) -> ShutdownResult | None:
        """Wait for the end of a shutdown that someone began or will begin; None when `timeout_s` passed first."""
        try:
            return self._end.result(timeout=timeout_s)
        except concurrent.futures.TimeoutError:
            return None

    def _shut_down(self, deadlines: Deadlines) -> None:
        shutdown = Shutdown(roster=self._roster, clock=self._clock, deadlines=deadlines, grace_over=self._grace_over)
        try:
            self._end.set_result(shutdown.run(self._start_ended))
        except BaseException as fault:  # whoever waits must hear of a fault of ours too
            self._end.set_exception(fault)
