"""What order means when workers carry it out: the same table, with sessions that live and agents that are at a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.control import Verb
from domain.model import Event, Phase
from statedb.committer import BlockingNotifier
from tests.fakes.core import closed, comment, delivery
from tests.fakes.dispatching import LIMIT_S
from tests.fakes.manners import Manner
from tests.fakes.service_in_process import ServiceInProcess
from webhook.handled import Handled

AT_WORK = Manner(ends=False)
"""An agent that takes its turn and is at it until the test says otherwise."""


def command(number: int, verb: Verb | str, **about) -> Event:
    return comment(number, f"the-loop {verb}", **about)


def arrive_together(service: ServiceInProcess, *events: Event) -> None:
    """Let these be decided in one batch, before any worker looks; the service starts with it."""
    notifiers = [BlockingNotifier() for _ in events]
    tickets = [
        service.core.dispatcher.submit(event, delivery(), notifier)
        for event, notifier in zip(events, notifiers, strict=True)
    ]
    service.start()
    for ticket, notifier in zip(tickets, notifiers, strict=True):
        assert not isinstance(ticket, Handled)
        notifier.wait(ticket, LIMIT_S)


def begun(folder: Path, *manners: Manner) -> ServiceInProcess:
    """A service that has started the item and ended since; the item's session lives on."""
    with ServiceInProcess(folder) as service:
        service.harness.next_turns(*manners)
        service.begin()
        service.settle()
    return ServiceInProcess(folder, harness=service.harness)


def test_start_comment_stop_start_comment(tmp_path: Path) -> None:
    """The comment of the first stretch is stopped, that of the second is done, all commands are executed."""
    events = [command(1, "start"), comment(2), command(3, "stop"), command(4, "start"), comment(5)]
    service = ServiceInProcess(tmp_path)
    try:
        arrive_together(service, *events)
        service.wait_fates(
            events, *["control-executed", "session-stopped", "control-executed", "control-executed", "done"]
        )
    finally:
        service.stop()


def test_a_stop_that_a_start_follows_before_a_worker_looks_is_executed_all_the_same(tmp_path: Path) -> None:
    """The old stretch's turn does not go on into the new one."""
    service = begun(tmp_path, AT_WORK)
    stop, again = command(2, "stop"), command(3, "start")
    try:
        arrive_together(service, stop, again)
        service.wait_fates([stop, again], "control-executed", "control-executed")
        assert service.phase() is Phase.RUNNING
        assert len(service.harness.living()) == 1
        assert ("turn", "cancelled") in [("turn", state) for _, state in service.turns()]
    finally:
        service.stop()


def test_a_pause_lets_the_running_turn_end_and_refuses_what_waited_behind_it(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path) as service:
        service.harness.next_turns(AT_WORK)
        service.begin()
        waiting, pause = comment(2), command(3, "pause")
        service.arrive(waiting, pause)
        service.wait_fates([waiting, pause], "session-paused", "control-executed")
        service.harness.finish(service.item_id(), "An answer.")
        service.until(lambda: len(service.said("answer")) == 1)


def test_what_was_said_while_a_turn_runs_is_one_prompt_when_it_ends(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path) as service:
        service.harness.next_turns(AT_WORK)
        service.begin()
        first, second = comment(2, "also the empty list"), comment(3, "and the full one")
        service.arrive(first, second)
        service.settle()
        assert service.fates(first, second) == ["inflight", "inflight"]
        service.harness.finish(service.item_id())
        service.wait_fates([first, second], "done", "done")
        (_, prompt) = service.harness.texts(service.item_id())
        assert prompt.index("also the empty list") < prompt.index("and the full one")


def test_a_stop_while_a_turn_runs_leaves_nothing_alive_and_does_not_start_again(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path) as service:
        service.harness.next_turns(AT_WORK)
        service.begin()
        stop, later = command(2, "stop"), comment(3)
        service.arrive(stop, later)
        service.wait_fates([stop, later], "control-executed", "awaiting-start")
        service.settle()
        assert (service.harness.living(), service.phase()) == (set(), Phase.STOPPED)


def test_closing_lets_the_running_turn_end_and_its_answer_be_posted(tmp_path: Path) -> None:
    with ServiceInProcess(tmp_path) as service:
        service.harness.next_turns(AT_WORK)
        service.begin()
        closing = closed(2)
        service.arrive(closing)
        service.settle()
        assert service.fates(closing) == ["inflight"]
        service.harness.finish(service.item_id(), "An answer.")
        service.wait_fates([closing], "control-executed")
        assert (service.said("answer"), service.harness.living()) == (["An answer."], set())


@pytest.mark.parametrize("late", [command(3, "stop"), closed(3)], ids=["stop", "closing"])
def test_a_late_end_before_a_start_that_we_know_is_executed_and_ends_nothing_of_the_new_stretch(
    tmp_path: Path, late: Event
) -> None:
    with ServiceInProcess(tmp_path) as service:
        service.begin(5)
        said = comment(6)
        service.arrive(late, said)
        service.wait_fates([late, said], "control-executed", "done")
        assert service.phase() is Phase.RUNNING


def test_a_waiting_comment_is_not_refused_while_a_start_before_it_lacks_a_fact(tmp_path: Path) -> None:
    """By the thread it belongs to the start's stretch, whatever the stop before that start says."""
    with ServiceInProcess(tmp_path) as service:
        service.harness.next_turns(AT_WORK)
        service.begin()
        said = comment(5)
        service.arrive(said)
        service.github.is_reachable = False
        service.arrive(command(4, "start", told=None), command(3, "stop"))
        service.settle()
        assert service.fates(said) == ["inflight"]
        service.github.is_reachable = True
        service.advance(3600)
        service.wait_fates([said, command(4, "start")], "done", "control-executed")
