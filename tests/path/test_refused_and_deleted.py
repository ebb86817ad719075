"""A refused comment that is gone from the thread is not counted: whoever is told of it would look for it in vain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Event
from statedb.inquiries import standings
from tests.fakes.core import Desk, comment, deleted, delivery, edited
from tests.fakes.dispatching import Dispatching
from tests.fakes.harness import StandInHarness
from tests.fakes.service_in_process import ServiceInProcess
from webhook.handled import Submission

PAUSE, RESUME = comment(2, "the-loop pause"), comment(9, "the-loop resume")
ONE, OTHER = comment(3, "one"), comment(4, "other")
TOLD_OF_ONE = "1 comment since 1970-01-01 00:00 UTC was not delivered to you."


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Dispatching(tmp_path) as dispatching:
        yield Desk(dispatching)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((ONE, OTHER, deleted(ONE)), id="deleted"),
        pytest.param((ONE, OTHER, edited(ONE, "first", at_s=5), deleted(ONE)), id="edited-and-deleted"),
        pytest.param((ONE, edited(ONE, "first", at_s=5)), id="edited-and-standing"),
        pytest.param((ONE, deleted(OTHER), OTHER), id="deleted-before-it-was-known"),
    ],
)
def test_a_resume_tells_of_the_refused_comments_that_stand_on_the_thread(
    service: ServiceInProcess, harness: StandInHarness, events: tuple[Event, ...]
) -> None:
    service.begin()
    service.arrive(PAUSE, *events, RESUME)
    assert TOLD_OF_ONE in harness.wait_prompts(service.item_id(), 2)[1].text


def test_a_resume_after_which_nothing_refused_stands_prompts_nobody(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.arrive(PAUSE, ONE, deleted(ONE), RESUME)
    service.wait_fates([RESUME], "control-executed")
    service.settle()
    assert len(harness.prompts) == 1


def test_a_first_prompt_tells_of_the_refused_comments_that_stand_on_the_thread(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.arrive(ONE, OTHER, deleted(OTHER))
    service.begin(5)
    assert TOLD_OF_ONE in harness.wait_prompts(service.item_id(), 1)[0].text


def test_a_comment_that_was_told_of_and_is_deleted_later_hides_no_other(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.begin()
    service.arrive(PAUSE, ONE, comment(5, "the-loop resume"))
    harness.wait_prompts(service.item_id(), 2)
    service.arrive(comment(6, "the-loop pause"), comment(7, "another"), deleted(ONE), RESUME)
    assert TOLD_OF_ONE in harness.wait_prompts(service.item_id(), 3)[2].text


@pytest.mark.parametrize("at_once", [False, True], ids=["one-by-one", "in-one-batch"])
def test_the_standing_counts_the_refused_comments_that_stand_on_the_thread(desk: Desk, at_once: bool) -> None:
    events = [comment(1, "the-loop start"), PAUSE, ONE, OTHER, deleted(ONE), comment(8, "the-loop status")]
    if at_once:
        batch = [Submission(event, delivery()) for event in events]
        desk.write(lambda connection: desk.dispatching.dispatcher(connection, batch))
    else:
        desk.arrive(*events)
    (told,) = desk.replies("answer-of-ours")
    assert "1 comment not delivered" in told
    (standing,) = standings(desk.dispatching.database.reader(), desk.item().item_id)
    assert standing.item.refused == 1
