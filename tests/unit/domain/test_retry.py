"""How attempts are spaced and when they end."""

from __future__ import annotations

import pytest

from domain.retry import (
    ASK_PAUSES_S,
    NETWORK_PAUSE_S,
    PROVIDER_PAUSE_S,
    Again,
    GiveUp,
    after_failure,
    after_no_answer,
    at_no_charge,
)

NOW = 1_000_000


def test_three_retries_come_at_growing_pauses_and_then_it_is_given_up() -> None:
    spent, story = 0, []
    while isinstance(following := after_failure(spent, 3, NOW), Again):
        story.append(following)
        spent = following.attempts
    assert story == [Again(1, NOW + 2_000), Again(2, NOW + 10_000), Again(3, NOW + 30_000)]
    assert following == GiveUp(4)


@pytest.mark.parametrize(
    ("attempts", "retries_max", "wanted"),
    [
        pytest.param(0, 0, GiveUp(1), id="no-retries"),
        pytest.param(9, 20, Again(10, NOW + 120_000), id="the-last-pause-repeats"),
        pytest.param(50, 3, GiveUp(51), id="a-budget-that-was-lowered"),
    ],
)
def test_a_failed_attempt_is_tried_again_within_its_budget(attempts: int, retries_max: int, wanted) -> None:
    assert after_failure(attempts, retries_max, NOW) == wanted


def test_a_provider_is_asked_again_after_five_minutes_at_no_charge() -> None:
    assert at_no_charge(2, NOW, PROVIDER_PAUSE_S) == Again(2, NOW + 300_000)


def test_a_network_that_is_down_is_tried_again_at_no_charge() -> None:
    assert at_no_charge(0, NOW, NETWORK_PAUSE_S) == Again(0, NOW + 30_000)


@pytest.mark.parametrize(
    ("asked", "retry_after_s", "wanted_s"),
    [
        pytest.param(1, None, 1, id="first"),
        pytest.param(2, None, 5, id="second"),
        pytest.param(99, None, ASK_PAUSES_S[-1], id="for-ever"),
        pytest.param(1, 90.0, 90, id="as-long-as-it-asked-for"),
        pytest.param(5, 1.0, 300, id="never-sooner-than-our-own-pause"),
        pytest.param(1, 1e9, 3_600, id="never-longer-than-an-hour"),
        pytest.param(0, None, 1, id="not-asked-yet"),
    ],
)
def test_github_without_an_answer_is_asked_again(asked: int, retry_after_s: float | None, wanted_s: float) -> None:
    assert after_no_answer(asked, NOW, retry_after_s) == NOW + wanted_s * 1000
