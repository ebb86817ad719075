"""The SQLite file: how it is opened, brought to the newest schema, and read beside its one writer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import apsw

Connection = apsw.Connection
"""What the other rooms call a connection: none of them needs the library itself."""

Clock = Callable[[], int]
"""Milliseconds since the epoch, UTC."""

BUSY_MS = 5_000
"""How long a statement waits for another process's lock before it gives up."""


class StoreError(Exception):
    """Something is wrong with the store; its text is for the operator."""


class StoreUnavailable(StoreError):
    """The store could not take a write just now (disk full, locked, closing); nothing of it was recorded."""


class StoreTooNew(StoreError):
    """The file was written by a newer version of the-loop."""


class Database:
    """One SQLite file. `writer` opens the single writing connection; `reader` gives each thread its own read-only one."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        self._local = threading.local()

    def writer(self) -> apsw.Connection:
        """Open for writing and run the migrations that are missing. Only the committer calls this.

        Raises StoreTooNew for a file of a newer schema, StoreUnavailable where it cannot be opened or written.
        """
        try:
            connection = self._open(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "full")
            _migrate(connection, self.path)
        except apsw.Error as error:
            raise StoreUnavailable(f"cannot open {self.path}: {error}") from error
        self.path.chmod(0o600)
        return connection

    def reader(self) -> apsw.Connection:
        """This thread's read-only connection. Raises StoreUnavailable where there is no store yet."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            try:
                connection = self._open(apsw.SQLITE_OPEN_READONLY)
                connection.pragma("user_version")
            except apsw.Error as error:
                raise StoreUnavailable(f"cannot read {self.path}: {error}") from error
            self._local.connection = connection
        return connection

    def _open(self, flags: int) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=flags, statementcachesize=200)
        connection.set_busy_timeout(BUSY_MS)
        connection.create_scalar_function("now_ms", lambda *_: self.clock(), 0)
        return connection


def _migrate(connection: apsw.Connection, path: Path) -> None:
    """Run the missing migrations, each in its own transaction, after a copy of what was there."""
    scripts = _scripts()
    version = int(connection.pragma("user_version"))
    if version > len(scripts):
        raise StoreTooNew(f"{path} has schema {version}, this the-loop knows {len(scripts)}: upgrade the-loop")
    if 0 < version < len(scripts):
        copy = path.with_name(f"{path.name}.before-{version + 1}")
        copy.unlink(missing_ok=True)
        connection.execute("VACUUM INTO ?", (str(copy),))
    for number, script in enumerate(scripts[version:], start=version + 1):
        with connection:
            connection.execute(script)
            connection.pragma("user_version", number)


def _scripts() -> list[str]:
    folder = resources.files("statedb.migrations")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [f.read_text("utf-8") for f in files]
