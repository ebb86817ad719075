"""The operator's socket as a resource of the service."""

from __future__ import annotations

from service.clock import SystemClock
from service.control_socket import ControlSocket
from service.operating import Operating
from service.ports import CONTROL_SOCKET, Ports
from service.settings import Settings
from service.state_folder import StateFolder
from service.threads import Threads, spawn
from service.vitals import Vitals


def control(settings: Settings, clock: SystemClock, state: StateFolder, outside: Ports, vitals: Vitals) -> Threads:
    """Listens from the start to the close, so that `status` hears also from a service that is draining."""
    core = vitals.core
    operating = Operating(core.dispatcher, core.database, outside.items, settings.github.host, clock.wall_ms)
    listening = ControlSocket(state.sockets / CONTROL_SOCKET, operating, spawn)
    return Threads(
        "control",
        [("control", listening.run)],
        listening.stop,
        depends_on=("store", "workers"),
        begin=lambda context: listening.bind(lambda: vitals.look(context.admission)),
    )
