"""A stand-in GitHub, services that may die, and the people who write on a thread."""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from domain.keys import text_key
from domain.marker import read_marker
from domain.model import EventKey, Fact
from service.demo.github.records import Comment, Permission
from service.demo.github.standin import StandIn
from service.demo.leftovers import end_sessions
from tests.crash.books import Books
from tests.crash.points import Point
from tests.crash.services import Services
from tests.crash.setting import CONVERSATIONS, REPOSITORY, SECRET, TOKEN, Setting

HEARD = ("issue_comment", "issues")
WAIT_S = 45.0
LOOK_EVERY_S = 0.02
QUIET_S = 0.6
"""When nothing has moved for so long, everybody waits for the clock."""
PROMPT_ID = re.compile(r"^turn: ([0-9a-f]+)\s*\Z", re.MULTILINE)
ORDINARY = Setting()


class World:
    """Use it as a context. `points` are where the first services end; the one after them goes on."""

    def __init__(self, folder: Path, *points: Point, setting: Setting = ORDINARY) -> None:
        self.github = StandIn(folder / "github")
        self.services = Services(folder, setting, self.github.base_url, points)
        self.conversations = folder / CONVERSATIONS
        self.conversations.mkdir()
        self.books = Books(self.services.state, self.conversations)
        self.number = 0
        self.hook_id = 0
        self._setting = setting
        self._progress: tuple[int, ...] = ()
        self._moved_at_s = 0.0

    # Its life

    def __enter__(self) -> Self:
        github = self.github
        github.start()
        github.add_account("ada")
        github.add_account("loop-bot", token=TOKEN)
        github.add_repository(REPOSITORY)
        for login in ("ada", "loop-bot"):
            github.set_permission(REPOSITORY, login, Permission.WRITE)
        self.number = github.open_issue("ada", REPOSITORY, "Fix it", body="please", labels=("the-loop",)).number
        self.services.start()
        if self._setting.pushed:
            self.hook_id = github.add_hook(REPOSITORY, self.webhook_url, SECRET, events=HEARD).id
        self.until(self._is_watched, "the service watches the thread")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.services.close()
        end_sessions(self.services.state)
        self.github.stop()
        shutil.rmtree(self.services.state.sockets, ignore_errors=True)

    @property
    def webhook_url(self) -> str:
        """Where services take deliveries."""
        return f"http://127.0.0.1:{self.services.port}/webhook/github"

    def stop(self) -> int:
        """Ask the service to end; the exit code, of another one where its point lay behind the story's end."""
        self.until(lambda: self.services.is_ready, "a service is ready to be asked")
        code = self.services.stop()
        return self.stop() if code == -signal.SIGKILL else code

    # What happens

    def write(self, body: str) -> Comment:
        """A comment by somebody with a right."""
        return self.github.comment("ada", REPOSITORY, self.number, body)

    def until(self, holds: Callable[[], bool], wanted: str) -> None:
        """Wait; meanwhile killed services are followed by others, and GitHub's failed deliveries are repeated."""

        def looked() -> bool:
            self.services.look_after()
            self._deliver_again()
            self._skip_where_quiet()
            return holds()

        self.watch_until(looked, wanted)

    def watch_until(self, holds: Callable[[], bool], wanted: str) -> None:
        """Wait, and do nothing about anything."""
        deadline_s = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline_s, f"waited in vain until {wanted}\n{self.last_words()}"
            time.sleep(LOOK_EVERY_S)

    # What can be seen

    def said(self) -> list[Comment]:
        """What stands on the thread by our account."""
        return [c for c in self.github.comments(REPOSITORY, self.number) if read_marker(c.body) is not None]

    def is_answered(self, comment: Comment) -> bool:
        """Whether an answer names the comment."""
        return any(f"issuecomment-{comment.id}" in said.body for said in self.said())

    def reactions(self, comment: Comment) -> list[str]:
        """What our account put on a comment."""
        return [reaction.content for reaction in self.github.reactions(comment.id)]

    def key(self, comment: Comment) -> EventKey:
        """The event key of a comment."""
        return text_key(self.github.base_url.removeprefix("http://"), Fact.COMMENT, comment.id)

    def fate(self, comment: Comment) -> str:
        """Its outcome, or its fate where it has none; empty before it is accepted."""
        rows = self.books.rows("SELECT fate, outcome FROM fates WHERE event_key = ?", self.key(comment))
        return "".join(outcome or fate for fate, outcome in rows)

    def arrivals(self, comment: Comment, road: str) -> int:
        """How often it came by a road."""
        query = "SELECT arrivals FROM deliveries WHERE event_key = ? AND road = ?"
        return sum(row[0] for row in self.books.rows(query, self.key(comment), road))

    def last_words(self) -> str:
        """What was said last, for a test that fails."""
        return "\n".join(["", *self.books.last_lines(), self.services.last_lines()])

    def _is_watched(self) -> bool:
        """Whether a comment written now is one that the service would see."""
        is_polled = any(line.get("event") == "poll.cycle" for line in self.books.log())
        return self.services.is_ready and (is_polled or not self._setting.polled)

    def _deliver_again(self) -> None:
        if not self._setting.pushed or not self.services.is_ready or not self.github.wait_for_webhooks(0.0):
            return
        deliveries = self.github.deliveries(self.hook_id)
        arrived = {delivery.guid for delivery in deliveries if 200 <= delivery.status_code < 300}
        for guid in dict.fromkeys(delivery.guid for delivery in deliveries if delivery.guid not in arrived):
            self.github.redeliver(next(delivery.id for delivery in reversed(deliveries) if delivery.guid == guid))

    def _skip_where_quiet(self) -> None:
        progress, now_s = self.books.progress(), time.monotonic()
        if progress != self._progress or not self.services.is_ready:
            self._progress, self._moved_at_s = progress, now_s
        elif now_s - self._moved_at_s > QUIET_S:
            self._moved_at_s = now_s
            self.services.skip()


def turn_of(prompt: str) -> str:
    """The turn's id on a prompt's last line."""
    found = PROMPT_ID.search(prompt)
    assert found is not None, prompt
    return found[1]
