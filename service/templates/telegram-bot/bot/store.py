"""What outlives the process, in one SQLite file: who gets broadcasts, and the replies that have to wait."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.lifecycle.resource import PhaseContext, StartContext
from telegrambot.replies import Reply

FILE = "bot.db"
TABLES = (
    "CREATE TABLE IF NOT EXISTS subscribers (chat_id INTEGER PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, due_at REAL NOT NULL, reply TEXT NOT NULL)",
)


class StoreUnusable(Exception):
    """The file cannot be opened, read or written; the text says which and why, and holds nothing of what is in it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A reply in the outbox."""

    id: int
    reply: Reply


class Store:
    """A resource of the bot's own: open from its start to its close. What is written is on disk on return.

    Whatever reads or writes raises StoreUnusable where that cannot be done.
    """

    name = "store"
    depends_on: Sequence[str] = ()
    required = True

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._db: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file. It and its folder are made where they are missing, for their owner alone: chats are personal data.

        A folder or file that is there keeps its mode. What SQLite writes beside the file gets the file's own.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)  # SQLite would make a file that everybody may read
        except OSError as fault:
            raise self._unusable(fault.strerror or str(fault)) from fault
        self._connect()
        for table in TABLES:
            self._run(table)

    def open_existing(self) -> None:
        """Open the file that a bot has made, and make none."""
        try:
            is_there = self._path.exists()
        except OSError as fault:
            raise self._unusable(fault.strerror or str(fault)) from fault
        if not is_there:
            raise StoreUnusable(f"there is no {self._path}: has the bot ever run with this STATE_DIR?")
        self._connect()

    def shut(self) -> None:
        """Let go of the file. Safe to repeat, and where it was never opened."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def subscribe(self, chat_id: int) -> None:
        """Send broadcasts to this chat. Safe to repeat."""
        self._run("INSERT OR IGNORE INTO subscribers VALUES (?)", chat_id)

    def unsubscribe(self, chat_id: int) -> None:
        """Send it none any more. Safe to repeat."""
        self._run("DELETE FROM subscribers WHERE chat_id = ?", chat_id)

    def subscribers(self) -> list[int]:
        """The chats that get broadcasts."""
        return [chat_id for (chat_id,) in self._run("SELECT chat_id FROM subscribers ORDER BY chat_id")]

    def put_by(self, reply: Reply, due_at: float) -> None:
        """Keep a reply until it may be sent; `due_at` is in seconds since the epoch."""
        kept = json.dumps([reply.chat_id, reply.text, reply.thread_id, dict(reply.more)])
        self._run("INSERT INTO outbox (due_at, reply) VALUES (?, ?)", due_at, kept)

    def due(self, now: float) -> list[Waiting]:
        """The replies that may be sent now, the oldest first."""
        rows = self._run("SELECT id, reply FROM outbox WHERE due_at <= ? ORDER BY id", now)
        return [Waiting(number, _reply(kept)) for number, kept in rows]

    def done_with(self, waiting: Waiting) -> None:
        """Keep a reply no longer."""
        self._run("DELETE FROM outbox WHERE id = ?", waiting.id)

    def start(self, context: StartContext) -> None:
        """Called before anything starts that depends on the store."""
        self.open()

    def stop_admission(self, context: PhaseContext) -> None:
        """Nothing comes in here from outside."""

    def drain(self, context: PhaseContext) -> None:
        """Nothing is under way here: each write has ended when its call returns."""

    def close(self, context: PhaseContext) -> None:
        """Called when all who depend on the store have ended."""
        self.shut()

    def force(self, context: PhaseContext) -> None:
        """There is nothing to wait for, so the end by force is no other."""
        self.shut()

    def _connect(self) -> None:
        try:
            # Opened by the lifecycle's thread, then used by the event loop's alone.
            self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as fault:
            raise self._unusable(str(fault)) from fault

    def _run(self, statement: str, *values: float | str) -> list[tuple[Any, ...]]:
        if self._db is None:
            raise RuntimeError("the store is not open")
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as fault:
            raise self._unusable(str(fault)) from fault

    def _unusable(self, why: str) -> StoreUnusable:
        return StoreUnusable(
            f"{self._path} cannot be used ({why}): look at it and at STATE_DIR, which names its folder"
        )


def _reply(kept: str) -> Reply:
    chat_id, text, thread_id, more = json.loads(kept)
    return Reply(chat_id=chat_id, text=text, thread_id=thread_id, more=more)
