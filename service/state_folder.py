"""The folder in which everything is kept: private, locked by the one process that writes, with short paths for sockets."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

_LOCK = "lock"


class StateInUse(Exception):
    """Another process holds the state folder's lock."""


class StateRefused(Exception):
    """The folder cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Where the files of one instance lie."""

    path: Path

    @property
    def database(self) -> Path:
        """The store."""
        return self.path / "state.db"

    @property
    def event_log(self) -> Path:
        """The event log."""
        return self.path / "logs" / "events.jsonl"

    @property
    def mirrors(self) -> Path:
        """Bare mirrors of repositories."""
        return self.path / "mirrors"

    @property
    def clones(self) -> Path:
        """One clone a work item."""
        return self.path / "clones"

    @property
    def sessions(self) -> Path:
        """The private folder of each session host."""
        return self.path / "sessions"

    @property
    def locks(self) -> Path:
        """One lock a clone, held by its session host."""
        return self.path / "locks"

    @property
    def broadcasts(self) -> Path:
        """Who was written to by broadcasts, and what became of it."""
        return self.path / "broadcasts"

    @property
    def sockets(self) -> Path:
        """A short private folder for sockets: their paths hold 107 bytes."""
        return _runtime_folder() / hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:12]

    @property
    def _folders(self) -> tuple[Path, ...]:
        return self.event_log.parent, self.mirrors, self.clones, self.sessions, self.locks, self.broadcasts

    def refusal(self) -> str | None:
        """Why the folder that stands there is not ours to use, and what to do; None where it may be used, or is not there.

        It is closed to others and filled by us, so one that holds other things is left alone.
        """
        if not self.path.exists():
            return None
        if not self.path.is_dir() or self.path.stat().st_uid != os.geteuid():
            return f"{self.path} is no folder of your own: set state_folder to another one"
        names = {entry.name for entry in self.path.iterdir()}
        ours = {folder.name for folder in self._folders}
        if names <= ours or {self.database.name, _LOCK} & names:
            return None
        return f"{self.path} holds other things than a state: set state_folder to a folder of its own"

    def make(self) -> None:
        """Make the folders, readable by their owner alone. Safe to repeat. Raises StateRefused."""
        try:
            refusal = self.refusal()
            if refusal is not None:
                raise StateRefused(refusal)
            for folder in (self.path, *self._folders, self.sockets):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise StateRefused(f"the state folder {self.path} cannot be made: {error.strerror}") from error

    def lock(self) -> int:
        """Hold the folder until the returned descriptor is closed, or the process ends. Raises StateInUse, StateRefused."""
        file = self.path / _LOCK
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateRefused(f"{file} cannot be opened: {error.strerror}; move it away") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StateInUse(f"another the-loop runs on {self.path}; stop it first, or set another name") from error
        return descriptor

    def is_locked(self) -> bool:
        """Whether a process runs on the folder."""
        try:
            descriptor = os.open(self.path / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False


def _runtime_folder() -> Path:
    """A short folder of this user's own."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given and len(given) < 40:
        return Path(given) / "the-loop"
    return Path(tempfile.gettempdir()) / f"the-loop-{os.getuid()}"
