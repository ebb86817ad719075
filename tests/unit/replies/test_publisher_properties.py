"""For any schedule of what GitHub does and of deaths of the process: never a second comment while listings tell the truth."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.marker import read_marker
from domain.model import Account, Fact, Thread
from domain.ports import InDoubt, Listing, NoAnswer, NotSent, Posted, Refused, Said, SendResult
from tests.fakes.publishing import Around, AroundWriter, HandClock, Publishing, Store

THREADS = [Thread(host="github.com", repository_id=7, number=number) for number in (15, 16)]
LATE_S = 50.0
"""How late GitHub shows what it took, at most: less than an absence takes to settle."""
LONG_S = 3 * 3600.0
"""In this time everything that a schedule can hold comes to its end."""
ENDED = {"delivered", "dead", "abandoned"}


class Died(BaseException):
    """The process ends here."""


class Answer(Enum):
    """What comes of one call to GitHub."""

    RIGHT = "right"
    TAKEN_UNSAID = "taken, and the answer is lost"
    TAKEN_LATE = "taken, shown late, and the answer is lost"
    NOT_TAKEN = "not taken, and the answer is lost"
    NOT_SENT = "not sent"
    REFUSED = "refused"


class Death(Enum):
    """When the process dies, seen from one call of a port."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What happens, call by call; when it has run out, all is well."""

    answers: list[Answer]
    questions: list[bool]
    """Whether the next listings are whole."""
    deaths: dict[int, Death]
    """By the number of the call, writes included."""


class Truthful:
    """A GitHub that takes or refuses as scheduled, shows all that it took in time, and never says what is not so."""

    def __init__(self, schedule: Schedule, clock: HandClock) -> None:
        self._answers: Iterator[Answer] = iter(schedule.answers)
        self._questions: Iterator[bool] = iter(schedule.questions)
        self._clock = clock
        self._stands: list[tuple[Thread, str, float]] = []

    def bodies(self) -> list[str]:
        return [body for _, body, _ in self._stands]

    def post(self, thread: Thread, repository: str, body: str) -> SendResult:
        answer = next(self._answers, Answer.RIGHT)
        if answer in (Answer.RIGHT, Answer.TAKEN_UNSAID, Answer.TAKEN_LATE):
            late_s = LATE_S if answer is Answer.TAKEN_LATE else 0.0
            self._stands.append((thread, body, self._clock.monotonic_s + late_s))
        if answer is Answer.RIGHT:
            return Posted(id=len(self._stands), url="u", server_time_ms=None)
        if answer is Answer.NOT_SENT:
            return NotSent("connect")
        return Refused("locked") if answer is Answer.REFUSED else InDoubt("http-500")

    def react(self, *arguments: object) -> SendResult:
        raise AssertionError("no reaction was recorded")

    def own_comments(self, thread: Thread, repository: str, since_ms: int) -> Listing | NoAnswer:
        shown = [
            Said(
                fact=Fact.COMMENT, id=number, author=Account(login="loop", id=1), body=body, url="u",
                created_at_ms=number, updated_at_ms=number,
            )
            for number, (stands_on, body, visible_s) in enumerate(self._stands, start=1)
            if stands_on == thread and visible_s <= self._clock.monotonic_s
        ]  # fmt: skip
        whole = next(self._questions, True)
        return Listing(said=shown if whole else [], complete=whole)

    def said(self, *arguments: object) -> Listing:
        raise AssertionError("a publisher reads nothing but our own comments")


class Fatal:
    """Counts calls and ends the process at those that are scheduled."""

    def __init__(self, deaths: dict[int, Death]) -> None:
        self._deaths = deaths
        self._calls = 0

    def before(self, call: str) -> None:
        self._calls += 1
        self._die(Death.BEFORE)

    def after(self, call: str) -> None:
        self._die(Death.AFTER)

    def _die(self, death: Death) -> None:
        if self._deaths.get(self._calls) is death:
            raise Died


SCHEDULES = st.builds(
    Schedule,
    answers=st.lists(st.sampled_from(Answer), max_size=8),
    questions=st.lists(st.booleans(), max_size=8),
    deaths=st.dictionaries(st.integers(1, 40), st.sampled_from(Death), max_size=5),
)


@settings(max_examples=60)
@given(schedule=SCHEDULES, jumps_s=st.lists(st.sampled_from([-3_600.0, 0.0, 90_000.0]), max_size=4))
def test_a_part_stands_on_its_thread_once_at_most_and_every_reply_ends(
    schedule: Schedule, jumps_s: list[float]
) -> None:
    clock = HandClock()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder), clock) as store:
        replies = [store.comment(thread, f"{number}", number=number) for number, thread in enumerate(THREADS * 2)]
        github = Truthful(schedule, clock)
        live(store, github, schedule, jumps_s)
        standing = Counter(marker.reply_id for body in github.bodies() if (marker := read_marker(body)))
        assert set(standing.values()) <= {1}
        states = {reply_id: str(store.part(reply_id)[0]) for reply_id in replies}
        assert set(states.values()) <= ENDED
        assert {reply_id for reply_id, state in states.items() if state == "delivered"} <= set(standing)


def live(store: Store, github: Truthful, schedule: Schedule, jumps_s: list[float]) -> None:
    """Publish until a process lives long, whatever the schedule does to those before it."""
    fatal = Fatal(schedule.deaths)
    for process_number in range(len(schedule.deaths) + 1):
        committer = AroundWriter(store.committer, before=fatal.before, after=fatal.after)
        port = Around(github, before=fatal.before, after=fatal.after)
        process = Publishing(store, port, owner_id=f"owner-{process_number}", committer=committer)
        try:
            process.run_for(LONG_S)
        except Died:
            store.clock.jump(jumps_s[process_number] if process_number < len(jumps_s) else 0.0)
            continue
        return
