"""What a service leaves on disk, read beside it: the store, the event log, journals, and what its agents remember."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from domain.model import SessionId
from service.state_folder import StateFolder
from sessions.process_tree import find_session

SHOWN = 8
DULL = frozenset({"event", "v", "at", "time", "level", "msg", "pid", "source", "work_item", "delivery_id"})


@dataclass(frozen=True, slots=True)
class Books:
    """Of one state folder and the folder in which its agents keep their conversations."""

    state: StateFolder
    conversations: Path

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the store holds; nothing before there is one."""
        if not self.state.database.exists():
            return []
        with closing(apsw.Connection(str(self.state.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(2_000)
            try:
                return list(connection.execute(query, values))
            except apsw.SQLError:
                return []  # its tables are not made yet

    def prompts(self) -> list[str]:
        """Every prompt that an agent remembers, over all conversations."""
        lines = (line for path in sorted(self.conversations.glob("*.jsonl")) for line in path.read_text().splitlines())
        return [entry["text"] for entry in map(json.loads, lines) if entry["role"] == "user"]

    def log(self) -> list[dict[str, Any]]:
        """The event log; a line that is still being written is not there yet."""
        path = self.state.event_log
        lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def session_ids(self) -> list[SessionId]:
        """Of all sessions that there were."""
        return [SessionId(row[0]) for row in self.rows("SELECT session_id FROM sessions")]

    def living(self) -> set[int]:
        """The processes that carry the mark of a session."""
        return {process.pid for session_id in self.session_ids() for process in find_session(session_id)}

    def progress(self) -> tuple[int, ...]:
        """Differs from an earlier one when anything has moved since, but for polling, which goes on for ever."""
        return len(self._moving_lines()), *(path.stat().st_size for path in self._journals())

    def last_lines(self) -> list[str]:
        """What the event log said last, briefly."""
        return [f"{line['event']} {_brief(line)}" for line in self._moving_lines()[-SHOWN:] if "event" in line]

    def _moving_lines(self) -> list[dict[str, Any]]:
        return [line for line in self.log() if not str(line.get("event")).startswith("poll.")]

    def _journals(self) -> Iterator[Path]:
        yield from sorted(self.state.sessions.glob("*/journal.jsonl"))
        yield from sorted(self.conversations.glob("*.jsonl"))


def _brief(line: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in line.items() if name not in DULL})[:200]
