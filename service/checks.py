"""What `the-loop doctor` looks at on this machine: each look says whether all is well, and what to do where it is not."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from service.ports import CONTROL_SOCKET, SEAT_SOCKET
from service.settings import Settings, SettingsRefused
from service.state_folder import StateFolder
from sessions.seat.protocol import check_socket_path
from statedb.database import Database, StoreError
from statedb.inquiries import library_version

GIT_VERSION_MIN = (2, 31)
SQLITE_VERSION_MIN = (3, 50)
"""Older ones may corrupt a write-ahead log that processes share."""
NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "nfs", "nfs4", "smb3", "smbfs"}
)
MOUNTS = Path("/proc/self/mounts")


class Verdict(StrEnum):
    """How a look ended."""

    OK = "ok"
    WARN = "warn"
    """The service runs, and something will be missed."""
    FAIL = "fail"
    """Something that the settings ask for cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, and what was found and is to be done."""

    verdict: Verdict
    about: str
    said: str


def local_findings(settings: Settings, state: StateFolder) -> Iterator[Finding]:
    """Everything that can be told without a network."""
    yield from _roads(settings)
    yield _authorities(settings)
    yield _secrets(settings)
    yield _token(settings)
    yield _state_folder(state)
    yield _store(state)
    yield _file_system(state.path)
    yield _log(state)
    yield _sockets(state)
    yield _sqlite()


def git_finding(version: str | None) -> Finding:
    """`version` is what `git --version` said; None: there is no git."""
    if version is None:
        return Finding(Verdict.FAIL, "git", "git is not found: install it")
    number = next((word for word in version.split() if word[:1].isdigit()), "0")
    parts = tuple(int(part) for part in number.split(".")[:2] if part.isdigit())
    if parts < GIT_VERSION_MIN:
        wanted = ".".join(map(str, GIT_VERSION_MIN))
        return Finding(Verdict.FAIL, "git", f"git {number} is too old: {wanted} or newer is needed")
    return Finding(Verdict.OK, "git", f"git {number}")


def _private(
    about: str, read: Callable[[], tuple[object, ...]], file: Path | None, settings: Settings, missing: str
) -> Finding:
    """Whether there is one, and whether nobody else can read the file that it was read from."""
    try:
        found = read()
    except SettingsRefused as refused:
        return Finding(Verdict.FAIL, about, str(refused))
    if not found:
        return Finding(Verdict.FAIL, about, missing)
    return open_to_others(about, settings.path(file) if file else None) or Finding(Verdict.OK, about, "present")


def open_to_others(about: str, file: Path | None) -> Finding | None:
    """Whether others can read a file that holds a secret; None where they cannot, or it is not there."""
    if file is None or not file.exists() or not stat.S_IMODE(file.stat().st_mode) & 0o077:
        return None
    return Finding(Verdict.WARN, about, f"others can read {file}: chmod 600 it")


def _roads(settings: Settings) -> Iterator[Finding]:
    webhook, polling = settings.webhook.enabled, settings.polling.enabled
    if not webhook and not polling:
        yield Finding(Verdict.FAIL, "roads", "nothing can arrive: set webhook.enabled or polling.enabled to true")
    if polling and not settings.repositories:
        yield Finding(Verdict.FAIL, "roads", "polling watches nothing: name a repository in [[repositories]]")
    if webhook:
        yield _port(settings)
    if polling and settings.repositories:
        yield Finding(Verdict.OK, "roads", f"polling every {settings.polling.interval_s:g} s")


def _port(settings: Settings) -> Finding:
    """Whether the webhook's address is free, or taken by our own service."""
    address = f"{settings.webhook.host}:{settings.webhook.port}"
    if StateFolder(settings.state).is_locked():
        return Finding(Verdict.OK, "roads", f"the service runs, and its webhook is set to {address}")
    family = socket.AF_INET6 if ":" in settings.webhook.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.webhook.host, settings.webhook.port))
        except OSError as fault:
            said = f"cannot listen on {address} ({fault.strerror}); set webhook.host or webhook.port to another one"
            return Finding(Verdict.FAIL, "roads", said)
    return Finding(Verdict.OK, "roads", f"the webhook can listen on {address}")


