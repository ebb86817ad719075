"""The harness `acp`: sessions whose agent lives in a session host of its own and outlives the service's restarts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from domain.model import SessionId, TurnId
from sessions.harness import Harness as Preset
from sessions.harness import agent_environment
from sessions.host.journal import read_journal
from sessions.host.permissions import PermissionMode
from sessions.host.protocol import HandState
from sessions.host.records import Recorded
from sessions.host.spec import JOURNAL_NAME, HostSpec, HostTimes, SpecRefused, read_spec
from sessions.link import HostRefused, LinkFailed, RecordStream, SessionLink, clone_is_held, start_host
from sessions.port import CloneHeld, HarnessFailed, SessionOrder
from sessions.process_tree import end_marked

CONNECT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedHarness:
    """Starts, reaches and outlives session hosts. `command_prefix` wraps every agent (bwrap, sudo -u, docker)."""

    preset: Preset
    instance: str
    socket_folder: Path
    """Short and private: a socket's path holds 107 bytes."""
    lock_folder: Path
    operator_environment: Mapping[str, str]
    command_prefix: tuple[str, ...] = ()
    permissions: PermissionMode = PermissionMode.ALLOW_EDITS
    allow_commands: tuple[str, ...] = ()
    times: HostTimes = field(default_factory=HostTimes)

    @property
    def name(self) -> str:
        """The preset's name."""
        return self.preset.name

    def missing(self) -> str | None:
        """Why the agent cannot run here, with the remedy."""
        return self.preset.missing()

    def open(self, order: SessionOrder, cancelled: Event) -> HostedSession:
        """Start a host on the clone. Raises HarnessFailed, CloneHeld."""
        if cancelled.is_set():
            raise HarnessFailed("the start was interrupted")
        order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            start_host(order.folder, self._spec(order))
        except HostRefused as refused:
            if refused.clone_is_held:
                raise CloneHeld(str(refused)) from refused
            raise HarnessFailed(f"the session host would not start: {refused}") from refused
        except (LinkFailed, OSError) as failed:
            raise HarnessFailed(f"the session host could not be started: {failed}") from failed
        return self._connect(order.folder)

    def attach(self, session_id: SessionId, folder: Path) -> HostedSession | None:
        """Reach the session's host, if it lives: it holds the clone's lock for all its life."""
        try:
            spec = read_spec(folder)
        except SpecRefused:
            return None
        return self._connect(folder) if clone_is_held(spec.lock_path) else None

    def left_behind(self, session_id: SessionId, folder: Path, from_offset: int) -> list[Recorded]:
        """End everything that carries the session's mark, then read what its host wrote."""
        end_marked(session_id)
        path = folder / JOURNAL_NAME
        return list(read_journal(path, from_offset)) if path.exists() else []

    def _connect(self, folder: Path) -> HostedSession:
        try:
            spec = read_spec(folder)
            return HostedSession(SessionLink.connect(spec.socket_path, CONNECT_S, spec.lock_path))
        except LinkFailed as failed:
            raise HarnessFailed(str(failed)) from failed

    def _spec(self, order: SessionOrder) -> HostSpec:
        mode = PermissionMode.DENY if order.is_untrusted else self.permissions
        return HostSpec(
            session_id=order.session_id,
            instance=self.instance,
            argv=(*self.command_prefix, *self.preset.argv),
            environment=agent_environment(self.preset, self.operator_environment) | dict(order.environment),
            clone=order.clone,
            socket_path=self.socket_folder / f"{order.session_id[:16]}.sock",
            lock_path=self.lock_folder / f"{int(order.item_id)}.lock",
            permission_mode=mode,
            allow_commands=self.allow_commands,
            conversation_id=order.conversation_id,
            times=self.times,
        )


@dataclass(frozen=True, slots=True)
class HostedSession:
    """A link to a living session host, with the harness port's faults."""

    link: SessionLink

    def hand(self, turn_id: TurnId, text: str, timeout_s: float) -> HandState:
        """Hand a turn over. Safe to repeat."""
        with _faults():
            return self.link.hand(turn_id, text, timeout_s)

    def cancel(self, turn_id: TurnId) -> None:
        """Ask for the end of a turn."""
        with _faults():
            self.link.cancel(turn_id)

    def end(self, reason: str) -> None:
        """Ask for the end of the host and its whole process tree."""
        with _faults():
            self.link.end(reason)

    def records(self, from_offset: int) -> HostedRecords:
        """Follow the host's journal."""
        with _faults():
            return HostedRecords(self.link.records(from_offset))

    def close(self) -> None:
        """Let go; the host stays."""
        self.link.close()


@dataclass(frozen=True, slots=True)
class HostedRecords:
    """A host's records as they come."""

    stream: RecordStream

    def next(self, timeout_s: float) -> Recorded | None:
        """The next record, None when none came in time."""
        with _faults():
            return self.stream.next(timeout_s)

    def close(self) -> None:
        """Stop reading."""
        self.stream.close()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except LinkFailed as failed:
        raise HarnessFailed(str(failed)) from failed
