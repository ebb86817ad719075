"""What a session host is told before it starts: one file in its private folder, nothing in its argv."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sessions.host.permissions import PermissionMode

SPEC_VERSION = 1
SPEC_NAME = "spec.json"
JOURNAL_NAME = "journal.jsonl"
LOG_NAME = "host.log"
SOCKET_PATH_BYTES_MAX = 107


class SpecRefused(Exception):
    """The spec file is missing, of another version, or lacks something that the host needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTimes:
    """How long a host waits, in seconds; the defaults are the product's, tests shorten them."""

    idle_s: float = 600.0
    """Without a running turn for this long the host ends itself."""
    unattached_s: float = 86_400.0
    """Without any connection for this long the host ends itself, running turn or not."""
    start_s: float = 120.0
    """The agent must have opened its conversation by then."""
    cancel_s: float = 10.0
    """A cancelled turn that has not ended by then is ended with its process tree."""
    grace_s: float = 5.0
    """Between asking a process tree to end and killing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """Everything a host knows about its session; complete, so that the host reads nothing else of ours."""

    session_id: str
    """Ours; also the mark in the environment of every process of the session."""
    instance: str
    """The service's own name, for the log."""
    argv: tuple[str, ...]
    """The agent's command; settings and presets only, never text from outside."""
    environment: Mapping[str, str]
    """The agent's whole environment, already built from an allow list."""
    clone: Path
    """The session's clone: the agent's working folder and the bound of its edits."""
    socket_path: Path
    lock_path: Path
    permission_mode: PermissionMode
    allow_commands: tuple[str, ...]
    conversation_id: str | None = None
    """The agent's own id of a conversation to load; None opens a new one."""
    times: HostTimes = field(default_factory=HostTimes)


def write_spec(folder: Path, spec: HostSpec) -> None:
    """Put the spec into the host's folder, readable by its owner alone; replaces an earlier one in one step."""
    fields = asdict(spec) | {
        "version": SPEC_VERSION,
        "environment": dict(spec.environment),
        "clone": str(spec.clone),
        "socket_path": str(spec.socket_path),
        "lock_path": str(spec.lock_path),
    }
    draft = folder / f"{SPEC_NAME}.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(fields, file)
    draft.replace(folder / SPEC_NAME)


def read_spec(folder: Path) -> HostSpec:
    """Read what `write_spec` wrote; raises `SpecRefused` with the reason."""
    try:
        fields = json.loads((folder / SPEC_NAME).read_text(encoding="utf-8"))
        if fields["version"] != SPEC_VERSION:
            raise SpecRefused(f"spec version {fields['version']} is not {SPEC_VERSION}")
        spec = HostSpec(
            session_id=fields["session_id"],
            instance=fields["instance"],
            argv=tuple(fields["argv"]),
            environment=dict(fields["environment"]),
            clone=Path(fields["clone"]),
            socket_path=Path(fields["socket_path"]),
            lock_path=Path(fields["lock_path"]),
            permission_mode=PermissionMode(fields["permission_mode"]),
            allow_commands=tuple(fields["allow_commands"]),
            conversation_id=fields["conversation_id"],
            times=HostTimes(**fields["times"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise SpecRefused(f"{SPEC_NAME} cannot be read: {fault!r}") from fault
    if len(os.fsencode(spec.socket_path)) > SOCKET_PATH_BYTES_MAX:
        raise SpecRefused(f"the socket's path is longer than {SOCKET_PATH_BYTES_MAX} bytes")
    return spec
