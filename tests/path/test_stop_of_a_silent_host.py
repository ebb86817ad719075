"""A host that lives and gives no answer keeps its turn, but not against a stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.port import HarnessFailed
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Manner
from tests.fakes.service_in_process import ServiceInProcess


def test_a_stop_ends_a_session_whose_host_lives_and_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = StandInHarness()
    harness.next_turns(Manner(ends=False))
    with ServiceInProcess(tmp_path, harness=harness) as first:
        first.begin()

    def give_no_answer(*_: object) -> None:
        raise HarnessFailed("no answer")

    monkeypatch.setattr(harness, "attach", give_no_answer)
    with ServiceInProcess(tmp_path, harness=harness) as second:
        second.settle()
        assert harness.living() == {second.item_id()}, "no answer is no death"
        stop = comment(2, "the-loop stop")
        second.arrive(stop)
        second.wait_fates([stop], "control-executed")
        assert harness.living() == set()
