"""A poller between the stand-in GitHub and a real Dispatcher, with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from domain.model import Thread
from githubapi.door import GitHub
from githubapi.items import GitHubItems
from poller.means import Means, Watched
from poller.poller import CycleResult, Poller
from service.demo.github.records import Comment
from service.demo.github.standin import StandIn
from statedb.cursors import Cursor, cursor_of
from tests.fakes.dispatching import Dispatching
from tests.fakes.lifecycle import ManualClock

REPO = "octo/demo"
OTHER = "octo/other"
BEGAN = datetime(2027, 1, 15, 10, 0, tzinfo=UTC)
INTERVAL_S = 60.0


class PollClock(ManualClock):
    """Both clocks of the poller; its time of day starts with the stand-in's."""

    def wall_ms(self) -> int:
        return int(BEGAN.timestamp() * 1000) + round((self.monotonic() - 1000.0) * 1000)


@dataclass
class Polling:
    """One process that polls: a store on a folder, a Dispatcher, a Poller. A second one on it is a restart."""

    dispatching: Dispatching
    github: GitHub
    names: tuple[str, ...] = (REPO,)
    clock: PollClock = field(default_factory=PollClock)
    open_for_work: bool = True

    def __post_init__(self) -> None:
        items = GitHubItems(self.github)
        self.means = Means(
            database=self.dispatching.database,
            committer=self.dispatching.committer,
            dispatcher=self.dispatching.dispatcher,
            clock=self.clock,
            emit=self.dispatching.events.emit,
        )
        self.poller = Poller(
            [Watched(name=name, github=self.github, items=items) for name in self.names],
            self.means,
            admit=lambda: nullcontext() if self.open_for_work else None,
            interval_s=INTERVAL_S,
        )

    def cycle(self) -> CycleResult:
        return self.poller.cycle()

    def logged(self, name: str, *fields: str) -> list[tuple[object, ...]]:
        """These fields of every line of one type."""
        return [tuple(getattr(event, field) for field in fields) for event in self.dispatching.events.named(name)]

    def fates(self) -> dict[str, tuple[object, ...]]:
        """The text of every recorded event → its fate, step and outcome."""
        rows = self.dispatching.rows(
            "SELECT e.body, f.fate, f.step, f.outcome FROM fates f JOIN events e USING (event_key)"
        )
        return {str(row[0]): row[1:] for row in rows}

    def bodies(self) -> list[str]:
        """The text of every recorded event, the earliest accepted first."""
        return [str(row[0]) for row in self.dispatching.rows("SELECT body FROM events ORDER BY accepted_at")]

    def arrivals(self) -> list[tuple[object, ...]]:
        """Road and count of every delivery on record."""
        return self.dispatching.rows("SELECT road, arrivals FROM deliveries ORDER BY road, first_at")

    def cursor(self, repository_id: int) -> Cursor:
        cursor = cursor_of(self.dispatching.database.reader(), self.github.host, repository_id, "issue-comments")
        assert cursor is not None
        return cursor

    def __enter__(self) -> Self:
        self.dispatching.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispatching.stop()
        self.github.close()


class Town:
    """A stand-in GitHub whose time the test moves, with two repositories of one labelled issue each, and the store's folder."""

    def __init__(self, folder: Path) -> None:
        self.stand_in = StandIn(folder / "github")
        self.state_folder = folder / "state"
        self.state_folder.mkdir()
        self.stand_in.freeze_clock(BEGAN)
        self.host = urlsplit(self.stand_in.base_url).netloc
        self.token = "loop-token"
        self.stand_in.add_account("loop", token=self.token)
        for name in (REPO, OTHER):
            self.stand_in.add_repository(name)
            self.stand_in.open_issue("ada", name, "Sort fails")
            self.stand_in.label("octo", name, 1, "the-loop")

    @property
    def repository_id(self) -> int:
        return self.stand_in.state.repository(REPO).id

    @property
    def thread(self) -> Thread:
        return Thread(host=self.host, repository_id=self.repository_id, number=1)

    def process(self, names: tuple[str, ...] = (REPO,), token: Callable[[], str] | None = None) -> Polling:
        """The service on this town's folder. Ada and Bob may do anything; nobody else may."""
        github = GitHub(self.host, self.stand_in.base_url, token or (lambda: self.token), timeout_s=5)
        watched = frozenset(name.lower() for name in names)
        return Polling(Dispatching(self.state_folder, repositories=watched), github, names)

    def say(self, body: str, login: str = "ada", name: str = REPO, after_s: float = 1.0) -> Comment:
        """A comment on the issue, so many seconds after what happened last."""
        self.stand_in.advance_clock(after_s)
        return self.stand_in.comment(login, name, 1, body)

    def edit(self, comment: Comment, body: str, login: str = "ada") -> None:
        """An edit, a second after what happened last."""
        self.stand_in.advance_clock(1)
        self.stand_in.edit_comment(login, comment.id, body)

    def listings(self, name: str = REPO) -> list[int]:
        """The status of every listing that was asked for."""
        return [served.status for served in self.stand_in.requests("GET", f"/repos/{name}/issues/comments")]

    def __enter__(self) -> Self:
        self.stand_in.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stand_in.stop()
