"""A turn that is written down and not handed over yet: what an edit, a deletion, a pause or a stop makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Event
from tests.fakes.core import comment, deleted, edited
from tests.fakes.manners import Manner
from tests.fakes.service_in_process import ServiceInProcess, texts_in, thread

WORKS_ON = Manner(ends=False)


class TestFrozenTurn:
    """A turn that is written down and not handed over, because the one slot for hand-overs is held elsewhere."""

    OTHER = thread(77)

    @pytest.fixture
    def service(self, tmp_path: Path) -> Iterator[ServiceInProcess]:
        with ServiceInProcess(tmp_path, routing={"max_concurrent_dispatches": 1}) as running:
            running.harness.next_turns(WORKS_ON)
            running.begin()
            running.begin(700, thread=self.OTHER)
            running.harness.next_turns(Manner(receipt=None), item_id=running.item_id(self.OTHER))
            running.arrive(comment(702, "keep it busy", thread=self.OTHER))
            running.harness.wait_prompts(running.item_id(self.OTHER), 2)
            yield running

    @staticmethod
    def freeze(service: ServiceInProcess, *events: Event) -> None:
        """Let these wait behind a running turn, and then be frozen as one."""
        service.arrive(*events)
        service.harness.finish(service.item_id())
        service.until(lambda: service.turns()[-1] == ("events", "frozen"))

    def let_go_on(self, service: ServiceInProcess) -> list[list[str]]:
        """Free the slot; what the item's agent then gets."""
        service.harness.show_sign(service.item_id(self.OTHER))
        service.settle()
        return [texts_in(text) for text in service.harness.texts(service.item_id())][1:]

    def test_an_edit_replaces_its_text(self, service: ServiceInProcess) -> None:
        said, other = comment(2, "use tabs"), comment(3, "and test it")
        self.freeze(service, said, other)
        changed = edited(said, "use spaces", at_s=30)
        service.arrive(changed)
        service.settle()
        assert self.let_go_on(service) == [["use spaces", "and test it"]]
        assert service.fates(said, changed, other) == ["done", "superseded", "done"]

    def test_a_deletion_withdraws_a_comment_and_hands_over_the_rest(self, service: ServiceInProcess) -> None:
        said, other = comment(2, "second thoughts"), comment(3, "and test it")
        self.freeze(service, said, other)
        service.arrive(deleted(said))
        service.settle()
        assert self.let_go_on(service) == [["and test it"]]
        assert service.fates(said, other) == ["withdrawn", "done"]

    def test_a_deletion_of_all_that_it_carries_leaves_no_prompt(self, service: ServiceInProcess) -> None:
        said = comment(2, "second thoughts")
        self.freeze(service, said)
        service.arrive(deleted(said))
        service.settle()
        assert self.let_go_on(service) == []
        assert service.fates(said) == ["withdrawn"]

    def test_a_pause_takes_it_back_and_refuses_its_comments(self, service: ServiceInProcess) -> None:
        said = comment(2, "more")
        self.freeze(service, said)
        service.arrive(comment(3, "the-loop pause"))
        service.settle()
        assert self.let_go_on(service) == []
        assert service.fates(said) == ["session-paused"]

    def test_a_stop_takes_it_back(self, service: ServiceInProcess) -> None:
        said, stop = comment(2, "more"), comment(3, "the-loop stop")
        self.freeze(service, said)
        service.arrive(stop)
        service.settle()
        assert self.let_go_on(service) == []
        assert service.fates(said, stop) == ["session-stopped", "control-executed"]

    def test_a_comment_that_comes_later_does_not_make_it_grow(self, service: ServiceInProcess) -> None:
        first, second = comment(2, "first"), comment(3, "second")
        self.freeze(service, first)
        service.arrive(second)
        service.settle()
        assert self.let_go_on(service) == [["first"], ["second"]]
        assert service.fates(first, second) == ["done", "done"]

    def test_an_item_that_takes_its_turn_back_does_not_keep_others_from_the_slot(
        self, service: ServiceInProcess
    ) -> None:
        """It stood in line for the slot, and wants it no more."""
        self.freeze(service, comment(2, "more"))
        service.arrive(comment(3, "the-loop pause"))
        service.settle()
        self.let_go_on(service)
        service.harness.finish(service.item_id(self.OTHER))
        third = comment(704, "and this", thread=self.OTHER)
        service.arrive(third)
        service.wait_fates([third], "done")
