"""A host or machine that dies in mid-turn: the turn is looked up, repeated as it is, or told to be a repeat."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from domain.model import Phase, TurnId
from domain.retry import PROVIDER_PAUSE_S
from sessions.host.records import Ended, StopReason, Trouble, TroubleKind
from sessions.prompts import REPEATED
from statedb import turn_rows
from statedb.database import Connection
from statedb.turn_rows import TurnRow
from tests.fakes.core import comment
from tests.fakes.harness import StandInHarness
from tests.fakes.manners import Death, Manner, Opening
from tests.fakes.service_in_process import ServiceInProcess, texts_in

WORKS_ON = Manner(ends=False)
GO_ON = "The machine or the agent ended in the middle of your last turn"


@pytest.mark.parametrize("dies", [Death.TAKEN, Death.UNTOLD])
def test_a_turn_that_the_agent_was_found_to_have_is_taken_and_followed_by_a_turn_that_says_go_on(
    service: ServiceInProcess, harness: StandInHarness, dies: Death
) -> None:
    service.meet(Manner(dies=dies), Manner(after_tools="Gone on."))
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.until(lambda: service.said("answer") == ["Done.", "Gone on."])
    _, first, second = harness.prompts_of(service.item_id())
    assert texts_in(first.text) == ["more"]
    assert second.text.startswith(GO_ON)
    assert first.conversation_id == second.conversation_id
    assert service.turns() == [("events", "ended"), ("events", "ended"), ("resumption", "ended")]


@pytest.mark.parametrize("dies", [Death.FORGOTTEN, Death.UNWRITTEN])
def test_a_turn_that_the_agent_never_had_is_handed_over_again_as_it_is(
    service: ServiceInProcess, harness: StandInHarness, dies: Death
) -> None:
    service.meet(Manner(dies=dies))
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.settle()
    _, prompt = harness.prompts_of(service.item_id())
    assert texts_in(prompt.text) == ["more"]
    assert service.said("answer") == ["Done.", "Done."]


def test_a_turn_that_is_handed_over_again_has_the_same_id_and_does_not_grow(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    released = threading.Event()
    service.meet(Manner(dies=Death.FORGOTTEN))
    harness.next_openings(Opening(released=released))
    first, second = comment(2, "first"), comment(3, "second")
    service.arrive(first)
    harness.wait_opens(2)
    service.arrive(second)
    released.set()
    service.wait_fates([first, second], "done", "done")
    assert [texts_in(text) for text in harness.texts(service.item_id())][1:] == [["first"], ["second"]]


def test_an_agent_that_dies_is_a_host_that_dies(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.meet(WORKS_ON, Manner(after_tools="Gone on."))
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    harness.let_agent_die(service.item_id())
    service.until(lambda: service.said("answer") == ["Done.", "Gone on."])
    assert harness.texts(service.item_id())[-1].startswith(GO_ON)


def test_a_lost_conversation_gets_the_turn_again_said_to_be_possibly_a_repeat(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON, Manner(after_tools="Once more."))
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    harness.forget()
    harness.kill(service.item_id())
    service.until(lambda: service.said("answer") == ["Done.", "Once more."])
    _, first, second = harness.prompts_of(service.item_id())
    assert second.text.startswith(REPEATED)
    assert texts_in(second.text) == ["more"]
    assert second.text.rstrip().endswith(f"turn: {second.turn_id}")
    assert first.conversation_id != second.conversation_id
    assert first.turn_id != second.turn_id


@pytest.mark.parametrize("missed", [False, True], ids=["heard-by-the-link", "left-in-the-journal-of-an-ended-host"])
def test_a_lost_conversation_without_a_turn_gets_the_next_comment_as_a_first_prompt(
    service: ServiceInProcess, harness: StandInHarness, missed: bool
) -> None:
    """It knows none of our rules."""
    service.meet()
    harness.forget()
    harness.next_openings(Opening(missed=missed))
    harness.go_idle(service.item_id())
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    _, prompt = harness.prompts_of(service.item_id())
    assert texts_in(prompt.text) == ["more"]
    assert prompt.text.startswith("You are a session of the-loop.")


def test_after_two_interruptions_the_comments_keep_their_fate_the_phase_fails_and_one_notice_says_so(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(*[Manner(dies=Death.FORGOTTEN)] * 3)
    said = comment(2, "more")
    service.arrive(said)
    service.until(lambda: service.phase() is Phase.FAILED)
    service.settle()
    assert service.fates(said) == ["unhandled"]
    assert len(service.said("notice")) == 1
    assert harness.living() == set()


def test_a_turn_that_was_taken_and_interrupted_twice_is_done_fails_and_gets_one_notice(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(Manner(dies=Death.TAKEN), Manner(dies=Death.TAKEN))
    said = comment(2, "more")
    service.arrive(said)
    service.until(lambda: service.phase() is Phase.FAILED)
    service.settle()
    assert service.fates(said) == ["done"]
    (notice,) = service.said("notice")
    assert "died twice" in notice
    assert harness.living() == set()


def test_the_next_comment_after_two_interruptions_starts_again(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(Manner(dies=Death.TAKEN), Manner(dies=Death.TAKEN))
    service.arrive(comment(2, "more"))
    service.until(lambda: service.phase() is Phase.FAILED)
    service.settle()
    again = comment(3, "please go on")
    service.arrive(again)
    service.wait_fates([again], "done")
    assert service.phase() is Phase.RUNNING
    assert "please go on" in texts_in(harness.texts(service.item_id())[-1])


def test_an_agent_that_answers_turn_after_turn_with_an_error_is_not_asked_for_ever(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    """Its host lives on, so nothing else would end it."""
    service.meet()
    harness.manner = Manner(trouble=TroubleKind.OURS)
    said = comment(2, "more")
    service.arrive(said)
    service.settle()
    assert service.phase() is Phase.FAILED
    assert len(service.said("notice")) == 1
    assert len(harness.prompts_of(service.item_id())) <= 4


def test_a_providers_trouble_puts_the_turn_off_five_minutes_at_no_charge(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(*[Manner(trouble=TroubleKind.PROVIDER)] * 5)
    said = comment(2, "more")
    service.arrive(said)
    for tries in range(1, 6):
        harness.wait_prompts(service.item_id(), 1 + tries)
        service.settle()
        service.advance(PROVIDER_PAUSE_S - 1)
        service.settle()
        assert len(harness.prompts_of(service.item_id())) == 1 + tries
        service.advance(1)
    service.wait_fates([said], "done")
    assert service.rows("SELECT interruptions FROM turns ORDER BY rowid") == [(0,), (0,)]
    assert service.rows("SELECT max(attempts) FROM fates") == [(0,)]


def test_a_providers_trouble_and_the_end_of_its_turn_mean_the_same_read_apart(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON)
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    turn_id = harness.stop_running(service.item_id())
    harness.write(service.item_id(), Trouble(kind=TroubleKind.PROVIDER, text="overloaded", turn_id=turn_id))
    service.settle()
    ended = Ended(
        turn_id=turn_id, stop_reason=StopReason.TROUBLE, text_after_tools="", text_before_tools="", tool_calls=0
    )
    harness.write(service.item_id(), ended)
    service.settle()
    assert len(harness.prompts_of(service.item_id())) == 2, "it is put off"
    service.advance(PROVIDER_PAUSE_S)
    assert len(harness.wait_prompts(service.item_id(), 3)) == 3
    assert service.rows("SELECT max(interruptions) FROM turns") == [(0,)]


def test_a_providers_trouble_while_an_interrupted_turn_is_looked_up_puts_it_off(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON)
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    harness.next_openings(Opening(trouble=TroubleKind.PROVIDER))
    harness.opening = Opening(trouble=TroubleKind.PROVIDER)
    harness.kill(service.item_id())
    harness.wait_opens(2)
    service.settle()
    assert len(harness.opens) == 2, "it waits"
    assert service.phase() is Phase.RUNNING
    harness.opening = Opening()
    service.advance(PROVIDER_PAUSE_S)
    service.until(lambda: service.said("answer") == ["Done.", "Done."])


def test_a_turn_is_not_handed_to_a_host_whose_end_is_written_down_in_that_moment(
    service: ServiceInProcess, harness: StandInHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would wait for its receipt from a host that never got it."""
    service.begin()
    service.settle()
    turn_of = turn_rows.turn

    def look_up_slowly(connection: Connection, turn_id: TurnId) -> TurnRow | None:
        if threading.current_thread().name.startswith("worker"):
            monkeypatch.setattr(turn_rows, "turn", turn_of)
            harness.kill(service.item_id())
            service.until(lambda: service.rows("SELECT state FROM sessions") == [("idle",)])
        return turn_of(connection, turn_id)

    monkeypatch.setattr(turn_rows, "turn", look_up_slowly)
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    assert len(harness.opens) == 2


