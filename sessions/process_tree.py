"""Ending everything that belongs to a session: by descent, and by the mark that its processes carry."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sessions.host.protocol import MARK_VARIABLE

GRACE_S = 5.0

_PROC = Path("/proc")
_POLL_S = 0.02
_KILL_ROUNDS = 100
_PS_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was seen: `started` tells it from a later one of the same pid ("" where the system hides it)."""

    pid: int
    parent_pid: int = field(compare=False)
    """Changes when the parent ends: it is the same process all the same."""
    started: str


def end_marked(session_id: str, *, grace_s: float = GRACE_S) -> tuple[int, ...]:
    """End every process that carries the session's mark, and their descendants; blocks up to a few seconds.

    Asked to end first, killed after `grace_s`. Never ends this process or one that it descends from. Safe to
    repeat. Returns the pids that are alive all the same (another user's, or stuck in the kernel): usually none.
    """
    for pause_s in (ending := Ending(session_id, grace_s=grace_s)):
        time.sleep(pause_s)
    return ending.left


class Ending:
    """The ending of a session's processes as a loop of pauses, so that threads and coroutines can both wait.

    Iterate and wait as long as each value says; when the iteration ends, `left` holds what would not end.
    """

    def __init__(self, session_id: str, *, grace_s: float = GRACE_S, root_pid: int | None = None) -> None:
        """`root_pid`: also end what descends from this process, itself spared where it is ours or an ancestor."""
        self._session_id = session_id
        self._grace_s = grace_s
        self._root_pid = root_pid
        self._known: set[Process] = set()
        self.left: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[float]:
        asked: set[Process] = set()
        waited_s = 0.0
        while (found := self._find()) and waited_s < self._grace_s:
            for process in found - asked:
                _signal(process, signal.SIGTERM)
            asked |= found
            yield _POLL_S
            waited_s += _POLL_S
        for _ in range(_KILL_ROUNDS):
            if not (found := self._find()):
                break
            for process in found:
                _signal(process, signal.SIGKILL)
            yield _POLL_S
        self.left = tuple(sorted(process.pid for process in found))

    def _find(self) -> set[Process]:
        """What lives of the session; also what no mark and no parent leads to any more, since the parent was ended first."""
        left = {process for process in self._known if process.started and _proc_process(process.pid) == process}
        self._known = find_session(self._session_id, self._root_pid) | left
        return self._known


def find_session(session_id: str, root_pid: int | None = None) -> set[Process]:
    """The living processes of a session: those with its mark, those below `root_pid`, and their descendants."""
    alive = _proc_processes() if _PROC.joinpath("self/stat").exists() else _ps_processes()
    spared = _ourselves_and_ancestors(alive)
    marked = _marked_pids(alive, session_id)
    wanted = marked | ({root_pid} if root_pid is not None else set())
    children: dict[int, list[int]] = {}
    for process in alive.values():
        children.setdefault(process.parent_pid, []).append(process.pid)
    found: set[int] = set()
    waiting = list(wanted)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return {alive[pid] for pid in found if pid > 1 and pid in alive and pid not in spared}


def reap_adopted(keep_pid: int | None) -> None:
    """Collect the ended children that a subreaper adopted; `keep_pid` is collected by its own waiter."""
    own_pid = os.getpid()
    for pid in _pids():
        if pid != keep_pid and _parent_of_ended(pid) == own_pid:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if not process.started or not hasattr(os, "pidfd_open"):
            os.kill(process.pid, number)
            return
        descriptor = os.pidfd_open(process.pid)
        try:
            if _proc_process(process.pid) == process:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _ourselves_and_ancestors(alive: dict[int, Process]) -> set[int]:
    spared: set[int] = set()
    pid = os.getpid()
    while pid not in spared:
        spared.add(pid)
        pid = alive[pid].parent_pid if pid in alive else os.getppid()
    return spared


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()] if _PROC.is_dir() else []


def _proc_processes() -> dict[int, Process]:
    seen = (_proc_process(pid) for pid in _pids())
    return {process.pid: process for process in seen if process is not None}


def _proc_process(pid: int) -> Process | None:
    parts = _stat_parts(pid)
    if parts is None or parts[0] in "ZX":
        return None
    return Process(pid, int(parts[1]), parts[19])


def _parent_of_ended(pid: int) -> int | None:
    parts = _stat_parts(pid)
    return int(parts[1]) if parts is not None and parts[0] == "Z" else None


def _stat_parts(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on (the name before it may hold anything)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _marked_pids(alive: dict[int, Process], session_id: str) -> set[int]:
    mark = f"{MARK_VARIABLE}={session_id}"
    if not _PROC.joinpath("self/environ").exists():
        return {int(line.split(None, 1)[0]) for line in _ps_lines("eww", "pid=,command=") if mark in line.split()}
    return {pid for pid in alive if _environment_holds(pid, mark.encode())}


def _environment_holds(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _ps_processes() -> dict[int, Process]:
    rows = (line.split() for line in _ps_lines("", "pid=,ppid=,stat="))
    return {int(row[0]): Process(int(row[0]), int(row[1]), "") for row in rows if len(row) == 3 and row[2][0] != "Z"}


def _ps_lines(flags: str, columns: str) -> list[str]:
    argv = ["ps", "-A", *([flags] if flags else []), "-o", columns]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=_PS_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
