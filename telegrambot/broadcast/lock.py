"""One runner for each broadcast: a lock that the kernel takes back from a process at the moment of its death.

Held by flock for the life of a run. A lock of one's own making, a file with a process in it, would have to tell a dead
holder from a living one: by its number, which is given away again, its start, the boot, its namespace; and to refuse where
it cannot tell, or to guess by age. The kernel knows. So there is no takeover to be decided: whoever gets the lock has it,
and whoever does not is refused, however old the lock is. Who holds it is written into the file for people alone.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from telegrambot.broadcast.files import FILE_MODE
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal

_IDENTITY_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One process among all that ever were; None for what the system does not tell."""

    pid: int
    boot_id: str | None
    started_ticks: int | None
    """Ticks from the boot to its start: a number that is given away again has others."""
    pid_namespace: str | None
    """Among which processes its number means it."""


class Lock:
    """A lock that is held."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def is_ours(self) -> bool:
        """Whether its file is still the one that others meet: removed or replaced, it keeps nobody out any more."""
        try:
            met = self._path.lstat()
        except OSError:
            return False
        return os.path.samestat(met, os.fstat(self._descriptor))


@contextmanager
def held(path: Path) -> Iterator[Lock]:
    """Hold the lock, and remove its file in the end. Raises BroadcastRefused, with who has it, where somebody does."""
    descriptor = _locked(path)
    lock = Lock(path, descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(identity_of_this_process())).encode() + b"\n", 0)
        yield lock
    finally:
        if lock.is_ours():
            path.unlink()
        os.close(descriptor)


def identity_of_this_process() -> Identity:
    """Who we are."""
    return Identity(
        pid=os.getpid(), boot_id=_boot_id(), started_ticks=_started_ticks("self"), pid_namespace=_pid_namespace()
    )


def _locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if Lock(path, descriptor).is_ours():
                return descriptor
        except BlockingIOError:
            holder = _holder(os.pread(descriptor, _IDENTITY_BYTES_MAX, 0))
            os.close(descriptor)
            raise BroadcastRefused(Refusal.ALREADY_RUNNING, f"this broadcast is being sent by {holder}") from None
        except BaseException:
            os.close(descriptor)
            raise
        # Its holder removed the file between our opening it and our getting it: the next one is another file.
        os.close(descriptor)


def _holder(written: bytes) -> str:
    """Who holds the lock, in words."""
    try:
        there = Identity(**json.loads(written))
    except (ValueError, TypeError):
        return "a process that has not said which"
    here = identity_of_this_process()
    if (there.boot_id, there.pid_namespace) != (here.boot_id, here.pid_namespace):
        return f"process {there.pid} of another container or machine"
    if there.started_ticks != _started_ticks(str(there.pid)):
        return f"what process {there.pid}, which has ended, left running"
    return f"process {there.pid}"


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _pid_namespace() -> str | None:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def _started_ticks(process: str) -> int | None:
    """https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: the 22nd field, the 20th behind the command's bracket."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])