def test_an_interrupted_turn_whose_agent_cannot_start_any_more_fails_the_item_with_one_notice(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON)
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    harness.opening = Opening(trouble=TroubleKind.OURS)
    harness.kill(service.item_id())
    for _ in range(4):
        service.settle()
        service.advance(30)
    service.settle()
    assert service.phase() is Phase.FAILED
    assert service.fates(said) == ["done"]
    assert len(service.said("notice")) == 1
    assert len(harness.opens) <= 5


def test_an_interrupted_turn_whose_hosts_die_without_a_word_is_not_looked_up_for_ever(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON)
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    harness.opening = Opening(dies=True)
    harness.kill(service.item_id())
    harness.wait_opens(2)
    service.settle()
    assert len(harness.opens) <= 5


def test_comments_behind_an_interrupted_turn_do_not_pay_for_its_starts_at_once(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON)
    said, behind = comment(2, "more"), comment(3, "and this")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.arrive(behind)
    harness.opening = Opening(trouble=TroubleKind.OURS)
    harness.kill(service.item_id())
    harness.wait_opens(2)
    service.settle()
    assert service.fates(behind) == ["inflight"]
    assert service.said("notice") == []


def test_github_out_of_reach_while_an_interrupted_turn_is_looked_up_counts_no_interruption(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path) as first:
        first.harness.next_turns(WORKS_ON)
        first.begin()
    harness = first.harness
    harness.kill(first.item_id())
    first.github.is_reachable = False
    with ServiceInProcess(tmp_path, harness=harness, clock=first.clock, github=first.github) as second:
        second.settle()
        assert second.phase() is Phase.RUNNING
        assert second.said("notice") == []
        first.github.is_reachable = True
        second.advance(60)
        second.until(lambda: second.said("answer") == ["Done."])
        assert harness.texts(second.item_id())[-1].startswith(GO_ON)


