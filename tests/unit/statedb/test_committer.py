"""The committer: one batch, one transaction, one waking; whoever is told yes is on disk, whoever is told no is not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from statedb.committer import BATCH_MAX, BlockingNotifier, Committer, Overloaded, Ticket
from statedb.database import Connection, Database, StoreUnavailable
from tests.fakes.committing import (
    POISON,
    Act,
    Names,
    Wakings,
    committer_on,
    error_of,
    names_on_disk,
    running,
)
from tests.fakes.dispatching import LIMIT_S


def test_what_waits_is_one_batch_in_order_and_each_notifier_is_woken_once(tmp_path: Path) -> None:
    plan, one, other = Names(), Wakings(3), Wakings(1)
    committer = committer_on(tmp_path, plan)
    tickets = [committer.submit(name, notifier) for name, notifier in zip("dbca", (one, one, other, one), strict=True)]
    with running(committer):
        one.wait()
        other.wait()
    assert (plan.batches, plan.told) == ([list("dbca")], [[f"{name} is written" for name in "dbca"]])
    assert (one.calls, other.calls) == ([[tickets[0], tickets[1], tickets[3]]], [[tickets[2]]])
    assert [ticket.answer for ticket in tickets] == [f"{name} is written" for name in "dbca"]


def test_a_batch_is_bounded(tmp_path: Path) -> None:
    plan, wakings = Names(), Wakings(BATCH_MAX + 1)
    committer = committer_on(tmp_path, plan)
    for number in range(BATCH_MAX + 1):
        committer.submit(f"{number:04}", wakings)
    with running(committer):
        wakings.wait()
    assert [len(batch) for batch in plan.batches] == [BATCH_MAX, 1]
    assert BATCH_MAX == 256


def _raise(fault: Exception) -> Act:
    def act(connection: Connection, name: str) -> None:
        if name == POISON:
            raise fault

    return act


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(ValueError("a fault of the plan"), id="our-fault"),
        pytest.param(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), id="a-text-that-cannot-be-written"),
        pytest.param(apsw.ConstraintError("a row that the schema refuses"), id="a-row-that-the-schema-refuses"),
        pytest.param(apsw.MismatchError("a value of another type"), id="a-value-of-another-type"),
    ],
)
def test_one_bad_submission_fails_alone(tmp_path: Path, fault: Exception) -> None:
    plan, wakings = Names(_raise(fault)), Wakings(3)
    committer = committer_on(tmp_path, plan)
    tickets = [committer.submit(name, wakings) for name in ("a", POISON, "b")]
    with running(committer):
        wakings.wait()
    assert [error_of(ticket) for ticket in tickets] == [None, type(fault), None]
    assert names_on_disk(tmp_path) == ["a", "b"]
    assert [answer for told in plan.told for answer in told] == ["a is written", "b is written"]


def test_the_committer_goes_on_after_a_bad_submission(tmp_path: Path) -> None:
    committer = committer_on(tmp_path, Names(_raise(ValueError("fault"))))
    with running(committer):
        for name in (POISON, "a"):
            wakings = Wakings()
            committer.submit(name, wakings)
            wakings.wait()
    assert names_on_disk(tmp_path) == ["a"]


def test_a_fault_in_what_is_told_afterwards_leaves_nobody_waiting_and_the_committer_at_work(tmp_path: Path) -> None:
    class Speechless(Names):
        def committed(self, answers: Sequence[str]) -> None:
            super().committed(answers)
            if len(self.told) == 1:
                raise OSError("the log cannot be written")

    committer = committer_on(tmp_path, Speechless())
    thread = threading.Thread(target=_run_quietly, args=(committer,))
    thread.start()
    try:
        first = BlockingNotifier()
        assert first.wait(committer.submit("a", first), 2.0) == "a is written"
        second = BlockingNotifier()
        assert second.wait(committer.submit("b", second), 2.0) == "b is written"
    finally:
        committer.stop()
        thread.join(LIMIT_S)


def _run_quietly(committer: Committer[str, str]) -> None:
    """A thread that ends by a fault of the committer's fails the test by what is missing, not by its own noise."""
    try:
        committer.run()
    except OSError:
        return


# Jobs of workers


def test_a_worker_gets_what_its_job_returned_once_it_is_on_disk(tmp_path: Path) -> None:
    committer = committer_on(tmp_path, Names())
    with running(committer):
        assert committer.write(lambda c: c.execute("INSERT INTO facts_of_ours VALUES ('w', '')") and 7) == 7
        assert names_on_disk(tmp_path) == ["w"]


def test_a_job_that_fails_undoes_its_own_writes_and_no_others(tmp_path: Path) -> None:
    committer, outcomes = committer_on(tmp_path, Names()), dict[str, str]()

    def job(name: str) -> Callable[[Connection], None]:
        def write(connection: Connection) -> None:
            connection.execute("INSERT INTO facts_of_ours VALUES (?, '')", (name,))
            if name == POISON:
                raise KeyError(name)

        return write

    def ask(name: str) -> None:
        try:
            committer.write(job(name))
            outcomes[name] = "written"
        except KeyError:
            outcomes[name] = "failed"

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("a", POISON, "b")]
    wakings = Wakings()
    committer.submit("c", wakings)
    for thread in threads:
        thread.start()
    with running(committer):
        wakings.wait()
        for thread in threads:
            thread.join(LIMIT_S)
    assert outcomes == {"a": "written", POISON: "failed", "b": "written"}
    assert names_on_disk(tmp_path) == ["a", "b", "c"]


