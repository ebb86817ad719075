"""What people say within one second is neither lost nor charged to anybody else."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.fakes.core import Desk, comment
from tests.fakes.dispatching import Dispatching
from tests.fakes.manners import Opening
from tests.fakes.service_in_process import ServiceInProcess, texts_in


def test_a_second_start_within_the_same_second_hands_its_text_over(tmp_path: Path) -> None:
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        first = comment(1, "the-loop start do A", at_s=1)
        second = comment(2, "the-loop start do B", at_s=1)
        desk.arrive(first, second)
        assert (desk.row(second.key).step, desk.row(second.key).effect) == ("queued", "already-running")
        desk.carry_out()
        assert desk.fates(first, second) == ["control-executed"] * 2


def test_a_start_that_arrives_late_in_the_stretch_that_runs_hands_its_text_over(tmp_path: Path) -> None:
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        desk.arrive(comment(1, "the-loop start"), comment(5, "the-loop pause"), comment(6, "the-loop resume"))
        late = comment(3, "the-loop start and do B")
        desk.arrive(late)
        assert (desk.row(late.key).step, desk.row(late.key).effect) == ("queued", "already-running")


def test_a_start_that_a_stop_interrupted_costs_the_next_start_no_attempt(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path) as service:
        service.harness.next_openings(Opening(released=threading.Event()))
        first = comment(1, "the-loop start")
        service.arrive(first)
        service.harness.wait_opens(1)
        stop, again = comment(2, "the-loop stop"), comment(3, "the-loop start go on")
        service.arrive(stop, again)
        service.wait_fates([first, stop, again], *["control-executed"] * 3)
        assert service.rows("SELECT max(attempts) FROM fates") == [(0,)]
        assert [texts_in(prompt.text) for prompt in service.harness.wait_prompts(service.item_id(), 1)] == [["go on"]]
