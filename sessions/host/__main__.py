"""Starts a session host: `python -m sessions.host FOLDER`, detached; prints its pid once it owns the clone."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import logging
import logging.handlers
import os
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from sessions.host.host import EndCause, Host
from sessions.host.journal import Journal
from sessions.host.permissions import PermissionRequest, PermissionRules, Verdict, judge
from sessions.host.protocol import HostExit
from sessions.host.server import Server
from sessions.host.spec import JOURNAL_NAME, LOG_NAME, HostSpec, SpecRefused, read_spec
from sessions.process_tree import end_marked, reap_adopted

_LOG_BYTES_MAX = 512 * 1024
_LOCK_TRIES = 10
_LOCK_PAUSE_S = 0.03
_PR_SET_CHILD_SUBREAPER = 36


def main(folder: Path) -> HostExit:
    """Check, take the clone's lock, detach, and live; the first process ends as soon as the second owns the clone."""
    try:
        spec = read_spec(folder)
        lock = os.open(spec.lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    except (SpecRefused, OSError) as fault:
        print(fault, file=sys.stderr)
        return HostExit.SPEC_REFUSED
    if not _locked(lock):
        print("another session host holds this clone", file=sys.stderr)
        return HostExit.CLONE_HELD
    child_pid = os.fork()
    if child_pid:
        print(child_pid, flush=True)
        return HostExit.DONE
    _detach(folder)
    _become_subreaper()
    # Who died with this clone may have left processes behind; nothing starts beside them.
    end_marked(spec.session_id, grace_s=spec.times.grace_s)
    asyncio.run(_live(folder, spec))
    return HostExit.DONE


def _locked(descriptor: int) -> bool:
    """Take the lock; whoever only asks whether it is held has it for a moment, so one refusal says nothing."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_LOCK_PAUSE_S)
        else:
            return True
    return False


async def _live(folder: Path, spec: HostSpec) -> None:
    journal = Journal(folder / JOURNAL_NAME, clock=lambda: datetime.now(UTC))
    rules = PermissionRules(mode=spec.permission_mode, allow_commands=spec.allow_commands, clone=spec.clone)

    async def permit(request: PermissionRequest) -> Verdict:
        return judge(request, rules)

    host = Host(spec, journal, permit)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, host.end, EndCause.TERMINATED)
    loop.add_signal_handler(signal.SIGCHLD, lambda: reap_adopted(host.agent_pid))
    async with Server(host, journal.path).listening(spec.socket_path):
        await host.run()
    journal.close()


def _detach(folder: Path) -> None:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    log_path = folder / LOG_NAME
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (nothing, 1), (log, 2)):
        os.dup2(source, target)
    handler = logging.handlers.RotatingFileHandler(log_path, maxBytes=_LOG_BYTES_MAX, backupCount=1)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _become_subreaper() -> None:
    """Let orphans of the agent become our children (Linux), so that they stay within the tree that we end."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
