"""Does a `stop` or a `cleanup` where no service runs: takes the state folder's lock, and wires no road."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from domain.model import EventKey, Fate
from eventlog.journal import Journal
from service.clock import SystemClock
from service.core import Core
from service.operating import Operating, result_of
from service.orders import NotDone, Order, Result
from service.ports import Ports, make_ports
from service.settings import Settings
from service.state_folder import StateFolder
from service.threads import spawn
from service.wiring import build_core, build_means
from webhook.worker import Worker

SOURCE = "cli"
LOOK_S = 0.05
LEAVE_S = 10.0


def carry_out(
    settings: Settings, order: Order, clock: SystemClock, wait_s: float, ports: Ports | None = None
) -> Result | NotDone:
    """Carry an order out, waiting so long for its effect; what is left of it then is done by the next service.

    Raises StateInUse where a service runs after all, StateRefused, SettingsRefused, StoreError.
    """
    state = StateFolder(settings.state)
    state.make()
    lock = state.lock()
    try:
        outside = ports or make_ports(settings, state)
        journal = Journal(state.event_log, lambda: clock.wall_ms() / 1000, SOURCE, {settings.token()} - {""})
        core = build_core(settings, clock, state, outside, journal.emit)
        worker = Worker(build_means(settings, clock, state, outside, core, journal.emit))
        operating = Operating(core.dispatcher, core.database, outside.items, settings.github.host, clock.wall_ms)
        try:
            return _work(core, worker, lambda: operating.carry_out(order), wait_s)
        finally:
            journal.close()
    finally:
        os.close(lock)


def await_effect(read: Callable[[], Result | None], wait_s: float) -> Result | None:
    """The result once it is no longer in flight, or as it stands when the time is over."""
    until_s, pause = time.monotonic() + wait_s, threading.Event()
    while (result := read()) is not None and result.fate == Fate.INFLIGHT and time.monotonic() < until_s:
        pause.wait(LOOK_S)
    return result


def _work(core: Core, worker: Worker, act: Callable[[], Result | NotDone], wait_s: float) -> Result | NotDone:
    """Act beside a committer and one worker, and let both end."""
    bodies = [("committer", core.committer.run), ("worker", worker.run)]
    ended = [threading.Event() for _ in bodies]
    for (name, body), flag in zip(bodies, ended, strict=True):
        spawn(name, _telling(body, flag))
    try:
        result = act()
        if isinstance(result, NotDone):
            return result
        key = EventKey(result.event_key)
        return await_effect(lambda: result_of(core.database.reader(), key), wait_s) or result
    finally:
        core.lanes.stop()
        ended[1].wait(LEAVE_S)
        worker.let_go()
        core.committer.stop()
        ended[0].wait(LEAVE_S)


def _telling(body: Callable[[], None], ended: threading.Event) -> Callable[[], None]:
    def told() -> None:
        try:
            body()
        finally:
            ended.set()

    return told