def test_an_agent_that_forgot_its_owed_resumption_and_cannot_start_is_not_started_for_ever(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    """Found by replay, then the host dies again before it is told to go on, and no agent starts any more."""
    service.meet(Manner(dies=Death.TAKEN), Manner(dies=Death.UNWRITTEN))
    said = comment(2, "more")
    harness.next_openings(Opening())
    harness.opening = Opening(trouble=TroubleKind.OURS)
    service.arrive(said)
    service.until(lambda: service.phase() is Phase.FAILED)
    service.settle()
    assert len(harness.opens) <= 5


def test_a_pause_lets_an_interrupted_turn_end_and_be_posted(service: ServiceInProcess, harness: StandInHarness) -> None:
    service.meet(WORKS_ON, Manner(after_tools="Gone on."))
    said = comment(2, "more")
    service.arrive(said)
    service.wait_fates([said], "done")
    service.arrive(comment(3, "the-loop pause"))
    service.settle()
    harness.kill(service.item_id())
    service.until(lambda: service.said("answer") == ["Done.", "Gone on."])
    assert service.phase() is Phase.PAUSED


def test_a_stop_while_an_interrupted_turn_is_looked_up_lets_nothing_go_on(
    service: ServiceInProcess, harness: StandInHarness
) -> None:
    service.meet(WORKS_ON)
    said, stop = comment(2, "more"), comment(3, "the-loop stop")
    service.arrive(said)
    service.wait_fates([said], "done")
    harness.next_openings(Opening(released=threading.Event()))
    harness.kill(service.item_id())
    harness.wait_opens(2)
    service.arrive(stop)
    service.wait_fates([stop], "control-executed")
    service.settle()
    assert (len(harness.opens), harness.living(), service.session()) == (2, set(), None)
    assert service.fates(said) == ["done"]
