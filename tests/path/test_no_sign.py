"""A turn without a sign of life, a host that is busy, and a session that ended idle."""

from __future__ import annotations

from domain.turns import RECEIPT_MS
from sessions.host.protocol import HandState
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Death, Manner
from tests.fakes.service_in_process import ServiceInProcess, texts_in

WORKS_ON = Manner(ends=False)


GO_ON = "The machine or the agent ended in the middle of your last turn"


def test_no_sign_of_a_handed_turn_for_two_minutes_is_a_failed_attempt(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(Manner(receipt=None))
    said = comment(2, "more")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 2)
    service.settle()
    service.advance(RECEIPT_MS / 1000 - 1)
    service.settle()
    assert harness.living() == {service.item_id()}
    service.advance(1)
    service.until(lambda: harness.living() == set())
    service.settle()
    assert service.fates(said) == ["inflight"]
    assert service.rows("SELECT attempts FROM fates WHERE event_key = ?", said.key) == [(1,)]
    service.advance(2)
    service.wait_fates([said], "done")
    assert texts_in(harness.texts(service.item_id())[-1]) == ["more"]


def test_no_sign_of_being_told_to_go_on_is_not_forgotten(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.meet(Manner(dies=Death.TAKEN), Manner(receipt=None))
    said = comment(2, "more")
    service.arrive(said)
    harness.wait_prompts(service.item_id(), 3)
    service.settle()
    service.advance(RECEIPT_MS / 1000)
    service.settle()
    service.advance(2)
    service.until(lambda: len(service.said("notice")) == 1 or len(service.said("answer")) == 2)


def test_a_host_that_has_another_turn_running_gets_the_turn_again(
    service: ServiceInProcess, harness: StandInHarness
) -> None:

    service.meet(Manner(state=HandState.BUSY))
    said = comment(2, "more")
    service.arrive(said)
    service.settle()
    service.advance(10)
    service.wait_fates([said], "done")


def test_a_session_that_ended_idle_is_loaded_again_for_the_next_comment(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet()
    harness.go_idle(service.item_id())
    service.settle()
    assert len(harness.opens) == 1
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    first, second = harness.prompts_of(service.item_id())
    assert first.conversation_id == second.conversation_id
    assert second.text.startswith("There is something new")
