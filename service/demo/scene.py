"""What a step of the demo has in hand: people's acts, and all that the log and the thread have shown since."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from domain.keys import text_key
from domain.model import Fact
from eventlog.output import as_rows
from eventlog.query import Entry, keys_of, read_entry
from eventlog.tail import Tail
from service.demo.patience import Patience
from service.demo.setting import BOT, REPOSITORY
from service.demo.stage import Stage
from service.demo.telling import Teller, Tone

WAIT_S = 15.0
SHOWN_ENTRIES = 6
SHOWN_ANSWERS = 2
_COMMENT_MARK = re.compile(r"\n*<!--.*?-->", re.DOTALL)

Found = TypeVar("Found")


class StepFailed(Exception):
    """A step did not come out as it should."""

    def __init__(self, expected: str, seen: str) -> None:
        super().__init__(f"expected {expected}")
        self.expected = expected
        self.seen = seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A comment that somebody wrote in this story."""

    id: int
    event_key: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A comment of the service's account."""

    id: int
    text: str


class Scene:
    """The stage seen from the audience: follows the event log and the thread, tells both, and checks."""

    def __init__(self, stage: Stage, teller: Teller, patience: Patience, wait_s: float = WAIT_S) -> None:
        """`wait_s` bounds every wait."""
        self.stage = stage
        self.teller = teller
        self.entries: list[Entry] = []
        self.answers: list[Answer] = []
        self.written: list[Written] = []
        self._patience = patience
        self._wait_s = wait_s
        self._tail = Tail(stage.state.event_log)
        self._bot_id = stage.account_id(BOT)

    def write(self, login: str, body: str) -> Written:
        """Let somebody write a comment on the thread."""
        self.teller.line(login, body, Tone.PERSON)
        made = self.stage.act("comment", as_login=login, repo=REPOSITORY, number=self.stage.thread_number, body=body)
        comment_id = int(made["id"]) if isinstance(made, dict) else 0
        host = self.stage.address.removeprefix("http://")
        written = Written(
            id=comment_id,
            event_key=text_key(host, Fact.COMMENT, comment_id),
            url=f"{self.stage.thread_url}#issuecomment-{comment_id}",
        )
        self.written.append(written)
        return written

    def wait_for(self, expected: str, look: Callable[[], Found | None]) -> Found:
        """What `look` finds once it is there. Raises StepFailed when the time is over or the service has ended."""

        def looked() -> Found | None:
            self.look()
            found = look()
            if found is None and self.stage.service is not None and not self.stage.service.is_running():
                raise StepFailed(expected, f"the service ended; it said last:\n{self.stage.service.last_lines()}")
            return found

        found = self._patience.wait(looked, self._wait_s)
        if found is None:
            raise StepFailed(f"{expected}, within {self._wait_s:g} s", self._seen_last())
        return found

    def entry(self, expected: str, event: str, about: Written | None = None, **fields: object) -> Entry:
        """The newest line of that type, about that comment and with those fields, once it is there."""
        return self.wait_for(expected, lambda: next(reversed(self.found(event, about, **fields)), None))

    def answer_to(self, comment: Written) -> Answer:
        """The answer that names the comment, once it stands on the thread."""
        return self.wait_for(
            f"an answer to comment {comment.id} on the thread",
            lambda: next((answer for answer in self.answers if is_about(answer, comment)), None),
        )

    def found(self, event: str, about: Written | None = None, **fields: object) -> list[Entry]:
        """The lines seen so far of that type, about that comment and with those fields."""
        return [
            entry
            for entry in self.entries
            if entry.event == event
            and (about is None or about.event_key in keys_of(entry))
            and all(entry.fields.get(name) == value for name, value in fields.items())
        ]

    def expect(self, holds: bool, expected: str, seen: str) -> None:
        """Raises StepFailed where something does not hold."""
        if not holds:
            raise StepFailed(expected, seen)

    def look(self) -> None:
        """Take in and tell what is new in the log and on the thread."""
        for line in self._tail.new_lines():
            entry = read_entry(line)
            if entry is not None:
                self.entries.append(entry)
                self.teller.entry(entry)
        known = {answer.id for answer in self.answers}
        for comment in self.stage.comments():
            if comment["author_id"] == self._bot_id and comment["id"] not in known:
                answer = Answer(id=int(str(comment["id"])), text=_COMMENT_MARK.sub("", str(comment["body"])).strip())
                self.answers.append(answer)
                self.teller.line(BOT, answer.text, Tone.AGENT)

    def close(self) -> None:
        """Let go of the log."""
        self._tail.close()

    def _seen_last(self) -> str:
        lines = list(as_rows(self.entries[-SHOWN_ENTRIES:])) or ["the event log is empty"]
        lines += [f"on the thread: {answer.text}" for answer in self.answers[-SHOWN_ANSWERS:]]
        return "\n".join(lines)


def is_about(answer: Answer, comment: Written) -> bool:
    """Whether an answer of the demo's agent names the comment."""
    return f"issuecomment-{comment.id}" in answer.text
