"""Joins the rooms: one function builds the whole service from its settings, top to bottom."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from domain.marker import Sealer
from domain.model import SessionId
from domain.policy import Authorities, Policy
from eventlog.event import LogEvent
from eventlog.journal import Journal
from eventlog.masking import Masker
from eventlog.output import as_jsonl
from eventlog.query import Query
from eventlog.reader import LogReader
from replies.publisher import Publisher
from replies.record import Recorder, Target
from replies.steady import SteadyClock
from service import parts
from service.clock import SystemClock
from service.control_part import control
from service.core import Core
from service.housekeeping import Housekeeping
from service.http_server import HttpServer
from service.identity import Identity
from service.lifecycle.application import Application
from service.lifecycle.resource import Resource
from service.ports import SEAT_SOCKET, Ports, command_folder, make_ports
from service.settings import Settings
from service.state_folder import StateFolder
from service.telegram.seat import NoSeat, TelegramSeat, emitters, seat_of
from service.threads import spawn
from service.vitals import Vitals
from service.watch import Watch
from sessions.clones import Clones
from sessions.git import Git
from sessions.mirrors import Mirrors
from sessions.prompts import Prompts
from sessions.seat.ports import Saying, SeatPorts
from sessions.seat.protocol import seat_environment
from sessions.seat.server import SeatServer
from sessions.seat.verbs import Seat
from statedb import facts, ledger
from statedb.committer import Committer
from statedb.database import Database
from statedb.ledger import Owner
from statedb.rows import ReplyRow
from webhook.dispatcher import Dispatcher
from webhook.handled import Handled, Submission
from webhook.lanes import Lanes, Slots
from webhook.means import Limits, Means
from webhook.router import Deduper, Router
from webhook.worker import Worker

SOURCE = "service"
GIT_DEADLINE_S = 600.0


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
    telegram: TelegramSeat | NoSeat | None

    def missing(self) -> list[str]:
        """What the operator should know at the start: each a sentence with what to do."""
        harness = self.ports.harness.missing()
        warnings = [harness] if harness else []
        if not self.settings.routing.authorized_users:
            warnings.append("nobody may do anything: set routing.authorized_users")
        if not self.settings.token():
            warnings.append("there is no GitHub token, so nothing can be said on a thread: set github.token")
        if self.telegram is not None:
            warnings.extend(self.telegram.warnings())
        return warnings


def build(
    settings: Settings, clock: SystemClock, ports: Ports | None = None, environment: Mapping[str, str] | None = None
) -> Service:
    """Build the service. The caller holds the state folder's lock.

    `ports` stand in for the outside, `environment` for the operator's. Raises SettingsRefused, StoreError, NoSecret.
    """
    state = StateFolder(settings.state)
    outside = ports or make_ports(settings, state, environment)
    webhook_secrets = settings.secrets() if settings.webhook.enabled else ()
    hidden = hidden_values(settings)
    journal = Journal(state.event_log, lambda: clock.wall_ms() / 1000, SOURCE, hidden)
    telegram = seat_of(settings, journal)
    emit, emit_all = emitters(telegram, journal)
    core = build_core(settings, clock, state, outside, emit, emit_all)
    means = build_means(settings, clock, state, outside, core, emit)
    seat = build_seat(state, outside, core, means, Masker(hidden).mask)
    resources: list[Resource] = [
        parts.store(core),
        parts.publisher(core),
        parts.seat(seat),
        parts.workers(settings, core, Worker(means)),
        parts.identity(core),
        parts.housekeeping(Housekeeping(core.committer, clock.wall_ms)),
    ]
    vitals = Vitals(core, journal, telegram.hearing if telegram else None)
    resources.append(control(settings, clock, state, outside, vitals))
    if settings.polling.enabled:
        resources.append(parts.poller(settings, clock, outside, core, emit))
    server = None
    if settings.webhook.enabled:
        server, resource = parts.webhook(settings, clock, core, journal, webhook_secrets)
        resources.append(resource)
    if isinstance(telegram, TelegramSeat):
        resources.extend(telegram.resources(vitals, state, clock))
    application = Application(resources, clock=clock, observers=Watch(emit).observers())
    return Service(
        settings=settings,
        state=state,
        application=application,
        dispatcher=core.dispatcher,
        database=core.database,
        journal=journal,
        server=server,
        ports=outside,
        telegram=telegram,
    )


def build_core(
    settings: Settings,
    clock: SystemClock,
    state: StateFolder,
    outside: Ports,
    emit: Callable[[LogEvent], None],
    emit_all: Callable[[Sequence[LogEvent]], None] | None = None,
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
    policy = _policy(settings, pins)
    deduper = Deduper(settings.routing.dedup_cache_size)
    deduper.adopt(committer.before_run(lambda c: facts.newest_keys(c, settings.routing.dedup_cache_size)))
    recorder = Recorder(sealer, new_id, Masker(hidden_values(settings)).mask)
    committer.before_run(lambda c: ledger.release_dead(c, clock.wall_ms()))
    publisher = Publisher(
        database,
        committer,
        outside.threads,
        sealer=sealer,
        owner=_owner(state),
        clock=SteadyClock(clock.wall_ms, clock.monotonic),
        emit=emit,
    )
    lanes = Lanes(clock.wall_ms)
    watched = frozenset(repository.name.lower() for repository in settings.repositories)
    dispatcher = Dispatcher(
        committer,
        Router(deduper, policy.authorities, watched, identity.accounts),
        deduper,
        policy,
        recorder,
        clock=clock.wall_ms,
        own_accounts=identity.accounts,
        pins=pins,
        emit=emit,
        wake=lanes.wake,
        publish=publisher.wake,
        emit_all=emit_all,
    )
    return Core(
        database=database,
        committer=committer,
        dispatcher=dispatcher,
        recorder=recorder,
        lanes=lanes,
        identity=identity,
        publisher=publisher,
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
        limits=Limits(
            retries_max=settings.routing.max_retries,
            reread_ms=round(settings.polling.interval_s * 1000) if settings.polling.enabled else None,
        ),
        clock=clock.wall_ms,
        emit=emit,
        publish=core.publisher.wake,
        spawn=spawn,
        new_id=new_id,
        sessions_folder=state.sessions,
        agent_environment=_agent_environment(state),
        author_name=settings.sessions.author_name,
        author_email=settings.sessions.author_email,
    )


def build_seat(
    state: StateFolder, outside: Ports, core: Core, means: Means, mask: Callable[[str], str]
) -> parts.SeatPart:
    """The narrow door through which agents ask."""
    stopping = threading.Event()
    reader = LogReader(state.event_log)

    def events(work_items: Sequence[str], limit: int) -> Sequence[str]:
        entries = [entry for name in work_items for entry in reader.last(Query(work_item=name), limit)]
        return list(as_jsonl(sorted(entries, key=lambda entry: entry.time_ms)))[-limit:]

    def compose(saying: Saying) -> ReplyRow:
        return core.recorder.comment(
            saying.turn_id,
            saying.kind,
            saying.number,
            item_id=saying.item_id,
            target=Target(thread=saying.thread, repository=saying.repository),
            text=saying.text,
            now_ms=saying.now_ms,
            turn_id=saying.turn_id,
        )

    seat = Seat(
        SeatPorts(
            database=core.database,
            committer=core.committer,
            threads=outside.threads,
            items=outside.items,
            pulls=outside.pulls,
            remotes=outside.remotes,
            clones=means.clones,
            compose=compose,
            sealer=core.recorder.sealer,
            authorities=lambda: core.dispatcher.policy.authorities,
            mask=mask,
            events=events,
            clock=means.clock,
            emit=means.emit,
            wake=core.publisher.wake,
        ),
        stopping,
    )
    return parts.SeatPart(seat, SeatServer(state.sockets / SEAT_SOCKET, seat.answer, spawn), stopping)


def hidden_values(settings: Settings) -> set[str]:
    """The exact secrets that no log line and no comment may hold."""
    secrets_set = settings.secrets() if settings.webhook.enabled else ()
    tokens = {settings.token(), settings.telegram_token() if settings.telegram.enabled else ""}
    return {secret.decode("utf-8", "replace") for secret in secrets_set} | (tokens - {""})


def new_id() -> str:
    """A fresh id of our own: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def _new_instance() -> str:
    return secrets.token_hex(4)


