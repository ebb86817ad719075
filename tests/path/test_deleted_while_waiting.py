"""A polled comment that waited long is looked for once more before it is handed over: nobody else tells of its deletion."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.model import Road
from tests.fakes.core import comment
from tests.fakes.manners import Manner
from tests.fakes.service_in_process import ServiceInProcess, texts_in


@pytest.mark.parametrize(
    ("road", "waited_s", "fate"),
    [
        pytest.param(Road.POLL, 61, "withdrawn", id="polled-and-long-ago"),
        pytest.param(Road.POLL, 30, "done", id="polled-just-now"),
        pytest.param(Road.WEBHOOK, 61, "done", id="a-webhook-would-have-told"),
    ],
)
def test_what_was_deleted_while_it_waited_is_withdrawn(tmp_path: Path, road: Road, waited_s: int, fate: str) -> None:
    with ServiceInProcess(tmp_path, polling={"enabled": True, "interval_s": 60}) as service:
        service.begin()
        service.harness.next_turns(Manner(ends=False))
        busy, gone, kept = comment(2, "busy"), comment(3, "gone"), comment(4, "kept")
        service.arrive(busy)
        service.harness.wait_prompts(service.item_id(), 2)
        service.arrive(gone, kept, road=road)
        service.advance(waited_s)
        service.github.deleted = {gone.object_id}
        service.harness.finish(service.item_id())
        service.wait_fates([gone, kept], fate, "done")
        heard = texts_in(service.harness.texts(service.item_id())[-1])
        assert ("gone" in heard, "kept" in heard) == (fate == "done", True)
