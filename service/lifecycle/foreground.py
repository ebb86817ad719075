"""An application in the foreground: started under the stop signals, and watched until it has ended."""

import contextlib
import signal
from collections.abc import Callable

from service.lifecycle.application import Application
from service.lifecycle.clock import Clock
from service.lifecycle.shutdown import ShutdownResult
from service.lifecycle.signals import STOP_SIGNALS, SignalBinding
from service.lifecycle.startup import StartInterrupted
from service.lifecycle.status import ApplicationState

LOOK_S = 0.5
"""How soon is seen that a required resource has ended."""


def run(
    application: Application,
    clock: Clock,
    *,
    on_ready: Callable[[], object] = lambda: None,
    on_draining: Callable[[], object] = lambda: None,
) -> ShutdownResult:
    """Start the application and return when it has ended: by a signal, or because a required resource did.

    Main thread alone. Stop signals that were blocked before are let through as soon as somebody hears them. Whatever
    ended the application, it is shut down in the same way. Raises `StartFailed`.
    """
    with SignalBinding(clock=clock, on_shutdown=application.begin_shutdown, on_abort_grace=application.abort_grace):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        with contextlib.suppress(StartInterrupted):
            application.start()
            on_ready()
        return _until_stopped(application, on_draining)


def _until_stopped(application: Application, on_draining: Callable[[], object]) -> ShutdownResult:
    draining = False
    while (result := application.wait_until_stopped(LOOK_S)) is None:
        state = application.snapshot().state
        if state is ApplicationState.FAILED:
            application.begin_shutdown()
        if state is ApplicationState.DRAINING and not draining:
            draining = True
            on_draining()
    return result
