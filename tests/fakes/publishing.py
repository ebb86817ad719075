"""A real publisher over a real store with its committer's thread, and a clock that only tests move."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from domain.marker import Sealer
from domain.model import Change, Event, EventKey, Fact, ItemId, Label, Place, Thread, TurnId
from domain.ports import ItemPort, Listing, NoAnswer, SendResult, ThreadPort
from eventlog.event import LogEvent
from githubapi.door import GitHub
from githubapi.items import GitHubItems
from githubapi.threads import GitHubThreads
from replies.publisher import Publisher, Writer
from replies.record import Recorder, Target
from replies.steady import SteadyClock
from service.demo.github.records import Permission
from service.demo.github.standin import StandIn
from statedb.committer import Committer
from statedb.database import Connection, Database
from statedb.ledger import Owner
from statedb.rows import ReplyRow
from statedb.writing import write_reply

T = TypeVar("T")

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""
STEPS_MAX = 10_000
"""How many steps a stretch of a test takes at most: a publisher that never rests is a failure."""
START_MS = 1_800_000_000_000
REPOSITORY = "octo/demo"
SEALER = Sealer("abcdef01", b"key")
ITEM = ItemId(1)


class HandClock:
    """A time of day and a monotonic clock that move together, but for jumps of the time of day."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self.wall_ms = start_ms
        self.monotonic_s = 0.0

    def advance(self, seconds: float) -> None:
        self.monotonic_s += seconds
        self.wall_ms += round(seconds * 1000)

    def jump(self, seconds: float) -> None:
        """Somebody sets the time of day."""
        self.wall_ms += round(seconds * 1000)

    def wall(self) -> int:
        return self.wall_ms

    def steady(self) -> SteadyClock:
        """The clock of a process that starts now."""
        return SteadyClock(self.wall, lambda: self.monotonic_s)


class Store:
    """A store in a folder and the thread of its committer. Use it as a context."""

    def __init__(self, folder: Path, clock: HandClock) -> None:
        self.clock = clock
        self.database = Database(folder / "state.db", clock.wall)
        self.committer: Committer[None, None] = Committer(self.database)
        self._thread = threading.Thread(target=self.committer.run, name="committer")
        self._recorder = Recorder(SEALER, (f"{number:016x}" for number in itertools.count(1)).__next__)

    def comment(self, thread: Thread, text: str = "Done.", *, number: int = 0, kind: str = "answer") -> str:
        """Record a comment as the workers do, and return the reply's id."""
        row = self._recorder.comment(
            "turn-1", kind, number, item_id=ITEM, target=Target(thread=thread, repository=REPOSITORY), text=text,
            now_ms=self.clock.wall(), turn_id=TurnId("turn-1"),
        )  # fmt: skip
        return self._record(row)

    def reaction(self, thread: Thread, comment_id: int, content: str = "eyes") -> str:
        """Record a reaction on a comment, and return the reply's id."""
        event = _comment_event(thread, comment_id)
        row = self._recorder.reaction(event, content, item_id=ITEM, now_ms=self.clock.wall())
        assert row is not None
        return self._record(row)

    def rows(self, query: str, *bindings: str | int) -> list[tuple[object, ...]]:
        """What the store holds, by a query of the test's own."""
        return list(self.database.reader().execute(query, bindings))

    def part(self, reply_id: str) -> tuple[object, ...]:
        """State, evidence and attempts of a reply's part."""
        return self.rows("SELECT state, wire, attempts FROM reply_parts WHERE reply_id = ?", reply_id)[0]

    def _record(self, row: ReplyRow) -> str:
        assert self.committer.write(lambda connection: write_reply(connection, row))
        return row.reply_id

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.committer.stop()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "the committer did not end"


class Publishing:
    """One publisher of a store: a process that sends. A second one is another process, or the same after a restart."""

    def __init__(
        self,
        store: Store,
        port: ThreadPort,
        *,
        owner_id: str = "owner-1",
        committer: Writer | None = None,
        tick: Callable[[float], object] = lambda seconds: None,
    ) -> None:
        """`tick` hears of every advance of the clock."""
        self.lines: list[LogEvent] = []
        self._clock = store.clock
        self._tick = tick
        self.publisher = Publisher(
            store.database,
            committer or store.committer,
            port,
            sealer=SEALER,
            owner=Owner(owner_id=owner_id, host="here", boot_id="boot", pid=1, lock_path="lock"),
            clock=store.clock.steady(),
            emit=self.lines.append,
        )

    def run_for(self, seconds: float) -> None:
        """Let so much time pass, and the publisher do all that is due meanwhile."""
        left_s = seconds
        for _ in range(STEPS_MAX):
            wait_s = self.publisher.step()
            if wait_s >= left_s > 0:
                self._pass(left_s)
                left_s = 0.0
            elif wait_s > 0 and left_s <= 0:
                return
            else:
                self._pass(wait_s)
                left_s -= wait_s
        raise AssertionError("the publisher does not rest")

    def names(self) -> list[str]:
        """The lines' types in their order."""
        return [line.name for line in self.lines]

    def named(self, name: str) -> list[LogEvent]:
        return [line for line in self.lines if line.name == name]

    def _pass(self, seconds: float) -> None:
        if seconds > 0:
            self._clock.advance(seconds)
            self._tick(seconds)


