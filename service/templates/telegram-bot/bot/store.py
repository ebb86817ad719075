"""What outlives the process, in one SQLite file: who gets broadcasts, and the replies that have to wait."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.lifecycle.resource import PhaseContext, StartContext
from telegrambot.replies import Reply

TABLES = """
CREATE TABLE IF NOT EXISTS subscribers (chat_id INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, due_at REAL NOT NULL, reply TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A reply in the outbox."""

    id: int
    reply: Reply


class Store:
    """A resource of the bot's own: open from its start to its close. What is written is on disk on return."""

    name = "store"
    depends_on: Sequence[str] = ()
    required = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file, and make it where there is none; its folder is closed to others, for chats are personal data."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Opened by the lifecycle's thread, then used by the event loop's alone.
        self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._db.executescript(TABLES)

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

    def _run(self, statement: str, *values: float | str) -> list[tuple[Any, ...]]:
        if self._db is None:
            raise RuntimeError("the store is not open")
        return self._db.execute(statement, values).fetchall()


def _reply(kept: str) -> Reply:
    chat_id, text, thread_id, more = json.loads(kept)
    return Reply(chat_id=chat_id, text=text, thread_id=thread_id, more=more)
