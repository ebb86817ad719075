"""Ends and rights: named cases by their numbers, over the real worker and a restart."""

from __future__ import annotations

from pathlib import Path

from domain.model import Account, Phase, Road
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.service_in_process import ServiceInProcess, texts_in
from webhook.handled import Status


def test_18_a_cleanup_that_was_executed_is_not_executed_again_after_a_restart(tmp_path: Path) -> None:
    harness, cleanup = StandInHarness(), comment(2, "the-loop cleanup")
    with ServiceInProcess(tmp_path, harness=harness) as first:
        first.begin()
        first.arrive(cleanup)
        first.wait_fates([cleanup], "control-executed")
        first.begin(3)
        first.settle()
    with ServiceInProcess(tmp_path, harness=harness) as second:
        again = second.arrive(cleanup, road=Road.POLL)
        second.settle()
        assert (again.status, again.outcome) == (Status.DUPLICATE, "control-executed")
        assert second.phase() is Phase.RUNNING
        assert harness.living() == {second.item_id()}
        assert (second.state.clones / str(second.item_id())).is_dir()


def test_69_a_login_is_known_however_settings_and_thread_write_it(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path, routing={"authorized_users": ("OctoCat",)}) as service:
        start = comment(1, "the-loop start do it", actor=Account(login="octocat", id=583231))
        service.arrive(start)
        service.wait_fates([start], "control-executed")
        (prompt,) = service.harness.wait_prompts(service.item_id(), 1)
        assert texts_in(prompt.text) == ["do it"]