def _authorities(settings: Settings) -> Finding:
    logins = settings.routing.authorized_users
    if not logins:
        return Finding(Verdict.FAIL, "people", "nobody may do anything: name them in routing.authorized_users")
    return Finding(Verdict.OK, "people", f"may move things: {', '.join(logins)}")


def _secrets(settings: Settings) -> Finding:
    if not settings.webhook.enabled:
        return Finding(Verdict.OK, "secret", "not needed: the webhook is off")
    return _private("secret", settings.secrets, settings.webhook.secret_file, settings,
                   "there is no webhook secret: `the-loop init` makes one, or set webhook.secret_file")  # fmt: skip


def _token(settings: Settings) -> Finding:
    github = settings.github
    return _private("token", lambda: tuple(filter(None, [settings.token()])), None if github.token else github.token_file,
                   settings, "there is no GitHub token, so nothing can be said on a thread: set github.token_file")  # fmt: skip


def _state_folder(state: StateFolder) -> Finding:
    if not state.path.exists():
        parent = next(folder for folder in state.path.parents if folder.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return Finding(Verdict.OK, "state", f"{state.path} will be made")
        return Finding(Verdict.FAIL, "state", f"{state.path} cannot be made: {parent} is not writable for you")
    refusal = state.refusal()
    if refusal is not None:
        return Finding(Verdict.FAIL, "state", refusal)
    if stat.S_IMODE(state.path.stat().st_mode) & 0o077:
        return Finding(Verdict.FAIL, "state", f"others may enter {state.path}: chmod 700 it")
    clone = next((folder for folder in state.path.resolve().parents if (folder / ".git").exists()), None)
    if clone is not None:
        return Finding(
            Verdict.WARN, "state", f"{state.path} lies in the clone {clone}: set state_folder to one outside"
        )
    return Finding(Verdict.OK, "state", f"{state.path} is private")


def _store(state: StateFolder) -> Finding:
    if not state.database.exists():
        return Finding(Verdict.OK, "store", f"{state.database} will be made")
    try:
        Database(state.database, lambda: 0).reader()
    except StoreError as fault:
        return Finding(Verdict.FAIL, "store", f"{fault}; put a copy from before in its place, or move it away")
    return Finding(Verdict.OK, "store", f"{state.database}")


def _file_system(path: Path) -> Finding:
    kind = file_system_of(path, MOUNTS.read_text("utf-8", "replace") if MOUNTS.exists() else "")
    if kind in NETWORK_FILE_SYSTEMS:
        return Finding(
            Verdict.FAIL, "disk", f"{path} lies on {kind}: SQLite's log needs a local disk; set state_folder"
        )
    return Finding(Verdict.OK, "disk", f"local ({kind or 'not known'})")


def file_system_of(path: Path, mounts: str) -> str:
    """The kind of file system that a path lies on, by the table of mounts; empty where it does not tell."""
    resolved, best, kind = path.resolve(), -1, ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        place = Path(fields[1].encode().decode("unicode_escape"))
        if resolved.is_relative_to(place) and len(place.parts) >= best:
            best, kind = len(place.parts), fields[2]
    return kind


def _log(state: StateFolder) -> Finding:
    log = state.event_log
    target = log if log.exists() else log.parent
    if target.exists() and not os.access(target, os.W_OK):
        return Finding(Verdict.FAIL, "log", f"{target} is not writable for you: its lines would be held and then lost")
    return Finding(Verdict.OK, "log", f"{log}")


def _sockets(state: StateFolder) -> Finding:
    try:
        for name in (CONTROL_SOCKET, SEAT_SOCKET):
            check_socket_path(state.sockets / name)
    except ValueError as fault:
        return Finding(Verdict.FAIL, "sockets", f"{fault}; set XDG_RUNTIME_DIR to a short private folder")
    folder = state.sockets
    if folder.exists() and (folder.stat().st_uid != os.geteuid() or stat.S_IMODE(folder.stat().st_mode) & 0o077):
        return Finding(Verdict.FAIL, "sockets", f"{folder} is open to others: it must be yours, with mode 0700")
    return Finding(Verdict.OK, "sockets", f"{folder}")


def _sqlite() -> Finding:
    version = library_version()
    named = ".".join(map(str, version))
    if version < SQLITE_VERSION_MIN:
        return Finding(Verdict.FAIL, "sqlite", f"SQLite {named} is too old: upgrade the package apsw")
    return Finding(Verdict.OK, "sqlite", f"SQLite {named}")
