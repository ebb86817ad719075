"""A stand-in GitHub, one service after the other on the same state folder, and the people who write on a thread."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from domain.keys import text_key
from domain.marker import read_marker
from domain.model import EventKey, Fact, SessionId
from service.demo.github.records import Comment, Permission
from service.demo.github.standin import StandIn
from service.demo.leftovers import end_sessions
from service.demo.setting import environment
from service.state_folder import StateFolder
from sessions.process_tree import find_session
from tests.crash.entry import SKIP_S
from tests.crash.points import Point

ROOT = Path(__file__).parents[2]
REPOSITORY = "octo/repo"
SECRET = "s3cret"
HEARD = ("issue_comment", "issues")
WAIT_S = 45.0
END_S = 40.0
LOOK_EVERY_S = 0.02
QUIET_S = 0.6
"""When nothing has moved for so long, everybody waits for the clock."""
PROMPT_ID = re.compile(r"^turn: ([0-9a-f]+)\s*\Z", re.MULTILINE)
DEMO_AGENT = (sys.executable, "-P", "-m", "service.demo.agent")


class World:
    """Use it as a context. `points` are where the first services end; the one after them goes on."""

    def __init__(
        self,
        folder: Path,
        *points: Point,
        pushed: bool = True,
        polled: bool = False,
        harness: str = "command",
        agent: Sequence[str] = DEMO_AGENT,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`variables`: more of the service's environment, which its agents may see."""
        self.folder = folder
        self.state = StateFolder(folder / "state")
        self.conversations = folder / "conversations"
        self.trace = folder / "calls"
        self.github = StandIn(folder / "github")
        self.written: list[Comment] = []
        self.deaths = 0
        self._points = list(points)
        self._variables = dict(variables or {})
        self._pushed = pushed
        self._polled = polled
        self._port = _free_port()
        self._ahead_s = 0.0
        self._service: subprocess.Popen[bytes] | None = None
        self._seen: tuple[int, ...] = ()
        self._seen_at_s = 0.0
        self._config = folder / "the-loop.toml"
        self._config.write_text(self._settings(harness, agent), "utf-8")
        self.conversations.mkdir()

    # Its life

    def __enter__(self) -> Self:
        github = self.github
        github.start()
        github.add_account("ada")
        github.add_account("loop-bot", token="tok")
        github.add_repository(REPOSITORY)
        for login in ("ada", "loop-bot"):
            github.set_permission(REPOSITORY, login, Permission.WRITE)
        self.number = github.open_issue("ada", REPOSITORY, "Fix it", body="please", labels=("the-loop",)).number
        self.start_service()
        if self._pushed:
            self.hook_id = github.add_hook(REPOSITORY, self.webhook_url, SECRET, events=HEARD).id
        self.until(self._watches, "the service is ready")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._service is not None and self._service.poll() is None:
            self._service.kill()
            self._service.wait(END_S)
        end_sessions(self.state)
        self.github.stop()
        shutil.rmtree(self.state.sockets, ignore_errors=True)

    def start_service(self) -> None:
        """Start a service; it ends at the next point, if there is one left."""
        point = self._points.pop(0) if self._points else ""
        argv = [sys.executable, "-m", "tests.crash.entry", "--config", str(self._config), "--trace", str(self.trace)]
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            self._service = subprocess.Popen(
                [*argv, "--point", str(point), "--ahead-s", str(self._ahead_s)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment(self.folder) | self._variables,
                start_new_session=True,
            )

    @property
    def webhook_url(self) -> str:
        """Where the service takes deliveries."""
        return f"http://127.0.0.1:{self._port}/webhook/github"

    @property
    def service(self) -> subprocess.Popen[bytes]:
        """The service's process that was started last."""
        assert self._service is not None
        return self._service

    def pause_service(self) -> None:
        """From now on it sees and does nothing, until it is killed or goes on."""
        self.service.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """After a pause."""
        self.service.send_signal(signal.SIGCONT)

    def kill_hosts(self) -> None:
        """Kill every session host as the kernel would; what it started stays, and is nobody's."""
        folder = os.fsencode(self.state.sessions)
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and _is_host(process, folder):
                os.kill(int(process.name), signal.SIGKILL)

    def kill_service(self) -> None:
        """As a power cut would; another one is started."""
        self.service.kill()
        self.service.wait(END_S)
        self.deaths += 1
        self.start_service()

    def stop_service(self) -> int:
        """Ask it to end; its exit code."""
        self.service.terminate()
        return self.service.wait(END_S)

    # What people do

    def write(self, body: str) -> Comment:
        """A comment by somebody with a right."""
        comment = self.github.comment("ada", REPOSITORY, self.number, body)
        self.written.append(comment)
        return comment

    # What can be seen

    def until(self, holds: Callable[[], bool], wanted: str, timeout_s: float = WAIT_S) -> None:
        """Wait; meanwhile services that were killed are started again, and GitHub's failed deliveries repeated."""
        deadline_s = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < deadline_s, f"waited in vain until {wanted}; {self.last_words()}"
            self._look_after_service()
            self._deliver_again()
            self._skip_where_quiet()
            time.sleep(LOOK_EVERY_S)

    def until_written(self, holds: Callable[[], bool], wanted: str) -> None:
        """Wait for something while the service is paused: nobody looks after it."""
        deadline_s = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline_s, f"waited in vain until {wanted}"
            time.sleep(LOOK_EVERY_S)

    def said(self) -> list[Comment]:
        """What stands on the thread by our account."""
        return [c for c in self.github.comments(REPOSITORY, self.number) if read_marker(c.body) is not None]

    def is_answered(self, comment: Comment) -> bool:
        """Whether an answer names the comment."""
        return any(f"issuecomment-{comment.id}" in said.body for said in self.said())

    def key(self, comment: Comment) -> EventKey:
        """The event key of a comment."""
        return text_key(self.github.base_url.removeprefix("http://"), Fact.COMMENT, comment.id)

    def fate(self, comment: Comment) -> str:
        """Its outcome, or its fate where it has none; empty before it is accepted."""
        rows = self.rows("SELECT fate, outcome FROM fates WHERE event_key = ?", self.key(comment))
        return "".join(outcome or fate for fate, outcome in rows)

    def arrivals(self, comment: Comment, road: str) -> int:
        """How often it came by a road."""
        query = "SELECT arrivals FROM deliveries WHERE event_key = ? AND road = ?"
        return sum(row[0] for row in self.rows(query, self.key(comment), road))

    def reactions(self, comment: Comment) -> list[str]:
        """What our account put on a comment."""
        return [reaction.content for reaction in self.github.reactions(comment.id)]

    def prompts(self) -> list[str]:
        """Every prompt that an agent remembers, over all conversations."""
        lines = (line for path in sorted(self.conversations.glob("*.jsonl")) for line in path.read_text().splitlines())
        return [entry["text"] for entry in map(json.loads, lines) if entry["role"] == "user"]

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

    def last_words(self) -> str:
        """What the service and its log said last, for a test that fails."""
        events = [f"{line['event']} {_brief(line)}" for line in self._told()[-8:] if "event" in line]
        said = self._log.read_text("utf-8", "replace").splitlines()[-12:] if self._log.exists() else []
        return "\n".join(["", *events, *said])

    # How it is looked after

    @property
    def _log(self) -> Path:
        return self.folder / "service.log"

    def _is_ready(self) -> bool:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return b"\nstate: " in b"\n" + log.read() and self.service.poll() is None

    def _watches(self) -> bool:
        """Whether a comment written now is one of those that the service watches."""
        is_polled = any(line.get("event") == "poll.cycle" for line in self.log())
        return self._is_ready() and (is_polled or not self._polled)

    def _look_after_service(self) -> None:
        code = self.service.poll()
        if code is None:
            return
        assert code == -signal.SIGKILL, f"the service ended by itself with {code}; {self.last_words()}"
        self.deaths += 1
        self.start_service()

    def _deliver_again(self) -> None:
        if not self._pushed or not self._is_ready() or not self.github.wait_for_webhooks(0.0):
            return
        deliveries = self.github.deliveries(self.hook_id)
        arrived = {delivery.guid for delivery in deliveries if 200 <= delivery.status_code < 300}
        for guid in dict.fromkeys(delivery.guid for delivery in deliveries if delivery.guid not in arrived):
            self.github.redeliver(next(delivery.id for delivery in reversed(deliveries) if delivery.guid == guid))

    def _skip_where_quiet(self) -> None:
        seen, now_s = (len(self._told()), *_sizes(self._journals())), time.monotonic()
        if seen != self._seen or not self._is_ready():
            self._seen, self._seen_at_s = seen, now_s
        elif now_s - self._seen_at_s > QUIET_S:
            self._seen_at_s = now_s
            self._ahead_s += SKIP_S
            self.service.send_signal(signal.SIGUSR1)

    def _told(self) -> list[dict[str, Any]]:
        """What the log says but for polling, which goes on for ever."""
        return [line for line in self.log() if not str(line.get("event")).startswith("poll.")]

    def _journals(self) -> Iterator[Path]:
        yield from sorted(self.state.sessions.glob("*/journal.jsonl"))
        yield from sorted(self.conversations.glob("*.jsonl"))

    def _settings(self, harness: str, agent: Sequence[str]) -> str:
        url = self.github.base_url
        return f"""\
name = "crash"
state_folder = "state"

[webhook]
enabled = {json.dumps(self._pushed)}
port = {self._port}
secrets = ["{SECRET}"]

[polling]
enabled = {json.dumps(self._polled)}
interval_s = 0.5

[github]
host = "{url.removeprefix("http://")}"
api_url = "{url}"
token = "tok"
seconds_between_writes = 0

[[repositories]]
name = "{REPOSITORY}"

[routing]
authorized_users = ["ada"]

[sessions]
harness = "{harness}"
command = {json.dumps(list(agent))}
pass_variables = {json.dumps(["DEMO_AGENT_*", *self._variables])}
"""


def turn_of(prompt: str) -> str:
    """The turn's id on a prompt's last line."""
    found = PROMPT_ID.search(prompt)
    assert found is not None, prompt
    return found[1]


def _brief(line: dict[str, Any]) -> str:
    dull = {"event", "v", "at", "time", "level", "msg", "pid", "source", "work_item", "delivery_id"}
    return json.dumps({name: value for name, value in line.items() if name not in dull})[:200]


def _is_host(process: Path, folder: bytes) -> bool:
    try:
        argv = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"sessions.host" in argv and any(part.startswith(folder) for part in argv)


def _sizes(paths: Iterator[Path]) -> Iterator[int]:
    for path in paths:
        yield path.stat().st_size if path.exists() else -1


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
