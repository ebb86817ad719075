"""Telegram's updates in the store: taken once, claimed in order, settled by their own claim, forgotten after a day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from statedb import database, update_rows
from statedb.database import Connection, Database
from statedb.retention import forget_some
from statedb.update_rows import (
    KEPT_MS,
    ClaimedRow,
    Fence,
    Settled,
    Terms,
    UpdateRow,
    UpdateState,
)

BOT, OTHER_BOT = 123456, 654321
NOW_MS = 1_800_000_000_000
LEASE_MS = 120_000
COMPLETED = Settled(state=UpdateState.COMPLETED)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    connection = Database(tmp_path / "state.db", lambda: NOW_MS).writer()
    yield connection
    connection.close()


def row(update_id: int, line: str = "chat:1") -> UpdateRow:
    return UpdateRow(update_id=update_id, line=line, kind="message", content={"text": f"no. {update_id}"})


def record(connection: Connection, *rows: UpdateRow, bot_id: int = BOT) -> int:
    return update_rows.record(connection, bot_id, rows, NOW_MS)


def claim(
    connection: Connection, limit: int = 100, *, name: str = "mine", at_ms: int = NOW_MS, bot_id: int = BOT
) -> list[ClaimedRow]:
    terms = Terms(claim_id=name, lease_until_ms=at_ms + LEASE_MS, attempts_max=5)
    return update_rows.claim(connection, bot_id, limit, terms, at_ms)


def numbers(claimed: list[ClaimedRow]) -> list[int]:
    return [one.row.update_id for one in claimed]


def fail(connection: Connection, claimed: ClaimedRow, due_at_ms: int) -> None:
    settled = Settled(state=UpdateState.FAILED, failure="OSError: no", due_at_ms=due_at_ms)
    assert update_rows.settle(connection, claimed.fence, settled, NOW_MS)


def stands(connection: Connection) -> dict[int, tuple[str, int]]:
    """State and attempt of each update."""
    rows = connection.execute("SELECT update_id, state, attempt FROM telegram_updates ORDER BY arrival")
    return {update_id: (state, attempt) for update_id, state, attempt in rows}


def test_an_update_is_taken_once_however_often_it_comes(connection: Connection) -> None:
    assert [record(connection, row(10), row(11)), record(connection, row(11), row(12))] == [2, 1]
    assert list(stands(connection)) == [10, 11, 12]


def test_numbers_are_a_bots_own(connection: Connection) -> None:
    assert [record(connection, row(10)), record(connection, row(10), bot_id=OTHER_BOT)] == [1, 1]
    assert [numbers(claim(connection)), numbers(claim(connection, bot_id=OTHER_BOT))] == [[10], [10]]


@pytest.mark.parametrize(
    "arrived",
    [
        pytest.param(UpdateRow(update_id=2**63 - 1, line="chat:1", kind="message", content={}), id="largest number"),
        pytest.param(
            UpdateRow(update_id=1, line="chat:1", kind="new \ud83d kind", content={"text": "\ud83d\x00 é 🙂"}),
            id="half a character",
        ),
        pytest.param(
            UpdateRow(update_id=1, line="chat:1", kind="message", content={"a": [1, {"b": None}], "c": 1.5}),
            id="nested",
        ),
    ],
)
def test_an_update_comes_back_as_it_arrived(connection: Connection, arrived: UpdateRow) -> None:
    record(connection, arrived)
    fence = Fence(bot_id=BOT, update_id=arrived.update_id, attempt=1, claim_id="mine")
    assert claim(connection) == [ClaimedRow(arrived, fence)]


# Claims


def test_of_each_line_the_first_to_arrive_is_claimed(connection: Connection) -> None:
    record(connection, row(900, "chat:1"), row(3, "chat:1"), row(950, "chat:2"))
    assert [numbers(claim(connection)), numbers(claim(connection))] == [[900, 950], []]


def test_the_next_of_a_line_is_claimed_when_the_one_before_has_ended(connection: Connection) -> None:
    record(connection, row(900), row(3))
    (first,) = claim(connection)
    update_rows.settle(connection, first.fence, COMPLETED, NOW_MS)
    assert numbers(claim(connection)) == [3]


def test_a_claim_takes_the_earliest_and_no_more_than_it_is_asked_for(connection: Connection) -> None:
    record(connection, row(12, "chat:3"), row(11, "chat:2"), row(10, "chat:1"))
    assert numbers(claim(connection, 2)) == [12, 11]


def test_a_failed_update_waits_and_holds_up_its_own_line_alone(connection: Connection) -> None:
    record(connection, row(10), row(11), row(12, "chat:2"), row(13, "chat:2"))
    failed, other = claim(connection)
    fail(connection, failed, NOW_MS + 5_000)
    update_rows.settle(connection, other.fence, COMPLETED, NOW_MS)
    assert numbers(claim(connection, at_ms=NOW_MS + 4_999)) == [13]
    (again,) = claim(connection, at_ms=NOW_MS + 5_000)
    assert (again.row.update_id, again.fence.attempt) == (10, 2)


def test_a_claim_whose_lease_ran_out_is_claimed_again_and_its_late_end_is_refused(connection: Connection) -> None:
    record(connection, row(10))
    (first,) = claim(connection, name="dead")
    assert claim(connection, at_ms=NOW_MS + LEASE_MS - 1) == []
    (second,) = claim(connection, name="alive", at_ms=NOW_MS + LEASE_MS)
    assert not update_rows.settle(connection, first.fence, COMPLETED, NOW_MS)
    assert not update_rows.renew(connection, first.fence, NOW_MS)
    assert stands(connection) == {10: ("processing", 2)}
    assert update_rows.settle(connection, second.fence, COMPLETED, NOW_MS)


def test_a_late_end_is_taken_while_nobody_else_has_the_update(connection: Connection) -> None:
    record(connection, row(10))
    (first,) = claim(connection)
    assert update_rows.settle(connection, first.fence, COMPLETED, NOW_MS + 10 * LEASE_MS)


@pytest.mark.parametrize(
    "other",
    [{"attempt": 2}, {"claim_id": "another"}, {"update_id": 11}, {"bot_id": OTHER_BOT}],
    ids=lambda o: next(iter(o)),
)
def test_only_the_whole_fence_opens(connection: Connection, other: dict[str, object]) -> None:
    record(connection, row(10))
    claim(connection)
    named = {"bot_id": BOT, "update_id": 10, "attempt": 1, "claim_id": "mine", **other}
    assert not update_rows.settle(connection, Fence(**named), COMPLETED, NOW_MS)  # type: ignore[arg-type]
    assert stands(connection) == {10: ("processing", 1)}


def test_a_renewed_claim_holds_from_then_on(connection: Connection) -> None:
    record(connection, row(10))
    (first,) = claim(connection)
    assert update_rows.renew(connection, first.fence, NOW_MS + 2 * LEASE_MS)
    assert claim(connection, at_ms=NOW_MS + 2 * LEASE_MS - 1) == []


def test_what_has_ended_cannot_end_again(connection: Connection) -> None:
    record(connection, row(10))
    (first,) = claim(connection)
    update_rows.settle(connection, first.fence, COMPLETED, NOW_MS)
    again = Settled(state=UpdateState.ABANDONED, failure="late")
    assert not update_rows.settle(connection, first.fence, again, NOW_MS)
    assert stands(connection) == {10: ("completed", 1)}


def test_an_update_whose_last_attempt_never_ended_is_given_up_once_and_frees_its_line(connection: Connection) -> None:
    record(connection, row(10), row(11))
    for attempt in range(5):
        assert numbers(claim(connection, at_ms=NOW_MS + attempt * LEASE_MS)) == [10]
    end_ms = NOW_MS + 5 * LEASE_MS
    assert claim(connection, at_ms=end_ms) == []
    assert update_rows.give_up(connection, BOT, 5, end_ms - 1) == []
    assert [update_rows.give_up(connection, BOT, 5, end_ms) for _ in range(2)] == [[row(10)], []]
    assert numbers(claim(connection, at_ms=end_ms)) == [11]
    assert stands(connection)[10] == ("abandoned", 5)


# What is forgotten


def test_what_ended_is_known_for_a_day_and_comes_as_new_after_it(connection: Connection) -> None:
    record(connection, row(10), row(11))
    (first,) = claim(connection)
    update_rows.settle(connection, first.fence, COMPLETED, NOW_MS)
    assert (update_rows.forget(connection, NOW_MS + KEPT_MS - 1, 100), record(connection, row(10))) == (0, 0)
    assert (update_rows.forget(connection, NOW_MS + KEPT_MS, 100), record(connection, row(10))) == (1, 1)
    assert list(stands(connection)) == [11, 10]


def test_what_has_not_ended_is_never_forgotten(connection: Connection) -> None:
    record(connection, row(10, "chat:1"), row(11, "chat:2"), row(12, "chat:3"))
    failed, _ = claim(connection, 2)
    fail(connection, failed, NOW_MS)
    assert update_rows.forget(connection, NOW_MS + 400 * KEPT_MS, 100) == 0


def test_forgetting_is_bounded(connection: Connection) -> None:
    record(connection, row(10, "chat:1"), row(11, "chat:2"))
    for claimed in claim(connection):
        update_rows.settle(connection, claimed.fence, COMPLETED, NOW_MS)
    assert [update_rows.forget(connection, NOW_MS + KEPT_MS, 1) for _ in range(3)] == [1, 1, 0]


def test_the_services_housekeeping_forgets_updates_too(connection: Connection) -> None:
    record(connection, row(10))
    (first,) = claim(connection)
    update_rows.settle(connection, first.fence, COMPLETED, NOW_MS)
    assert [forget_some(connection, NOW_MS + KEPT_MS) for _ in range(2)] == [1, 0]


# Who was seen


def message(update_id: int, user: dict[str, object], chat: dict[str, object]) -> UpdateRow:
    return UpdateRow(update_id=update_id, line="chat:1", kind="message", content={"from": user, "chat": chat})


ADA = {"id": 7, "first_name": "Ada", "last_name": "L.", "username": "ada"}
BOB = {"id": 8, "first_name": "Bob"}


def test_the_newest_messages_are_told_in_their_order_and_of_one_bot(connection: Connection) -> None:
    arrived = [message(number, ADA, {"id": 7, "type": "private"}) for number in (12, 10, 11)]
    poll = UpdateRow(update_id=13, line="", kind="poll", content={"from": ADA})
    record(connection, *arrived, poll)
    assert update_rows.newest_messages(connection, BOT, 2) == arrived[1:]
    assert update_rows.newest_messages(connection, BOT + 1, 2) == []


def test_a_claim_that_is_released_is_claimed_again_at_once_and_counts_as_an_attempt(connection: Connection) -> None:
    record(connection, message(10, ADA, {"id": 7, "type": "private"}))
    (first,) = claim(connection)
    assert claim(connection) == []
    update_rows.release(connection, BOT, NOW_MS)
    (second,) = claim(connection)
    assert (first.fence.attempt, second.fence.attempt, second.row) == (1, 2, first.row)


# How it is looked up, and how an older store gets there


class Plans:
    """The plan of every statement that a connection runs."""

    def __init__(self, connection: Connection) -> None:
        self.steps: list[str] = []
        self._connection = connection
        connection.exec_trace = self._explain

    def _explain(self, cursor: apsw.Cursor, statement: str, values: apsw.Bindings | None) -> bool:
        self._connection.exec_trace = None
        explained = self._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
        self.steps += [str(step[3]) for step in explained]
        self._connection.exec_trace = self._explain
        return True


FENCE = Fence(bot_id=BOT, update_id=1, attempt=1, claim_id="x")


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        pytest.param(lambda c: claim(c), "telegram_updates_open (bot_id=?)", id="claim"),
        pytest.param(lambda c: update_rows.give_up(c, BOT, 5, 0), "telegram_updates_open (bot_id=?)", id="give up"),
        pytest.param(lambda c: update_rows.forget(c, 0, 1), "telegram_updates_by_end (finished_at", id="forget"),
        pytest.param(lambda c: update_rows.renew(c, FENCE, 0), "(bot_id=? AND update_id=?)", id="renew"),
        pytest.param(lambda c: update_rows.settle(c, FENCE, COMPLETED, 0), "(bot_id=? AND update_id=?)", id="settle"),
    ],
)
def test_no_question_reads_what_has_ended(connection: Connection, ask, index: str) -> None:
    plans = Plans(connection)
    ask(connection)
    assert any(index in step for step in plans.steps), plans.steps
    assert not any(step.startswith("SCAN telegram_updates") for step in plans.steps), plans.steps


def test_a_store_of_the_first_schema_is_copied_and_grows_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = database._scripts()
    monkeypatch.setattr(database, "_scripts", lambda: scripts[:1])
    store = Database(tmp_path / "state.db", lambda: NOW_MS)
    with store.writer() as old:
        old.execute("INSERT INTO facts_of_ours VALUES ('name', 'kept')")
    monkeypatch.setattr(database, "_scripts", lambda: scripts[:2])
    grown = store.writer()
    copy = apsw.Connection(str(tmp_path / "state.db.before-2"))
    kept = "SELECT value FROM facts_of_ours"
    has_table = "SELECT count(*) FROM sqlite_master WHERE name = 'telegram_updates'"
    assert [c.execute(kept).get for c in (grown, copy)] == ["kept", "kept"]
    assert [c.execute(has_table).get for c in (grown, copy)] == [1, 0]
    assert [c.pragma("user_version") for c in (grown, copy)] == [2, 1]
    assert record(grown, row(10)) == 1
