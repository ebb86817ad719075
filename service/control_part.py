"""The operator's socket as a resource of the service."""

from __future__ import annotations

import os

from eventlog.journal import Journal
from service.clock import SystemClock
from service.control_socket import ControlSocket
from service.core import Core
from service.lifecycle.admission import Admission
from service.operating import Operating
from service.orders import Live
from service.ports import CONTROL_SOCKET, Ports
from service.settings import Settings
from service.state_folder import StateFolder
from service.threads import Threads, spawn


def control(
    settings: Settings, clock: SystemClock, state: StateFolder, outside: Ports, core: Core, journal: Journal
) -> Threads:
    """Listens from the start to the close, so that `status` hears also from a service that is draining."""
    operating = Operating(core.dispatcher, core.database, outside.items, settings.github.host, clock.wall_ms)
    listening = ControlSocket(state.sockets / CONTROL_SOCKET, operating, spawn)
    return Threads(
        "control",
        [("control", listening.run)],
        listening.stop,
        depends_on=("store", "workers"),
        begin=lambda context: listening.bind(lambda: live(core, journal, context.admission)),
    )


def live(core: Core, journal: Journal, admission: Admission) -> Live:
    """What the service says of itself."""
    return Live(
        pid=os.getpid(),
        store_writable=core.committer.is_writable,
        workers_up=not core.lanes.stopping,
        admission_open=admission.accepting,
        log_lines_held=journal.held,
        log_lines_lost=journal.lost,
    )
