"""A lock file by which threads and processes take turns at a folder, and which a running git goes on holding."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Final

from sessions.git_faults import GitFailed, GitFault, fault_of

_POLL_S: Final = 0.02


@contextmanager
def alone(lock: Path, deadline_s: float, cancelled: Event | None = None) -> Iterator[int]:
    """Hold the lock with nobody beside; yields the file descriptor that git has to inherit.

    Raises GitFailed: `busy` after the deadline, `cancelled` when the event is set first. The file is never removed.
    """
    yield from _held(lock, fcntl.LOCK_EX, deadline_s, cancelled)


@contextmanager
def among_readers(lock: Path, deadline_s: float, cancelled: Event | None = None) -> Iterator[int]:
    """Hold the lock beside others who only read; otherwise as `alone`."""
    yield from _held(lock, fcntl.LOCK_SH, deadline_s, cancelled)


def _held(lock: Path, how: int, deadline_s: float, cancelled: Event | None) -> Iterator[int]:
    descriptor = _opened(lock)
    try:
        _acquire(descriptor, how, time.monotonic() + deadline_s, cancelled)
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(lock: Path) -> int:
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise GitFailed(fault_of(str(error)), f"a lock file could not be opened: {error.strerror}") from error


def _acquire(descriptor: int, how: int, until: float, cancelled: Event | None) -> None:
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if cancelled is not None and cancelled.is_set():
                raise GitFailed(GitFault.CANCELLED, "the work was called off while it waited for its turn") from error
            if time.monotonic() > until:
                raise GitFailed(GitFault.BUSY, "another git holds this repository") from error
        time.sleep(_POLL_S)
