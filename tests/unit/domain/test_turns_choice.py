"""Which waiting events become one turn, and until when the others wait."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from domain.model import EventKey
from domain.turns import (
    BODY_BYTES_MAX,
    EVENTS_MAX,
    REVIEW_SETTLES_MS,
    Rest,
    Waiting,
    choose,
    ready_to_carry,
)
from tests.fakes.core import THREAD, place

NOW = 1_000_000
OTHER_THREAD = replace(THREAD, number=16)


A_COMMENT = Waiting(
    key=EventKey("k"), place=place(1, 1), thread=THREAD, body_bytes=10, accepted_at_ms=0, is_command=False,
    review_id=None, attempts=0, next_at_ms=0,
)  # fmt: skip


def waiting(number: int, **about) -> Waiting:
    return replace(A_COMMENT, key=EventKey(f"k{number}"), place=place(number, number), **about)


def test_a_turn_carries_at_most_twenty_events() -> None:
    queued = [waiting(number) for number in range(30)]
    assert choose(queued) == queued[:EVENTS_MAX]
    assert EVENTS_MAX == 20


def test_a_turn_carries_at_most_32_kilobytes() -> None:
    half = BODY_BYTES_MAX // 2
    exactly = [waiting(1, body_bytes=half), waiting(2, body_bytes=half)]
    assert choose([*exactly, waiting(3, body_bytes=1)]) == exactly
    assert BODY_BYTES_MAX == 32 * 1024


def test_the_first_event_is_carried_whatever_its_size() -> None:
    first = waiting(1, body_bytes=BODY_BYTES_MAX + 1)
    assert choose([first, waiting(2, body_bytes=0)]) == [first]


def test_an_event_that_does_not_fit_is_not_overtaken_by_a_smaller_one() -> None:
    first, large, small = waiting(1), waiting(2, body_bytes=BODY_BYTES_MAX), waiting(3)
    assert choose([first, large, small]) == [first]


def test_a_turn_belongs_to_the_thread_of_its_first_event() -> None:
    first, elsewhere, third = waiting(1), waiting(2, thread=OTHER_THREAD), waiting(3)
    assert choose([first, elsewhere, third]) == [first, third]


def test_a_review_waits_two_seconds_since_the_last_of_its_inline_comments() -> None:
    review, inline = waiting(1, review_id=7, accepted_at_ms=NOW - 5_000), waiting(2, review_id=7, accepted_at_ms=NOW)
    assert ready_to_carry([review, inline], NOW) == Rest(NOW + REVIEW_SETTLES_MS)
    assert ready_to_carry([review, inline], NOW + REVIEW_SETTLES_MS) == [review, inline]
    assert REVIEW_SETTLES_MS == 2_000


def test_a_comment_waits_for_nothing() -> None:
    said = waiting(1, accepted_at_ms=NOW)
    assert ready_to_carry([said], NOW) == [said]


def test_what_waits_for_the_same_prompt_shares_the_time_of_a_retry() -> None:
    failed, fresh = waiting(1, attempts=1, next_at_ms=NOW + 2_000), waiting(2)
    assert ready_to_carry([failed, fresh], NOW) == Rest(NOW + 2_000)
    assert ready_to_carry([failed, fresh], NOW + 2_000) == [failed, fresh]


def test_where_nothing_waits_there_is_no_time_to_wait_for() -> None:
    assert ready_to_carry([], NOW) == Rest()


@given(
    st.lists(
        st.tuples(st.integers(0, BODY_BYTES_MAX * 2), st.sampled_from([THREAD, OTHER_THREAD])), min_size=1, max_size=60
    )
)
def test_turn_after_turn_everything_is_carried_once_in_order_and_within_the_bounds(sizes) -> None:
    left = [waiting(number, body_bytes=size, thread=thread) for number, (size, thread) in enumerate(sizes)]
    carried: list[Waiting] = []
    while left:
        turn = list(choose(left))
        assert turn[0] == left[0]
        assert len(turn) <= EVENTS_MAX
        assert len(turn) == 1 or sum(one.body_bytes for one in turn) <= BODY_BYTES_MAX
        assert {one.thread for one in turn} == {left[0].thread}
        carried += turn
        left = [one for one in left if one not in turn]
    assert len(carried) == len(sizes)
    for thread in (THREAD, OTHER_THREAD):
        numbers = [one.place.number for one in carried if one.thread == thread]
        assert numbers == sorted(numbers)
