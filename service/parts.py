"""The resources of the service: which threads each is made of, what it stands on, and how it is told to end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from eventlog.event import LogEvent
from eventlog.journal import Journal
from poller.means import Means as PollMeans
from poller.means import Watched
from poller.poller import Poller
from service.clock import SystemClock
from service.core import Core
from service.housekeeping import Housekeeping
from service.http_server import HttpServer
from service.lifecycle.admission import Admission
from service.lifecycle.resource import StartContext
from service.ports import Ports
from service.settings import Settings
from service.threads import Threads
from sessions.seat.server import SeatServer
from sessions.seat.verbs import Seat
from webhook.app import Readiness, create_app
from webhook.intake import WebhookSettings
from webhook.wire import server_config
from webhook.worker import Worker

SPARE_WORKERS = 4
"""Workers beyond the slots of starts and hand-overs, so that stops and questions never wait behind them."""


def store(core: Core) -> Threads:
    return Threads("store", [("committer", core.committer.run)], core.committer.stop)


def workers(settings: Settings, core: Core, worker: Worker) -> Threads:
    count = 2 * settings.routing.max_concurrent_dispatches + SPARE_WORKERS
    bodies = [(f"worker-{number}", worker.run) for number in range(count)]
    return Threads(
        "workers",
        [*bodies, ("second-lane", worker.run_second_lane)],
        core.lanes.stop,
        depends_on=("store",),
        begin=lambda _: worker.recover(),
        finish=worker.let_go,
        halts_at_admission=True,
    )


def publisher(core: Core) -> Threads:
    stop = threading.Event()

    def end() -> None:
        stop.set()
        core.publisher.wake()

    return Threads("publisher", [("publisher", lambda: core.publisher.run(stop))], end, depends_on=("store",))


@dataclass(frozen=True, slots=True)
class SeatPart:
    """The seat, its socket, and what ends both."""

    seat: Seat
    server: SeatServer
    stopping: threading.Event


def seat(part: SeatPart) -> Threads:
    """Agents ask; what was half done when the service died is settled first."""
    bodies = [("seat", lambda: part.server.run(part.stopping)), ("seat-openings", lambda: _settle(part))]
    return Threads("seat", bodies, part.stopping.set, depends_on=("store",), begin=lambda _: part.server.listen())


def _settle(part: SeatPart) -> None:
    part.seat.settle_openings()
    part.stopping.wait()


def poller(
    settings: Settings, clock: SystemClock, outside: Ports, core: Core, emit: Callable[[LogEvent], None]
) -> Threads:
    means = PollMeans(
        database=core.database, committer=core.committer, dispatcher=core.dispatcher, clock=clock, emit=emit
    )
    watched = [Watched(name=each.name, github=outside.github, items=outside.items) for each in settings.repositories]
    admission: list[Admission] = []
    poller = Poller(watched, means, admit=lambda: admission[0].acquire(), interval_s=settings.polling.interval_s)
    return Threads(
        "poller",
        [("poller", poller.run)],
        poller.stop,
        depends_on=("store", "workers"),
        begin=lambda context: admission.append(context.admission),
        halts_at_admission=True,
    )


def identity(core: Core) -> Threads:
    return Threads(
        "identity", [("identity", core.identity.run)], core.identity.stop, depends_on=("store",), required=False
    )


def webhook(
    settings: Settings, clock: SystemClock, core: Core, journal: Journal, webhook_secrets: tuple[bytes, ...]
) -> tuple[HttpServer, Threads]:
    parsers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="parser")
    server = HttpServer(settings.webhook.host, settings.webhook.port)
    endpoint = WebhookSettings(
        secrets=webhook_secrets, hosts=(settings.github.host.lower(),), path=settings.webhook.path
    )

    def begin(context: StartContext) -> None:
        admission = context.admission
        app = create_app(
            endpoint,
            core.dispatcher,
            readiness=lambda: _readiness(core, journal, admission),
            admission=lambda: admission.accepting,
            clock=clock.wall_ms,
            emit=journal.emit,
            emit_all=journal.emit_all,
            parsers=parsers,
        )
        server.bind(server_config(app, journal.emit))

    resource = Threads(
        "webhook",
        [("webhook", server.run)],
        server.stop,
        depends_on=("store", "workers"),
        begin=begin,
        finish=lambda: parsers.shutdown(wait=False),
    )
    return server, resource


def _readiness(core: Core, journal: Journal, admission: Admission) -> Readiness:
    return Readiness(
        store_writable=core.committer.is_writable,
        workers_up=not core.lanes.stopping,
        admission_open=admission.accepting,
        log_lines_held=journal.held,
        log_lines_lost=journal.lost,
    )


def housekeeping(keeper: Housekeeping) -> Threads:
    """Forgets what need not be kept."""
    return Threads("housekeeping", [("housekeeping", keeper.run)], keeper.stop, depends_on=("store",), required=False)
