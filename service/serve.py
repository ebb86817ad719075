"""Runs the service in the foreground until a signal, a fault or the end of a required part."""

from __future__ import annotations

import logging
import os
import signal
import sys
from importlib.metadata import version

from eventlog.events.service import ServiceDraining, ServiceReady, ServiceStarting, ServiceStopped
from eventlog.handler import JournalHandler, quiet_http_clients
from service import wiring
from service.clock import SystemClock
from service.lifecycle import foreground
from service.lifecycle.shutdown import exit_code
from service.lifecycle.signals import STOP_SIGNALS
from service.lifecycle.startup import StartFailed
from service.ports import Ports
from service.settings import Settings
from service.state_folder import StateFolder

SWITCH_INTERVAL_S = 0.000_5
"""Measured: beside one busy thread the tail of intake falls from 205–485 ms to 15 ms."""


def serve(settings: Settings, ports: Ports | None = None) -> int:
    """Run until the end and return the exit code: 0 only for a clean and complete end.

    Raises StateInUse, StateRefused, SettingsRefused, StoreError and NoSecret before anything was started.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    clock = SystemClock()
    state = StateFolder(settings.state)
    state.make()
    lock = state.lock()
    try:
        # A signal that comes before it is bound waits until it is: the first one asks for an end in order.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        logging.basicConfig(level=logging.INFO, handlers=[JournalHandler(wiring.SOURCE)], force=True)
        quiet_http_clients()
        return _run(wiring.build(settings, clock, ports), clock)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        os.close(lock)


def _run(service: wiring.Service, clock: SystemClock) -> int:
    emit = service.journal.emit
    began_ms = clock.wall_ms()

    def ready() -> None:
        emit(ServiceReady(took_ms=clock.wall_ms() - began_ms))
        _announce(service)

    emit(ServiceStarting(version=version("the-loop")))
    try:
        result = foreground.run(
            service.application, clock, on_ready=ready, on_draining=lambda: emit(ServiceDraining(cause="asked for"))
        )
    except StartFailed as failed:
        print(f"the-loop could not start: {_cause(failed)}", file=sys.stderr)
        return 1
    code = exit_code(result)
    emit(ServiceStopped(clean=code == 0, exit_code=code))
    service.journal.close()
    return code


def _cause(failed: BaseException) -> str:
    """What went wrong, in the words of the part that failed."""
    cause = failed.__cause__ or failed
    return str(cause) or type(cause).__name__


def _announce(service: wiring.Service) -> None:
    """Say where we are, and what is missing, to whoever started us."""
    settings = service.settings
    if service.server is not None:
        address = f"http://{settings.webhook.host}:{service.server.port}{settings.webhook.path}"
        print(f"the-loop listens on {address}", flush=True)
    if settings.polling.enabled:
        print(f"the-loop asks {settings.github.host} every {settings.polling.interval_s:g} s", flush=True)
    print(f"state: {service.state.path}", flush=True)
    for missing in service.missing():
        print(f"warning: {missing}", file=sys.stderr, flush=True)
