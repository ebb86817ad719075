"""What a disk that is full, or a store that somebody else holds, means for a batch: everybody is told, nothing is recorded."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from statedb.committer import BlockingNotifier
from statedb.database import Connection, Database, StoreUnavailable
from tests.fakes.committing import (
    Names,
    Observed,
    Wakings,
    committer_on,
    error_of,
    names_on_disk,
    running,
)
from tests.fakes.dispatching import LIMIT_S


class SmallDisk(Database):
    """A disk with room for the schema and little more."""

    def writer(self) -> Connection:
        connection = super().writer()
        pages = int(connection.pragma("page_count"))
        connection.pragma("max_page_count", pages + 2)
        return connection


def fill(connection: Connection, name: str) -> None:
    if name.startswith("big"):
        connection.execute("INSERT INTO facts_of_ours VALUES (?, ?)", (f"{name}'s text", "x" * 100_000))


def write_name(connection: Connection, name: str) -> None:
    connection.execute("INSERT INTO facts_of_ours VALUES (?, '')", (name,))
    fill(connection, name)


def test_where_the_disk_is_full_everybody_of_the_batch_is_told_and_nothing_is_recorded(tmp_path: Path) -> None:
    plan, wakings = Names(fill), Wakings(3)
    committer = committer_on(tmp_path, plan, database=SmallDisk(tmp_path / "state.db", lambda: 1))
    tickets = [committer.submit(name, wakings) for name in ("a", "big", "b")]
    with running(committer):
        wakings.wait()
        assert [error_of(ticket) for ticket in tickets] == [StoreUnavailable] * 3
        assert (names_on_disk(tmp_path), plan.told) == ([], [])
        again = BlockingNotifier()
        assert again.wait(committer.submit("c", again), LIMIT_S) == "c is written"
    assert names_on_disk(tmp_path) == ["c"]


def test_a_job_that_finds_the_disk_full_fails_everybody_of_its_batch(tmp_path: Path) -> None:
    committer = committer_on(tmp_path, Names(), database=SmallDisk(tmp_path / "state.db", lambda: 1))
    with running(committer):
        with pytest.raises(StoreUnavailable):
            committer.write(lambda connection: fill(connection, "big"))
        assert committer.write(lambda connection: 7) == 7
    assert names_on_disk(tmp_path) == []


def test_jobs_of_a_batch_in_which_the_disk_ran_full_are_not_written_by_themselves(tmp_path: Path) -> None:
    """A full disk undoes the whole transaction; what comes behind in the batch must not be written without one."""
    committer, faults = Observed(SmallDisk(tmp_path / "state.db", lambda: 1)), dict[str, type[BaseException]]()

    def ask(name: str) -> None:
        try:
            committer.write(lambda connection: write_name(connection, name))
        except Exception as fault:
            faults[name] = type(fault)

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("a", "big", "b")]
    for thread in threads:
        thread.start()
        assert committer.queued.acquire(timeout=LIMIT_S)
    with running(committer):
        for thread in threads:
            thread.join(LIMIT_S)
    assert (faults, names_on_disk(tmp_path)) == (dict.fromkeys(("a", "big", "b"), StoreUnavailable), [])


def test_where_another_process_holds_the_store_everybody_is_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("statedb.database.BUSY_MS", 20)
    committer, wakings = committer_on(tmp_path, Names()), Wakings()
    holder = apsw.Connection(str(tmp_path / "state.db"))
    holder.execute("BEGIN IMMEDIATE")
    ticket = committer.submit("a", wakings)
    with running(committer):
        wakings.wait()
        assert error_of(ticket) is StoreUnavailable
        holder.execute("ROLLBACK")
        again = BlockingNotifier()
        assert again.wait(committer.submit("b", again), LIMIT_S) == "b is written"
    holder.close()
    assert names_on_disk(tmp_path) == ["b"]
