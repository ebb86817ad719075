"""The control phase is a fold over commands at their places, whatever the order in which they came."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.control import Verb
from domain.model import EventKey, Fact, Phase
from domain.phase import MOVES, Folded, PhaseCommand, fold, in_order, is_newest, may_precede, precedes, step
from tests.fakes.core import place

START, STOP, PAUSE, RESUME, CLEANUP = Verb.START, Verb.STOP, Verb.PAUSE, Verb.RESUME, Verb.CLEANUP

FACTS = [Fact.COMMENT, Fact.REVIEW, Fact.INLINE, Fact.CLOSURE, Fact.OPERATOR]


def command(verb: Verb, at_s: int, number: int = 1, fact: Fact = Fact.COMMENT) -> PhaseCommand:
    return PhaseCommand(key=EventKey(f"{fact}/{number}/{at_s}/{verb}"), place=place(at_s, number, fact), verb=verb)


def said(*verbs: Verb) -> list[PhaseCommand]:
    """Comments, a second apart."""
    return [command(verb, at_s) for at_s, verb in enumerate(verbs, start=1)]


commands = st.builds(
    command,
    st.sampled_from(MOVES),
    st.integers(0, 3),
    st.integers(1, 4),
    st.sampled_from(FACTS),
)
histories = st.lists(commands, max_size=7, unique_by=lambda c: (c.place.fact, c.place.number, c.place.at_ms))


@pytest.mark.parametrize(
    ("verbs", "phase", "opened_by"),
    [
        pytest.param([], Phase.NONE, None, id="nothing-was-said"),
        pytest.param([START], Phase.RUNNING, 0, id="start"),
        pytest.param([STOP], Phase.STOPPED, None, id="stop-before-any-start"),
        pytest.param([CLEANUP], Phase.STOPPED, None, id="cleanup-before-any-start"),
        pytest.param([PAUSE], Phase.NONE, None, id="pause-of-nothing"),
        pytest.param([RESUME], Phase.NONE, None, id="resume-of-nothing"),
        pytest.param([START, START], Phase.RUNNING, 0, id="start-on-running"),
        pytest.param([START, PAUSE], Phase.PAUSED, 0, id="pause"),
        pytest.param([START, PAUSE, PAUSE], Phase.PAUSED, 0, id="pause-twice"),
        pytest.param([START, PAUSE, RESUME], Phase.RUNNING, 0, id="resume"),
        pytest.param([START, RESUME], Phase.RUNNING, 0, id="resume-on-running"),
        pytest.param([START, PAUSE, START], Phase.RUNNING, 0, id="start-on-paused-goes-on"),
        pytest.param([START, STOP], Phase.STOPPED, None, id="stop"),
        pytest.param([START, PAUSE, STOP], Phase.STOPPED, None, id="stop-while-paused"),
        pytest.param([START, CLEANUP], Phase.STOPPED, None, id="cleanup"),
        pytest.param([START, STOP, STOP], Phase.STOPPED, None, id="stop-twice"),
        pytest.param([START, STOP, RESUME], Phase.STOPPED, None, id="resume-after-stop"),
        pytest.param([START, STOP, PAUSE], Phase.STOPPED, None, id="pause-after-stop"),
        pytest.param([START, STOP, START], Phase.RUNNING, 2, id="start-again"),
        pytest.param([START, PAUSE, STOP, START], Phase.RUNNING, 3, id="start-again-forgets-the-pause"),
        pytest.param([STOP, PAUSE, START], Phase.RUNNING, 2, id="pause-before-the-start-counts-for-nothing"),
    ],
)
def test_the_phase_is_what_a_person_reads_in_the_thread(verbs: list[Verb], phase: Phase, opened_by: int | None) -> None:
    history = said(*verbs)
    folded = fold(history)
    opening = None if opened_by is None else history[opened_by]
    assert (folded.phase, folded.opening, folded.generation) == (
        phase,
        opening.place if opening else None,
        opening.key if opening else None,
    )


@pytest.mark.parametrize("phase", Phase, ids=str)
@pytest.mark.parametrize("verb", [STOP, CLEANUP], ids=str)
def test_stop_and_cleanup_end_whatever_there_was(phase: Phase, verb: Verb) -> None:
    ended = step(Folded(phase=phase), command(verb, 9))
    assert ended == Folded(phase=Phase.STOPPED, ended_by=Fact.COMMENT, last=command(verb, 9))


@pytest.mark.parametrize("verb", [Verb.STATUS, Verb.HELP], ids=str)
@pytest.mark.parametrize("phase", Phase, ids=str)
def test_a_verb_that_only_asks_moves_nothing(phase: Phase, verb: Verb) -> None:
    assert step(Folded(phase=phase), command(verb, 9)).phase is phase


@given(histories, st.randoms(use_true_random=False))
def test_the_fold_does_not_depend_on_the_order_of_arrival(history: list[PhaseCommand], random) -> None:
    arrived = list(history)
    random.shuffle(arrived)
    assert fold(arrived) == fold(history)


def test_every_order_of_arrival_of_every_short_word_ends_in_the_same_phase() -> None:
    """All words of up to four commands, all permutations; the oracle is the word read from left to right."""
    for length in range(1, 5):
        for verbs in itertools.product((START, STOP, PAUSE, RESUME), repeat=length):
            history = said(*verbs)
            read = fold(history)
            assert all(fold(arrived) == read for arrived in itertools.permutations(history))


@given(histories, commands)
def test_a_command_behind_all_others_needs_one_step_and_no_fold(
    history: list[PhaseCommand], newest: PhaseCommand
) -> None:
    before = fold(history)
    if is_newest(before, newest):
        assert step(before, newest) == fold([*history, newest])


@given(histories)
def test_only_what_is_behind_the_last_command_is_the_newest(history: list[PhaseCommand]) -> None:
    folded = fold(history)
    latest_s = max((c.place.at_ms // 1000 for c in history), default=-1)
    assert is_newest(folded, command(STOP, latest_s + 1))
    assert not any(is_newest(folded, other) for other in history)


@given(histories)
def test_a_generation_is_open_exactly_while_running_or_paused(history: list[PhaseCommand]) -> None:
    folded = fold(history)
    is_open = folded.phase in (Phase.RUNNING, Phase.PAUSED)
    assert (folded.opening is not None, folded.generation is not None) == (is_open, is_open)


def test_an_earlier_start_that_arrives_late_renames_the_generation_and_ends_nothing() -> None:
    known = [command(START, 5), command(PAUSE, 6)]
    late = command(START, 2)
    assert (fold(known).phase, fold(known).generation) == (Phase.PAUSED, known[0].key)
    assert (fold([*known, late]).phase, fold([*known, late]).generation) == (Phase.PAUSED, late.key)


def test_a_late_start_before_a_stop_does_not_reach_beyond_it() -> None:
    known = [command(STOP, 3), command(START, 5)]
    assert fold([*known, command(START, 1)]).generation == known[1].key


def test_a_start_lost_before_a_stop_stays_stopped_when_it_is_recovered() -> None:
    assert fold([command(STOP, 5), command(START, 1)]).phase is Phase.STOPPED


def test_a_closing_is_a_stop_and_the_fold_remembers_what_ended_the_stretch() -> None:
    start = command(START, 1)
    closing = command(STOP, 2, 15, Fact.CLOSURE)
    assert fold([start, closing]) == Folded(phase=Phase.STOPPED, ended_by=Fact.CLOSURE, last=closing)
    assert fold([start, closing, command(STOP, 3)]).ended_by is Fact.COMMENT
    assert fold([start, closing, command(START, 3)]).phase is Phase.RUNNING


def test_what_ends_nothing_does_not_change_what_ended_the_stretch() -> None:
    closing = command(STOP, 2, 15, Fact.CLOSURE)
    assert fold([command(START, 1), closing, command(PAUSE, 3)]).ended_by is Fact.CLOSURE


@pytest.mark.parametrize(
    ("second", "phase"),
    [
        pytest.param([command(START, 1, 7), command(STOP, 1, 8)], Phase.STOPPED, id="one-kind-by-id-stop-after"),
        pytest.param([command(START, 1, 8), command(STOP, 1, 7)], Phase.RUNNING, id="one-kind-by-id-stop-before"),
        pytest.param([command(STOP, 1, 7), command(START, 1, 8, Fact.REVIEW)], Phase.STOPPED, id="two-kinds-stop-last"),
        pytest.param(
            [command(CLEANUP, 1, 7, Fact.INLINE), command(START, 1, 8)], Phase.STOPPED, id="two-kinds-cleanup-last"
        ),
        pytest.param(
            [command(START, 1, 99), command(STOP, 1, 15, Fact.CLOSURE)], Phase.STOPPED, id="closing-ends-last"
        ),
        pytest.param(
            [command(START, 1, 9), command(STOP, 1, 7), command(PAUSE, 1, 1, Fact.REVIEW)],
            Phase.STOPPED,
            id="one-of-another-kind-makes-the-second-unreadable",
        ),
    ],
)
def test_within_one_second_ids_of_one_kind_decide_else_what_ends_comes_last(
    second: list[PhaseCommand], phase: Phase
) -> None:
    assert {fold(arrived).phase for arrived in itertools.permutations(second)} == {phase}


@given(histories)
def test_a_second_that_cannot_be_read_and_holds_a_stop_ends_stopped(history: list[PhaseCommand]) -> None:
    last_ms = max((c.place.at_ms for c in history), default=0)
    last_second = [c for c in history if c.place.at_ms == last_ms]
    kinds = {c.place.fact for c in last_second}
    if len(kinds) > 1 and any(c.ends for c in last_second):
        assert fold(history).phase is Phase.STOPPED


@given(histories)
def test_commands_are_put_in_order_of_time(history: list[PhaseCommand]) -> None:
    times = [c.place.at_ms for c in in_order(history)]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("one", "other", "known_before", "perhaps_before"),
    [
        pytest.param(place(1, 9), place(2, 1), True, True, id="earlier"),
        pytest.param(place(2, 1), place(1, 9), False, False, id="later"),
        pytest.param(place(1, 1), place(1, 2), True, True, id="one-second-smaller-id"),
        pytest.param(place(1, 2), place(1, 1), False, False, id="one-second-greater-id"),
        pytest.param(place(1, 1), place(1, 2, Fact.REVIEW), False, True, id="one-second-two-kinds"),
        pytest.param(place(1, 2, Fact.REVIEW), place(1, 1), False, True, id="one-second-two-kinds-turned"),
        pytest.param(place(1, 1), place(1, 1), False, False, id="itself"),
    ],
)
def test_what_stands_before_what(one, other, known_before: bool, perhaps_before: bool) -> None:
    assert (precedes(one, other), may_precede(one, other)) == (known_before, perhaps_before)
