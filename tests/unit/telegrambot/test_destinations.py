"""A message follows its chat to a new id, and leaves out a topic that is gone."""

from __future__ import annotations

import pytest

from telegrambot.destinations import GONE_MAX, Destination, Destinations
from telegrambot.failures import Evidence, Failure, Reason


def failure(reason: Reason, migrate_to_chat_id: int | None = None) -> Failure:
    return Failure(
        method="sendMessage", reason=reason, evidence=Evidence.DESCRIPTION, migrate_to_chat_id=migrate_to_chat_id
    )


def moved(*steps: tuple[int, int]) -> Destinations:
    destinations = Destinations()
    for old, new in steps:
        assert destinations.learn(Destination(old), failure(Reason.MIGRATED, new))
    return destinations


@pytest.mark.parametrize(
    ("steps", "addressed", "now"),
    [
        pytest.param([], 1, 1, id="a chat that did not move"),
        pytest.param([(1, 2)], 1, 2, id="one that did"),
        pytest.param([(1, 2)], 2, 2, id="one that is addressed where it is"),
        pytest.param([(1, 2), (2, 3)], 1, 3, id="one that moved twice"),
        pytest.param([(1, 2), (2, 1)], 1, 1, id="one that moved back"),
        pytest.param([(1, 2), (2, 1)], 2, 1, id="one that is addressed where it was for a while"),
    ],
)
def test_a_chat_is_addressed_where_it_is_now(steps: list[tuple[int, int]], addressed: int, now: int) -> None:
    assert moved(*steps).now(Destination(addressed)) == Destination(now)


def test_a_topic_is_kept_when_its_chat_moves() -> None:
    assert moved((1, 2)).now(Destination(1, 7)) == Destination(2, 7)


def test_a_topic_that_is_gone_is_left_out_and_others_are_not() -> None:
    destinations = Destinations()
    assert destinations.learn(Destination(1, 7), failure(Reason.THREAD_NOT_FOUND))
    addressed = [Destination(1, 7), Destination(1, 8), Destination(2, 7)]
    assert [destinations.now(one) for one in addressed] == [Destination(1), Destination(1, 8), Destination(2, 7)]


def test_the_general_topic_is_written_to_without_its_number() -> None:
    assert Destinations().now(Destination(1, 1)) == Destination(1)


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        pytest.param(Destination(1), Reason.MIGRATED, id="a move without an address"),
        pytest.param(Destination(1), Reason.THREAD_NOT_FOUND, id="a topic that was not named"),
        pytest.param(Destination(1, 7), Reason.CHAT_NOT_FOUND, id="a chat that is not there"),
    ],
)
def test_nothing_is_learned_from(refused: Destination, reason: Reason) -> None:
    assert Destinations().learn(refused, failure(reason)) is False


def test_of_too_many_topics_that_are_gone_the_oldest_is_tried_again() -> None:
    destinations = Destinations()
    for thread_id in range(2, GONE_MAX + 3):
        destinations.learn(Destination(1, thread_id), failure(Reason.THREAD_NOT_FOUND))
    assert [destinations.now(Destination(1, thread_id)).thread_id for thread_id in (2, 3)] == [2, None]
