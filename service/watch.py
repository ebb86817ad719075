"""Says in the event log what becomes of the service itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

from eventlog.event import LogEvent
from eventlog.events.service import ServiceAdmissionClosed, ServiceAdmissionOpened, ServiceResourceEnded
from service.lifecycle.resource import Phase, ResourceFailure
from service.lifecycle.roster import Observers
from service.lifecycle.status import Snapshot

log = logging.getLogger(__name__)


class Watch:
    """Observes an application and emits what an operator would count or search."""

    def __init__(self, emit: Callable[[LogEvent], None]) -> None:
        self._emit = emit
        self._accepting = False

    def observers(self) -> Observers:
        """For the application."""
        return Observers(on_change=self._changed, on_failure=self._failed)

    def _changed(self, snapshot: Snapshot) -> None:
        if snapshot.accepting == self._accepting:
            return
        self._accepting = snapshot.accepting
        self._emit(ServiceAdmissionOpened() if snapshot.accepting else ServiceAdmissionClosed(reason=snapshot.state))

    def _failed(self, failure: ResourceFailure) -> None:
        if failure.phase is Phase.COMPLETION:
            self._emit(ServiceResourceEnded(resource=failure.resource, error=failure.error))
        log.error("the resource %s failed in %s", failure.resource, failure.phase, exc_info=failure.error)
