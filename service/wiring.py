"""Joins the rooms: one function builds the whole service from its settings, top to bottom."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from domain.marker import Sealer
from domain.model import SessionId
from domain.policy import Authorities, Policy
from eventlog.event import LogEvent
from eventlog.journal import Journal
from replies.record import Recorder
from service.clock import SystemClock
from service.http_server import HttpServer
from service.identity import Identity
from service.lifecycle.admission import Admission
from service.lifecycle.application import Application
from service.lifecycle.resource import StartContext
from service.ports import SEAT_SOCKET, Ports, command_folder, make_ports
from service.settings import Settings
from service.state_folder import StateFolder
from service.threads import Threads, spawn
from service.watch import Watch
from sessions.clones import Clones
from sessions.git import Git
from sessions.mirrors import Mirrors
from sessions.prompts import Prompts
from statedb import facts
from statedb.committer import Committer
from statedb.database import Database
from webhook.app import Readiness, create_app
from webhook.dispatcher import Dispatcher
from webhook.handled import Handled, Submission
from webhook.intake import WebhookSettings
from webhook.lanes import Lanes, Slots
from webhook.means import Limits, Means
from webhook.router import Deduper, Router
from webhook.worker import Worker

SOURCE = "service"
GIT_DEADLINE_S = 600.0
SPARE_WORKERS = 4
"""Workers beyond the slots of starts and hand-overs, so that stops and questions never wait behind them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The service, built and not started."""

    settings: Settings
    state: StateFolder
    application: Application
    dispatcher: Dispatcher
    database: Database
    journal: Journal
    server: HttpServer | None
    ports: Ports

    def missing(self) -> list[str]:
        """What the operator should know at the start: each a sentence with what to do."""
        harness = self.ports.harness.missing()
        warnings = [harness] if harness else []
        if not self.settings.routing.authorized_users:
            warnings.append("nobody may do anything: set routing.authorized_users")
        if not self.settings.token():
            warnings.append("there is no GitHub token, so nothing can be said on a thread: set github.token")
        return warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What stands before any thread runs: the store, what this instance is, and the one dispatch path."""

    database: Database
    committer: Committer[Submission, Handled]
    dispatcher: Dispatcher
    recorder: Recorder
    lanes: Lanes
    identity: Identity


def build(
    settings: Settings, clock: SystemClock, ports: Ports | None = None, environment: Mapping[str, str] | None = None
) -> Service:
    """Build the service. The caller holds the state folder's lock.

    `ports` stand in for the outside, `environment` for the operator's. Raises SettingsRefused, StoreError, NoSecret.
    """
    state = StateFolder(settings.state)
    outside = ports or make_ports(settings, state, environment)
    webhook_secrets = settings.secrets() if settings.webhook.enabled else ()
    hidden = {secret.decode() for secret in webhook_secrets} | {settings.token()} - {""}
    journal = Journal(state.event_log, lambda: clock.wall_ms() / 1000, SOURCE, hidden)
    core = build_core(settings, clock, state, outside, journal.emit)
    worker = Worker(build_means(settings, clock, state, outside, core, journal.emit))
    resources = [
        _store(core),
        _workers(settings, core, worker),
        _identity(core),
    ]
    server = None
    if settings.webhook.enabled:
        server, resource = _webhook(settings, clock, core, journal, webhook_secrets)
        resources.append(resource)
    application = Application(resources, clock=clock, observers=Watch(journal.emit).observers())
    return Service(
        settings=settings,
        state=state,
        application=application,
        dispatcher=core.dispatcher,
        database=core.database,
        journal=journal,
        server=server,
        ports=outside,
    )