# Those who leave, and those who come too late


def test_who_leaves_before_the_batch_begins_takes_the_submission_along(tmp_path: Path) -> None:
    plan, wakings = Names(), Wakings()
    committer = committer_on(tmp_path, plan)
    left = committer.submit("a", wakings)
    committer.submit("b", wakings)
    assert (left.leave(), left.leave()) == (True, True)
    with running(committer):
        wakings.wait()
    assert (plan.batches, names_on_disk(tmp_path), left.answer) == ([["b"]], ["b"], None)


def test_who_wants_to_leave_once_the_batch_has_begun_cannot(tmp_path: Path) -> None:
    could_leave, tickets = list[bool](), list[Ticket[str]]()
    plan, wakings = Names(lambda connection, name: could_leave.append(tickets[0].leave())), Wakings()
    committer = committer_on(tmp_path, plan)
    tickets.append(committer.submit("a", wakings))
    with running(committer):
        wakings.wait()
    assert (could_leave, names_on_disk(tmp_path), tickets[0].answer) == ([False], ["a"], "a is written")


def test_a_waiter_whose_time_is_over_is_overloaded_and_nothing_is_recorded(tmp_path: Path) -> None:
    committer, notifier = committer_on(tmp_path, Names()), BlockingNotifier()
    ticket = committer.submit("a", notifier)
    with pytest.raises(Overloaded):
        notifier.wait(ticket, 0.01)
    with running(committer):
        pass
    assert names_on_disk(tmp_path) == []


def test_a_waiter_whose_batch_has_begun_is_told_what_became_of_it(tmp_path: Path) -> None:
    begun, waiter_wanted_to_leave = threading.Event(), threading.Event()

    def slow(connection: Connection, name: str) -> None:
        begun.set()
        assert waiter_wanted_to_leave.wait(LIMIT_S)

    class Impatient(BlockingNotifier):
        def wait(self, ticket: Ticket[Any], timeout_s: float) -> Any:
            assert not ticket.leave()
            waiter_wanted_to_leave.set()
            return super().wait(ticket, timeout_s)

    committer, notifier = committer_on(tmp_path, Names(slow)), Impatient()
    with running(committer):
        ticket = committer.submit("a", notifier)
        assert begun.wait(LIMIT_S)
        assert notifier.wait(ticket, LIMIT_S) == "a is written"


def test_a_full_queue_refuses_at_once_and_takes_again_when_there_is_room(tmp_path: Path) -> None:
    committer, wakings = committer_on(tmp_path, Names(), queue_max=2), Wakings(2)
    for name in "ab":
        committer.submit(name, wakings)
    with pytest.raises(Overloaded):
        committer.submit("c", wakings)
    with pytest.raises(Overloaded):
        committer.write(lambda connection: None)
    with running(committer):
        wakings.wait()
        committer.submit("d", Wakings())
    assert names_on_disk(tmp_path) == ["a", "b", "d"]


def test_stopping_writes_what_is_queued_and_refuses_what_comes_later(tmp_path: Path) -> None:
    committer, wakings = committer_on(tmp_path, Names()), Wakings(600)
    for number in range(600):
        committer.submit(f"{number:04}", wakings)
    committer.stop()
    with pytest.raises(StoreUnavailable):
        committer.submit("late", wakings)
    with running(committer):
        wakings.wait()
    assert len(names_on_disk(tmp_path)) == 600


# The disk


def test_under_load_a_batch_grows_to_the_size_of_the_last_one_while_each_pause_brings_more(tmp_path: Path) -> None:
    plan, wakings = Names(), Wakings(7)
    late = iter("fg")

    def pause(_: float) -> None:
        if (name := next(late, None)) is not None:
            committer.submit(name, wakings)

    def go_on(_: Connection, name: str) -> None:
        if name == "d":
            committer.submit("e", wakings)

    plan.act = go_on
    committer: Committer[str, str] = Committer(Database(tmp_path / "state.db", lambda: 1), pause=pause)
    committer.serve(plan)
    for name in "abcd":
        committer.submit(name, wakings)
    with running(committer):
        wakings.wait()
    assert plan.batches == [list("abcd"), list("efg")]


def test_who_comes_alone_is_not_kept_waiting(tmp_path: Path) -> None:
    paused: list[float] = []
    committer: Committer[str, str] = Committer(Database(tmp_path / "state.db", lambda: 1), pause=paused.append)
    committer.serve(Names())
    with running(committer):
        for name in "abc":
            waking = Wakings()
            committer.submit(name, waking)
            waking.wait()
    assert paused == []
