"""What we say to people in our own voice: short, in our words, and with nothing in it that somebody else wrote."""

from __future__ import annotations

import itertools
import re

import pytest

from domain import control, texts
from domain.control import NearMiss, Verb
from domain.decision import Effect, RejectReason
from domain.model import Phase
from domain.texts import Standing


def standing(waiting: int = 0, refused: int = 0, *, has_session: bool = False, in_turn: bool = False) -> str:
    return texts.standing(
        Standing(phase=Phase.RUNNING, has_session=has_session, waiting=waiting, refused=refused, in_turn=in_turn)
    )


REFUSALS = {
    RejectReason.SPAWN_POLICY: "`ready`",
    RejectReason.NOTHING_TO_RESUME: "`the-loop start`",
    RejectReason.NEAR_MISS: "`the-loop start`",
    RejectReason.OTHER_INSTANCE: "`the-loop start --take-over`",
    RejectReason.NO_SUCH_ITEM: "does not exist",
}


@pytest.mark.parametrize("reason", RejectReason, ids=str)
def test_a_refusal_says_what_to_do_instead(reason: RejectReason) -> None:
    assert REFUSALS[reason] in texts.rejected(reason, Verb.START, "ready")


def test_a_near_miss_is_answered_with_the_command_that_was_meant_and_none_of_what_was_written() -> None:
    said = texts.rejected(
        RejectReason.NEAR_MISS, Verb.STOP, "ready", NearMiss(written="the-loop stpo", meant=Verb.STOP)
    )
    assert "`the-loop stop`" in said
    assert "stpo" not in said


def test_two_commands_are_both_named() -> None:
    said = texts.ambiguous((Verb.STOP, Verb.START))
    assert "`the-loop stop`" in said
    assert "`the-loop start`" in said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(standing(), "This thread is **running**; no session is live.", id="without-a-session"),
        pytest.param(standing(has_session=True), "This thread is **running**; a session is ready.", id="ready"),
        pytest.param(
            standing(has_session=True, in_turn=True), "This thread is **running**; a session is at work.", id="at-work"
        ),
        pytest.param(
            standing(waiting=1, refused=2),
            "This thread is **running**; no session is live. 1 comment waiting for a turn. "
            "2 comments not delivered; the session will be told to read the thread.",
            id="with-comments",
        ),
    ],
)
def test_status_says_how_the_thread_stands(said: str, expected: str) -> None:
    assert said == expected


def test_what_was_refused_is_counted_and_dated() -> None:
    assert texts.refused_since(1, 1_767_225_600_000) == "1 comment since 2026-01-01 00:00 UTC was not delivered to you."
    assert (
        texts.refused_since(3, 1_767_225_600_000) == "3 comments since 2026-01-01 00:00 UTC were not delivered to you."
    )


def test_giving_up_names_the_comments_by_their_addresses() -> None:
    said = texts.gave_up(("https://h/o/r/issues/1#c-1", "https://h/o/r/issues/1#c-2"), 3, "the agent did not start")
    assert "after 3 attempts (the agent did not start)" in said
    assert "- https://h/o/r/issues/1#c-1\n- https://h/o/r/issues/1#c-2" in said


def test_a_refused_removal_names_what_would_be_lost_and_how_to_remove_it_all_the_same() -> None:
    said = texts.cleanup_refused(("2 commits that are nowhere else",))
    assert "- 2 commits that are nowhere else" in said
    assert "`the-loop cleanup --force`" in said


@pytest.mark.parametrize(("ahead", "named"), [(0, "at work."), (1, "1 thread before"), (2, "2 threads before")])
def test_who_waits_for_a_place_is_told_how_many_are_before(ahead: int, named: str) -> None:
    assert named in texts.waits_for_place(ahead)


EVERYTHING = [
    *(texts.rejected(reason, verb, "the-loop") for reason, verb in itertools.product(RejectReason, Verb)),
    *(texts.acknowledged(verb, effect) for verb, effect in itertools.product(Verb, Effect)),
    texts.ambiguous(tuple(Verb)),
    texts.edited_command(),
    texts.help_text(),
    standing(waiting=2, refused=2, has_session=True),
    texts.gave_up(("https://h/1",), 1, "a cause"),
    texts.interrupted_twice(),
    texts.waits_for_place(3),
    texts.cleanup_refused(("1 file",)),
    texts.refused_since(1, 0),
    texts.CUT,
]


@pytest.mark.parametrize("said", EVERYTHING, ids=itertools.count())
def test_nothing_that_we_say_is_a_command_to_whoever_reads_it_back(said: str) -> None:
    reading = control.read(said)
    assert (reading.commands, reading.near_misses) == ((), ())


@pytest.mark.parametrize("said", EVERYTHING, ids=itertools.count())
def test_what_we_say_is_whole_sentences_without_a_gap(said: str) -> None:
    assert not re.search(r"None|\{|\}| {2,}\S", said.replace("\n\n", "\n"))
