"""Whatever the order in which versions of a text arrive, what a session last heard of it is its newest version."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.model import Event, Road, Thread
from tests.fakes.core import THREAD, Desk, comment, deleted, edited
from tests.fakes.dispatching import Dispatching

VERSIONS = 4
WORKER, DELETION = "worker", "deletion"
_numbers = itertools.count(1000)

moves = st.one_of(st.integers(0, VERSIONS - 1), st.just(WORKER), st.just(DELETION))
"""A version arrives (0 is the text as it was written), the worker hands over what waits, or the deletion arrives."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One store for all examples: each is on a thread of its own."""
    with Dispatching(tmp_path_factory.mktemp("edits")) as dispatching:
        yield Desk(dispatching)


@dataclass(frozen=True, slots=True)
class Text:
    """A comment on a running item, in its versions; the last two say the same a second apart."""

    thread: Thread

    def version(self, number: int) -> Event:
        said = comment(self.thread.number * 10, "version 0", at_s=10, thread=self.thread)
        body = f"version {min(number, VERSIONS - 2)}"
        return said if number == 0 else edited(said, body, at_s=10 + number)

    def handed(self, desk: Desk) -> list[str]:
        """What the session has, in the order of places."""
        reader = desk.dispatching.database.reader()
        rows = reader.execute(
            "SELECT e.body FROM fates f JOIN events e USING (event_key)"
            " WHERE f.fate = 'done' AND (e.event_key = ?1 OR e.event_key LIKE ?1 || '/%') ORDER BY f.place_at",
            (self.version(0).key,),
        )
        return [str(body) for (body,) in rows]


@given(st.lists(moves, min_size=1, max_size=9))
@settings(max_examples=150)
def test_a_session_ends_up_with_the_newest_version_that_arrived(desk: Desk, history: list[int | str]) -> None:
    text = begun(desk)
    for move in history:
        play(desk, text, move)
    desk.carry_out(text.thread)
    arrived = [move for move in history if isinstance(move, int)]
    if arrived and DELETION not in history:
        assert text.handed(desk)[-1] == text.version(max(arrived)).body


@given(st.lists(moves, min_size=1, max_size=9))
@settings(max_examples=100)
def test_nothing_of_a_deleted_text_is_handed_over_after_its_deletion(desk: Desk, history: list[int | str]) -> None:
    text = begun(desk)
    play(desk, text, DELETION)
    for move in history:
        play(desk, text, move)
    desk.carry_out(text.thread)
    assert text.handed(desk) == []


@given(st.lists(moves, min_size=1, max_size=9))
@settings(max_examples=100)
def test_no_version_is_handed_over_twice(desk: Desk, history: list[int | str]) -> None:
    text = begun(desk)
    for move in [*history, *history]:
        play(desk, text, move)
    desk.carry_out(text.thread)
    handed = text.handed(desk)
    assert len(handed) == len(set(handed))


def begun(desk: Desk) -> Text:
    text = Text(replace(THREAD, number=next(_numbers)))
    desk.arrive(comment(text.thread.number * 10 + 1, "the-loop start", at_s=1, thread=text.thread))
    desk.carry_out(text.thread)
    return text


def play(desk: Desk, text: Text, move: int | str) -> None:
    if move == WORKER:
        desk.carry_out(text.thread)
    elif move == DELETION:
        desk.arrive(deleted(text.version(0)))
    else:
        desk.arrive(text.version(int(move)), road=Road.POLL)
