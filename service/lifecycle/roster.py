"""The one record of where an application and its resources stand; decides `accepting` and publishes changes."""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from service.lifecycle.admission import AdmissionGate
from service.lifecycle.resource import Health, Phase, Resource, ResourceFailure
from service.lifecycle.status import (
    TRANSITIONS,
    ApplicationState,
    ResourceState,
    ResourceStatus,
    Snapshot,
    overall_health,
    required_in_order,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observers:
    """Who is told of what happens, one call at a time, in order, outside every lock.

    They may call back into the application. One that raises is logged and changes nothing.
    """

    on_change: Callable[[Snapshot], None]
    on_failure: Callable[[ResourceFailure], None]


@dataclass(slots=True, kw_only=True)
class Record:
    """What is known of one resource. Written under the roster's lock alone."""

    resource: Resource
    state: ResourceState = ResourceState.REGISTERED
    health: Health = Health.UNKNOWN
    health_reported: bool = False
    attempted: bool = False
    close_called: bool = False
    closed: bool = False
    ended: bool = False
    ended_early: bool = False
    end_error: BaseException | None = None
    failures: list[ResourceFailure] = field(default_factory=list)

    def status(self) -> ResourceStatus:
        return ResourceStatus(
            name=self.resource.name, required=self.resource.required, state=self.state, health=self.health
        )


class Roster:
    """Keeps the application's state and one record per resource, in start order."""

    def __init__(self, resources: Sequence[Resource], gate: AdmissionGate, observers: Observers) -> None:
        self.records = tuple(Record(resource=resource) for resource in resources)
        self.gate = gate
        self._observers = observers
        self._by_name = {record.resource.name: record for record in self.records}
        self._lock = threading.Lock()
        self._state = ApplicationState.CREATED
        self._shutdown_asked = False
        self._published = self._snapshot()
        self._notices: deque[Callable[[], None]] = deque()
        self._telling = False

    @property
    def shutdown_asked(self) -> bool:
        with self._lock:
            return self._shutdown_asked

    def snapshot(self) -> Snapshot:
        with self._lock:
            return self._snapshot()

    def record(self, name: str) -> Record:
        return self._by_name[name]

    def move(self, target: ApplicationState, *, only_from: ApplicationState) -> bool:
        """Move to `target` if the state is `only_from` still; False if another thread moved it on."""
        with self._change():
            if self._state is not only_from:
                return False
            self._move(target)
            return True

    def ask_shutdown(self) -> ApplicationState | None:
        """Note that a shutdown was asked for and shut admission for ever; the state until now, None if it was asked."""
        with self._change():
            if self._shutdown_asked:
                return None
            before = self._state
            self._shutdown_asked = True
            created = before is ApplicationState.CREATED
            self._move(ApplicationState.STOPPING if created else ApplicationState.DRAINING)
            return before

    def become_ready(self) -> Record | None:
        """Move from starting to ready; where a required resource is not ready (any more), that one and no move."""
        with self._change():
            for record in self.records:
                if record.resource.required and record.state is not ResourceState.READY:
                    return record
            if self._state is ApplicationState.STARTING:
                self._move(ApplicationState.READY)
            return None

    def mark(self, record: Record, state: ResourceState) -> None:
        """Set where a resource is; that it was started, and that it was closed, is remembered."""
        with self._change():
            record.state = state
            record.attempted = record.attempted or state is ResourceState.STARTING
            record.closed = record.closed or state is ResourceState.STOPPED

    def mark_closing(self, record: Record) -> None:
        """Set a resource stopping and remember that its `close` was called: it is called once."""
        with self._change():
            record.state = ResourceState.STOPPING
            record.close_called = True

    def mark_ready(self, record: Record) -> bool:
        """Set a resource ready, and healthy unless it reported otherwise; False if its work has ended already."""
        with self._change():
            if record.ended:
                return False
            record.state = ResourceState.READY
            if not record.health_reported:
                record.health = Health.HEALTHY
            return True

    def mark_failed(self, record: Record, phase: Phase, error: BaseException) -> None:
        """Set a resource failed and unhealthy and report why."""
        with self._change():
            self._fail(record, phase, error)

    def report_health(self, record: Record, health: Health) -> None:
        """Take a resource's word on how it does; nothing after it failed or stopped, nor the same word again."""
        with self._change():
            if record.state not in (ResourceState.FAILED, ResourceState.STOPPED):
                record.health = health
                record.health_reported = True

    def report_completion(self, record: Record, error: BaseException | None) -> None:
        """Take note that a resource's own work has ended.

        Before it was ready the start looks at it, once a shutdown was asked for it is what was asked for; between the
        two the resource has failed for good, and with a required one the application.
        """
        with self._change():
            if record.ended:
                return
            record.ended, record.end_error = True, error
            if record.state is not ResourceState.READY or self._shutdown_asked:
                return
            record.ended_early = True
            self._fail(record, Phase.COMPLETION, error)
            if record.resource.required and self._state is ApplicationState.READY:
                self._move(ApplicationState.FAILED)

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Hold the lock for one change; afterwards draw its conclusions and, outside the lock, tell of them."""
        with self._lock:
            yield
            self._settle()
        self._tell()

    def _fail(self, record: Record, phase: Phase, error: BaseException | None) -> None:
        """Set a resource failed; None is an end without an error, of which there is nothing to report."""
        record.state = ResourceState.FAILED
        record.health = Health.UNHEALTHY
        if error is not None:
            failure = ResourceFailure(record.resource.name, phase, error)
            record.failures.append(failure)
            self._notices.append(lambda: self._observers.on_failure(failure))

    def _move(self, target: ApplicationState) -> None:
        if target not in TRANSITIONS[self._state]:
            raise AssertionError(f"an application does not go from {self._state} to {target}")
        self._state = target

    def _settle(self) -> None:
        """Open or shut admission and queue the snapshot, in this order: what is published holds already."""
        if self._shutdown_asked or self._state is ApplicationState.FAILED:
            self.gate.close()
        else:
            self.gate.set_accepting(self._may_accept())
        snapshot = self._snapshot()
        if snapshot != self._published:
            self._published = snapshot
            self._notices.append(lambda: self._observers.on_change(snapshot))

    def _may_accept(self) -> bool:
        return (
            self._state is ApplicationState.READY
            and not self._shutdown_asked
            and required_in_order([record.status() for record in self.records])
        )

    def _snapshot(self) -> Snapshot:
        resources = tuple(record.status() for record in self.records)
        return Snapshot(
            state=self._state,
            health=overall_health(self._state, resources),
            accepting=self._may_accept(),
            resources=resources,
        )

    def _tell(self) -> None:
        """Give the notices out, unless a call further up this stack or another thread is doing so already."""
        while True:
            with self._lock:
                if self._telling or not self._notices:
                    return
                self._telling = True
                notice = self._notices.popleft()
            try:
                notice()
            except Exception:
                logger.exception("an observer of the lifecycle failed")
            finally:
                with self._lock:
                    self._telling = False