def _new_secret() -> str:
    return secrets.token_hex(32)


def _sealer(instance: str, secret: str) -> Sealer:
    return Sealer(instance, bytes.fromhex(secret))


def _policy(settings: Settings, pins: dict[str, int]) -> Policy:
    """The operator's rules; the authorities learn whom they have seen."""
    logins = frozenset(login.lower() for login in settings.routing.authorized_users)
    return Policy(
        spawn=settings.routing.spawn,
        label=settings.routing.label,
        authorities=Authorities(logins=logins, pinned=pins),
        digest=_digest(settings),
    )


def _digest(settings: Settings) -> str:
    """Names the rules of a decision: the part of the settings that decides."""
    return hashlib.sha256(settings.routing.model_dump_json().encode()).hexdigest()[:12]


def _agent_environment(state: StateFolder) -> Callable[[SessionId, str], dict[str, str]]:
    """The seat's address and the session's token; the `the-loop` command is found first."""
    path = os.pathsep.join((str(command_folder()), os.environ.get("PATH", os.defpath)))

    def of(session_id: SessionId, token: str) -> dict[str, str]:
        return {
            **seat_environment(state.sockets / SEAT_SOCKET, token),
            "PATH": path,
        }

    return of


def _owner(state: StateFolder) -> Owner:
    """This process, for the ledger."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return Owner(
        owner_id=secrets.token_hex(8),
        host=socket.gethostname(),
        boot_id=boot.read_text("ascii").strip() if boot.exists() else "",
        pid=os.getpid(),
        lock_path=str(state.path / "lock"),
    )