class Around:
    """A thread port that lets a test act before and after each call of another; `calls` are the names of those made."""

    def __init__(
        self,
        port: ThreadPort,
        *,
        before: Callable[[str], None] = lambda call: None,
        after: Callable[[str], None] = lambda call: None,
    ) -> None:
        self._port = port
        self._before = before
        self._after = after
        self.calls: list[str] = []

    def post(self, thread: Thread, repository: str, body: str) -> SendResult:
        return self._do("post", lambda: self._port.post(thread, repository, body))

    def react(self, thread: Thread, repository: str, fact: Fact, object_id: int, content: str) -> SendResult:
        return self._do("react", lambda: self._port.react(thread, repository, fact, object_id, content))

    def own_comments(self, thread: Thread, repository: str, since_ms: int) -> Listing | NoAnswer:
        return self._do("own_comments", lambda: self._port.own_comments(thread, repository, since_ms))

    def said(self, *arguments: object) -> Listing:
        raise AssertionError("a publisher reads nothing but our own comments")

    def _do(self, name: str, call: Callable[[], T]) -> T:
        self.calls.append(name)
        self._before(name)
        result = call()
        self._after(name)
        return result


class AroundWriter:
    """A committer that lets a test act before and after each write of another."""

    def __init__(self, committer: Writer, *, before: Callable[[str], None], after: Callable[[str], None]) -> None:
        self._committer = committer
        self._before = before
        self._after = after

    def write(self, work: Callable[[Connection], T]) -> T:
        self._before("write")
        result = self._committer.write(work)
        self._after("write")
        return result


class Hub:
    """A stand-in GitHub with one issue, our account `loop` and the people `ada` and `eve`. Use it as a context."""

    def __init__(self, folder: Path, timeout_s: int = 1) -> None:
        self.stand_in = StandIn(folder)
        self._timeout_s = timeout_s
        self._githubs: list[GitHub] = []

    def port(self) -> ThreadPort:
        """Our way to speak with it."""
        github, port = thread_port(self.stand_in.base_url, self._timeout_s)
        self._githubs.append(github)
        return port

    def comments(self) -> list[str]:
        """The bodies of our account's comments that stand on the issue, oldest first, without their markers."""
        return [body.partition("\n\n<!--")[0] for login, body in self.bodies() if login == "loop"]

    def bodies(self) -> list[tuple[str, str]]:
        """Author and body of every comment."""
        tables = self.stand_in.state.tables
        with self.stand_in.state.lock:
            return [
                (tables.accounts[comment.author_id].login if comment.author_id else "", comment.body)
                for comment in sorted(tables.comments.values(), key=lambda comment: comment.id)
            ]

    def ids(self) -> list[int]:
        with self.stand_in.state.lock:
            return sorted(self.stand_in.state.tables.comments)

    def posts(self) -> int:
        """How many comments were asked for."""
        return len(self.stand_in.requests("POST", "*/comments"))

    def __enter__(self) -> Self:
        stand_in = self.stand_in
        stand_in.start()
        stand_in.add_account("loop", token="loop-token")
        repository = stand_in.add_repository(REPOSITORY)
        for login in ("loop", "ada", "eve"):
            stand_in.set_permission(REPOSITORY, login, Permission.WRITE)
        number = stand_in.open_issue("ada", REPOSITORY, "Sort fails", "It does.").number
        self.thread = Thread(host=host_of(stand_in.base_url), repository_id=repository.id, number=number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for github in self._githubs:
            github.close()
        self.stand_in.stop()


def host_of(base_url: str) -> str:
    return base_url.removeprefix("http://")


def thread_port(base_url: str, timeout_s: int) -> tuple[GitHub, ThreadPort]:
    """The real thread port to a stand-in, and what it has to close."""
    github = GitHub(host_of(base_url), base_url, lambda: "loop-token", seconds_between_writes=0, timeout_s=timeout_s)
    items: ItemPort = GitHubItems(github)
    return github, GitHubThreads(github, items)


def _comment_event(thread: Thread, comment_id: int) -> Event:
    return Event(
        key=EventKey(f"comment:{comment_id}"),
        fact=Fact.COMMENT,
        change=Change.CREATED,
        thread=thread,
        label=Label(host=thread.host, repository=REPOSITORY, number=thread.number),
        object_id=comment_id,
        place=Place(at_ms=START_MS, fact=Fact.COMMENT, number=comment_id),
        updated_at_ms=START_MS,
        actor=None,
    )
