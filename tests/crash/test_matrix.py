"""A service killed before or after any call: every event is carried out once, and every answer stands once."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from tests.crash.cases import CASES, TRANSACTION, Case
from tests.crash.points import Point, When
from tests.crash.stories import end, tell

pytestmark = pytest.mark.crash

POINTS = [pytest.param(case, point, id=f"{case.name}-{point}") for case in CASES for point in case.points()]

FIRST = [Point(call=TRANSACTION, nth=nth, when=When.AFTER) for nth in (6, 14, 22, 30)]
SECOND = [
    Point(call=call, nth=1, when=when)
    for call, when in product(("harness.attach", "threads.post", "live.hand", TRANSACTION), When)
]
PAIRS = [pytest.param(first, second, id=f"{first}-{second}") for first, second in product(FIRST, SECOND)]


@pytest.mark.parametrize(("case", "point"), POINTS)
def test_every_event_is_carried_out_once_and_every_answer_posted_once(tmp_path: Path, case: Case, point: Point) -> None:
    with case.world(tmp_path, point) as world:
        tell(world, case.story)
        end(world)
    if not world.services.deaths:
        pytest.skip("this time the story made fewer calls")


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_service_that_is_killed_while_it_takes_up_what_a_killed_one_left_loses_and_repeats_nothing(
    tmp_path: Path, first: Point, second: Point
) -> None:
    with CASES[0].world(tmp_path, first, second) as world:
        tell(world, CASES[0].story)
        end(world)
    assert world.services.deaths


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_points_are_the_calls_that_the_story_makes(tmp_path: Path, case: Case) -> None:
    with case.world(tmp_path) as world:
        tell(world, case.story)
        end(world)
    made = Counter((tmp_path / "calls").read_text().split())
    assert {call: count for call, count in case.calls.items() if made[call] < count} == {}
    named = {call for each in CASES for call in each.calls}
    assert set(made) <= named
