"""A few of the points of the crash matrix: between what is on disk and what is done, where the two may part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.cases import CASES
from tests.crash.points import Point, read_point
from tests.crash.stories import end, tell

PUSHED = CASES[0]

TELLING = (
    "after:store.transaction:2",  # a comment is on disk, and GitHub got no answer
    "before:clones.prepare:1",  # a session stands in the store, and nothing of it exists
    "after:harness.open:1",  # a host runs, and the store does not know that it does
    "before:live.hand:1",  # a turn is said to be handed over, and was not
    "after:live.hand:2",  # an agent has a turn, and its receipt is not read
    "before:threads.post:1",  # an answer is said to have left, and has not
    "after:threads.post:1",  # an answer stands on the thread, and the ledger does not know it
    "after:live.end:1",  # a session was told to end, and nobody waits for it
)


@pytest.mark.parametrize("point", [read_point(text) for text in TELLING], ids=TELLING)
def test_a_service_killed_there_carries_every_event_out_once_and_answers_once(tmp_path: Path, point: Point) -> None:
    with PUSHED.world(tmp_path, point) as world:
        tell(world, PUSHED.story)
        end(world)
    assert world.services.deaths == 1
