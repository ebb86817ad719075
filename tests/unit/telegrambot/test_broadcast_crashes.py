"""Wherever a run is killed, and however often: nobody gets a broadcast twice, and nobody is lost without being told of."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telegrambot.broadcast import journal
from telegrambot.broadcast.delivery import Pace
from telegrambot.broadcast.journal import Outcome
from telegrambot.broadcast.report import RunOutcome
from telegrambot.broadcast.run import Oversight, broadcast
from telegrambot.floods import ChatId
from tests.fakes.bot_api.answers import BLOCKED_BY_USER, Refusal, flood, migrated
from tests.fakes.broadcasting import Broadcasting, Killed, refused

AUDIENCE = (1, -2, 3, 4)
ARRIVES_AT = {1: 1, -2: -1002, 3: None, 4: 4}
"""Under which number each of them gets the message; None: not at all."""
JOURNAL_BYTES = 309
SENDS_OF_A_RUN = 6
"""Of one that is not killed."""


@dataclass(frozen=True, slots=True)
class AfterBytes:
    """Killed while it writes the journal: so much of it is written by this run, and not a byte more."""

    count: int


@dataclass(frozen=True, slots=True)
class AtSend:
    """Killed in one of its sends, before the message is on its way, or when Telegram has answered and we have not heard."""

    number: int
    is_on_its_way: bool


Kill = AfterBytes | AtSend


class Crashing:
    """Runs of one broadcast, to chats that move, block and flood, each of which may be killed."""

    def __init__(self, directory: Path, runner: asyncio.Runner) -> None:
        self.news = Broadcasting(directory, pace=Pace(sends_per_s=1e6))
        self.got: Counter[ChatId] = Counter()
        self.kills = 0
        self._has_limited = False
        self._runner = runner

    def run(self, kill: Kill | None = None) -> RunOutcome | None:
        """How a run ends; None: it is killed."""
        sends = itertools.count(1)

        async def send(chat_id: ChatId) -> None:
            number = next(sends)
            if kill == AtSend(number, is_on_its_way=False):
                raise Killed
            try:
                self._take(chat_id)
            finally:
                if kill == AtSend(number, is_on_its_way=True):
                    raise Killed

        run = broadcast(self.news.order(), AUDIENCE, send, self.news.clock, Oversight())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "fsync", lambda descriptor: None)  # it is a process that dies, and not the machine
            if isinstance(kill, AfterBytes):
                patched.setattr(os, "write", _writing_at_most(kill.count))
            try:
                return self._runner.run(run).outcome
            except Killed:
                self.kills += 1
                return None

    def _take(self, chat_id: ChatId) -> None:
        """What Telegram does with a message: the second chat has moved, the third blocks us, the last limits us once."""
        limit = [] if self._has_limited else [flood(2)]
        answers: dict[ChatId, list[Refusal]] = {-2: [migrated(-1002)], 3: [BLOCKED_BY_USER], 4: limit}
        self._has_limited = self._has_limited or chat_id == 4
        if answers.get(chat_id):
            raise refused(answers[chat_id][0])
        self.got[chat_id] += 1

    def settled(self) -> dict[int, Outcome]:
        progress = journal.read(self.news.journal, len(AUDIENCE))
        return {chat_id: progress.settled[index] for index, chat_id in enumerate(AUDIENCE)}


def _writing_at_most(count: int):
    """os.write for a process that is killed when it has written so much of the journal."""
    write, left = os.write, count

    def writing(descriptor: int, line: bytes) -> int:
        nonlocal left
        written = write(descriptor, line[:left])
        left -= written
        if written < len(line):
            raise Killed
        return written

    return writing


def assert_nobody_twice_and_nobody_lost(crashing: Crashing) -> None:
    """After the last run, which was not killed."""
    assert max(crashing.got.values(), default=0) <= 1, "nobody gets two messages"
    settled = crashing.settled()
    for chat_id, arrives_at in ARRIVES_AT.items():
        has_it = arrives_at is not None and crashing.got[arrives_at] == 1
        wanted = Outcome.DELIVERED if has_it else Outcome.UNREACHABLE if arrives_at is None else Outcome.UNCERTAIN
        assert settled[chat_id] in (wanted, Outcome.UNCERTAIN), f"what is said of {chat_id} is true"
    uncertain = sum(outcome is Outcome.UNCERTAIN for outcome in settled.values())
    assert uncertain <= crashing.kills, "a kill costs one recipient at most"


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """One new folder after the other."""
    return (tmp_path / str(number) for number in itertools.count())


def test_a_run_that_is_not_killed_reaches_all_who_can_be_reached(
    folders: Iterator[Path], runner: asyncio.Runner
) -> None:
    crashing = Crashing(next(folders), runner)
    assert crashing.run() is RunOutcome.FINISHED
    assert crashing.settled() == {
        1: Outcome.DELIVERED,
        -2: Outcome.DELIVERED,
        3: Outcome.UNREACHABLE,
        4: Outcome.DELIVERED,
    }
    content = crashing.news.journal.read_bytes()
    assert (len(content), content.count(b"sending")) == (JOURNAL_BYTES, SENDS_OF_A_RUN)


CUTS: list[Kill] = [AfterBytes(count) for count in range(JOURNAL_BYTES)]
SENDS: list[Kill] = [
    AtSend(number, is_on_its_way) for number in range(1, SENDS_OF_A_RUN + 1) for is_on_its_way in (False, True)
]


def test_killed_at_any_send_or_byte_and_resumed(folders: Iterator[Path], runner: asyncio.Runner) -> None:
    for kill in [*CUTS, *SENDS]:
        crashing = Crashing(next(folders), runner)
        assert crashing.run(kill) is None, kill
        assert crashing.run() is RunOutcome.FINISHED, kill
        assert_nobody_twice_and_nobody_lost(crashing)


def test_killed_at_any_send_or_byte_and_then_at_the_next_send_and_resumed(
    folders: Iterator[Path], runner: asyncio.Runner
) -> None:
    for first, second in itertools.product([*CUTS, *SENDS], SENDS[:2]):
        crashing = Crashing(next(folders), runner)
        crashing.run(first)
        crashing.run(second)
        assert crashing.run() is RunOutcome.FINISHED, (first, second)
        assert_nobody_twice_and_nobody_lost(crashing)


@settings(max_examples=200, deadline=None)
@given(kills=st.lists(st.sampled_from([*CUTS, *SENDS]), max_size=6))
def test_killed_again_and_again_anywhere_and_resumed(
    tmp_path_factory: pytest.TempPathFactory, kills: list[Kill]
) -> None:
    with asyncio.Runner() as runner:
        crashing = Crashing(tmp_path_factory.mktemp("killed"), runner)
        for kill in kills:
            crashing.run(kill)
        assert crashing.run() is RunOutcome.FINISHED
    assert_nobody_twice_and_nobody_lost(crashing)
