"""The operator's numbers reach the parts that they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from domain.model import ItemId
from tests.fakes.core import comment
from tests.fakes.service_in_process import ServiceInProcess
from webhook.lanes import Slots

MORE_THAN_ANY = 100


def sizes(service: ServiceInProcess) -> dict[str, int]:
    """How many items each kind of slot holds at once, and how often a failure is tried again."""
    means = service.means
    return {
        "starts": _size(means.starts),
        "hand-overs": _size(means.hand_overs),
        "places": _size(means.places),
        "retries": means.limits.retries_max,
    }


def _size(slots: Slots) -> int:
    return sum(slots.take(ItemId(number)) for number in range(1, MORE_THAN_ANY))


@pytest.mark.parametrize(
    ("routing", "sessions", "wanted"),
    [
        pytest.param({}, {}, {"starts": 4, "hand-overs": 4, "places": 4, "retries": 3}, id="as-they-come"),
        pytest.param(
            {"max_concurrent_dispatches": 2, "max_retries": 7},
            {"max_live": 5},
            {"starts": 2, "hand-overs": 2, "places": 5, "retries": 7},
            id="as-the-operator-says",
        ),
    ],
)
def test_slots_places_and_tries_are_as_many_as_the_settings_say(
    tmp_path: Path, routing: dict[str, Any], sessions: dict[str, Any], wanted: dict[str, int]
) -> None:
    assert sizes(ServiceInProcess(tmp_path, routing=routing, sessions=sessions)) == wanted


def test_the_deduper_remembers_as_many_events_as_the_settings_say(tmp_path: Path) -> None:
    deduper = ServiceInProcess(tmp_path, routing={"dedup_cache_size": 2}).core.dispatcher.deduper
    for key in ("first", "second", "third"):
        deduper.add(key)
    assert [key in deduper for key in ("first", "second", "third")] == [False, True, True]


def test_a_restart_remembers_the_newest_events_up_to_that_number(tmp_path: Path) -> None:
    said = [comment(number) for number in (1, 2, 3)]
    with ServiceInProcess(tmp_path) as service:
        service.arrive(*said)
    deduper = ServiceInProcess(tmp_path, routing={"dedup_cache_size": 2}).core.dispatcher.deduper
    assert [event.key in deduper for event in said] == [False, True, True]
