"""The end of session hosts that a service left running, as it is meant to: they outlive it and are nobody's children."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from service.demo.patience import Patience
from service.state_folder import StateFolder
from sessions.host.spec import HostSpec, SpecRefused, read_spec
from sessions.link import LinkFailed, SessionLink, clone_is_held
from sessions.process_tree import end_marked, find_session

HOST_END_S = 8.0


def end_sessions(state: StateFolder) -> None:
    """End every session of a state folder whose service has ended. Safe to repeat."""
    for spec in _specs(state.sessions):
        if clone_is_held(spec.lock_path):
            with suppress(LinkFailed):
                link = SessionLink(spec.socket_path)
                link.end("demo-ended")
                link.close()
        end_marked(spec.session_id)
        _wait_for_end(spec.lock_path)


def living_processes(state: StateFolder) -> int:
    """How many processes of agents live."""
    return sum(len(find_session(spec.session_id)) for spec in _specs(state.sessions))


def _wait_for_end(lock_path: Path) -> None:
    """A host holds its clone's lock until it is gone."""
    Patience().wait(lambda: None if clone_is_held(lock_path) else True, HOST_END_S)


def _specs(folder: Path) -> Iterator[HostSpec]:
    """What each session host was told."""
    for session in sorted(folder.iterdir()) if folder.is_dir() else []:
        with suppress(SpecRefused):
            yield read_spec(session)