def build_core(
    settings: Settings, clock: SystemClock, state: StateFolder, outside: Ports, emit: Callable[[LogEvent], None]
) -> Core:
    """The store and the dispatch path over it."""
    database = Database(state.database, clock.wall_ms)
    committer: Committer[Submission, Handled] = Committer(database)
    host = settings.github.host
    sealer = committer.before_run(
        lambda c: _sealer(facts.fact(c, "instance", _new_instance), facts.fact(c, "secret", _new_secret))
    )
    pins = committer.before_run(lambda c: facts.pins(c, host))
    identity = Identity(host, outside.items, committer, committer.before_run(lambda c: facts.known_fact(c, "account")))
    authorities = Authorities(
        logins=frozenset(login.lower() for login in settings.routing.authorized_users), pinned=pins
    )
    policy = Policy(
        spawn=settings.routing.spawn, label=settings.routing.label, authorities=authorities, digest=_digest(settings)
    )
    deduper = Deduper(settings.routing.dedup_cache_size)
    deduper.adopt(committer.before_run(lambda c: facts.newest_keys(c, settings.routing.dedup_cache_size)))
    recorder = Recorder(sealer, new_id)
    lanes = Lanes(clock.wall_ms)
    watched = frozenset(repository.name.lower() for repository in settings.repositories)
    dispatcher = Dispatcher(
        committer,
        Router(deduper, authorities, watched),
        deduper,
        policy,
        recorder,
        clock=clock.wall_ms,
        own_accounts=identity.accounts,
        pins=pins,
        emit=emit,
        wake=lanes.wake,
    )
    return Core(
        database=database, committer=committer, dispatcher=dispatcher, recorder=recorder, lanes=lanes, identity=identity
    )


def build_means(
    settings: Settings,
    clock: SystemClock,
    state: StateFolder,
    outside: Ports,
    core: Core,
    emit: Callable[[LogEvent], None],
) -> Means:
    """What the workers work with."""
    git = Git(deadline_s=GIT_DEADLINE_S, environment=os.environ)
    mirrors = Mirrors(state.mirrors, git)
    slots = settings.routing.max_concurrent_dispatches
    templates = settings.sessions.templates
    return Means(
        database=core.database,
        committer=core.committer,
        dispatcher=core.dispatcher,
        harness=outside.harness,
        clones=Clones(state.clones, git, mirrors),
        prompts=Prompts.load(settings.path(templates) if templates else None),
        items=outside.items,
        remotes=outside.remotes,
        recorder=core.recorder,
        lanes=core.lanes,
        starts=Slots(slots, core.lanes.wake),
        hand_overs=Slots(slots, core.lanes.wake),
        places=Slots(settings.sessions.max_live, core.lanes.wake),
        limits=Limits(retries_max=settings.routing.max_retries),
        clock=clock.wall_ms,
        emit=emit,
        spawn=spawn,
        new_id=new_id,
        sessions_folder=state.sessions,
        agent_environment=_agent_environment(state),
        author_name=settings.sessions.author_name,
        author_email=settings.sessions.author_email,
    )


def new_id() -> str:
    """A fresh id of our own: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def _new_instance() -> str:
    return secrets.token_hex(4)


def _new_secret() -> str:
    return secrets.token_hex(32)


def _sealer(instance: str, secret: str) -> Sealer:
    return Sealer(instance, bytes.fromhex(secret))


def _digest(settings: Settings) -> str:
    """Names the rules of a decision: the part of the settings that decides."""
    return hashlib.sha256(settings.routing.model_dump_json().encode()).hexdigest()[:12]


def _agent_environment(state: StateFolder) -> Callable[[SessionId, str], dict[str, str]]:
    """The seat's address and the session's token; the `the-loop` command is found first."""
    path = os.pathsep.join((str(command_folder()), os.environ.get("PATH", os.defpath)))

    def of(session_id: SessionId, token: str) -> dict[str, str]:
        return {
            "THE_LOOP_AGENT_SOCKET": str(state.sockets / SEAT_SOCKET),
            "THE_LOOP_AGENT_TOKEN": token,
            "PATH": path,
        }

    return of


def _store(core: Core) -> Threads:
    return Threads("store", [("committer", core.committer.run)], core.committer.stop)


def _workers(settings: Settings, core: Core, worker: Worker) -> Threads:
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


def _identity(core: Core) -> Threads:
    return Threads(
        "identity", [("identity", core.identity.run)], core.identity.stop, depends_on=("store",), required=False
    )


def _webhook(
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
            parsers=parsers,
        )
        server.bind(app)

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
