"""The reply ledger in the store: claims, fences, evidence and what is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from domain.model import Thread
from domain.sending import Abandon, Dead, Delivered, Doubt, Following, Wait
from statedb import ledger
from statedb.database import Connection
from statedb.ledger import Candidate, Claim, Lease, Noted, Owner, PartState, Wire
from statedb.rows import EchoRow, Rows
from statedb.writing import write_rows
from tests.fakes.publishing import LIMIT_S, START_MS, HandClock, Store

THREAD = Thread(host="github.com", repository_id=7, number=15)
LANES = {"thread": True, "reaction": False}
LEASE_MS = 120_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path, HandClock()) as store:
        yield store


def lease(now_ms: int = START_MS, owner_id: str = "owner-1") -> Lease:
    return Lease(owner_id=owner_id, now_ms=now_ms, until_ms=now_ms + LEASE_MS)


def find(
    store: Store, now_ms: int = START_MS, lanes: ledger.Lanes = LANES, alive_ms: int | None = None
) -> Candidate | None:
    return ledger.next_due(store.database.reader(), lanes, now_ms, now_ms if alive_ms is None else alive_ms)


def take(store: Store, candidate: Candidate | None, now_ms: int, owner_id: str = "owner-1") -> Claim | None:
    if candidate is None or candidate.due_at_ms > now_ms:
        return None
    return store.committer.write(partial(ledger.claim, candidate=candidate, lease=lease(now_ms, owner_id)))


def claim(store: Store, now_ms: int = START_MS, owner_id: str = "owner-1") -> Claim | None:
    return take(store, find(store, now_ms), now_ms, owner_id)


def take_over(store: Store, now_ms: int = START_MS + LEASE_MS) -> Claim | None:
    return take(store, ledger.next_lapsed(store.database.reader(), LANES, now_ms), now_ms, "owner-2")


def expire(store: Store, now_ms: int) -> Claim | None:
    return take(store, ledger.next_expired(store.database.reader(), LANES, now_ms, now_ms), now_ms, "owner-2")


def claimed(store: Store, now_ms: int = START_MS, owner_id: str = "owner-1") -> Claim:
    found = claim(store, now_ms, owner_id)
    assert found is not None
    return found


def leave(store: Store, part: Claim, now_ms: int = START_MS) -> bool:
    return store.committer.write(partial(ledger.may_leave, claim=part, now_ms=now_ms))


def conclude(store: Store, part: Claim, following: Following, server_time_ms: int | None = None) -> Noted:
    return store.committer.write(
        partial(ledger.conclude, claim=part, following=following, now_ms=START_MS, server_time_ms=server_time_ms)
    )


def due_at(store: Store, alive_ms: int = START_MS) -> int | None:
    candidate = find(store, alive_ms=alive_ms)
    return candidate.due_at_ms if candidate else None


def test_a_claim_says_all_that_sending_needs(store: Store) -> None:
    reply_id = store.comment(THREAD, "Done.")
    part = claimed(store)
    assert (part.reply_id, part.part, part.fence, part.state, part.wire) == (
        reply_id, 0, 1, PartState.SENDING, Wire.NEVER,
    )  # fmt: skip
    assert (part.attempts, part.origin, part.turn_id, part.channel) == (0, "turn-1", "turn-1", "thread")
    assert part.body.startswith("Done.\n\n<!-- the-loop:1 ")
    assert store.rows("SELECT owner_id, lease_until, fence FROM reply_parts") == [("owner-1", START_MS + LEASE_MS, 1)]


def test_many_that_claim_at_once_share_the_parts_without_a_double(store: Store) -> None:
    for number in range(40):
        store.comment(Thread(host="github.com", repository_id=7, number=number), number=number)
    got: list[str] = []

    def work(owner_id: str) -> None:
        while find(store) is not None:
            part = claim(store, owner_id=owner_id)
            if part is not None:
                got.append(part.reply_id)

    threads = [threading.Thread(target=work, args=(f"owner-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert len(got) == len(set(got)) == 40


def test_what_was_found_and_taken_or_echoed_meanwhile_is_not_claimed(store: Store) -> None:
    reply_id = store.comment(THREAD)
    found = find(store)
    part = take(store, found, START_MS, "owner-2")
    assert part is not None
    assert take(store, found, START_MS) is None
    conclude(store, part, Wait(at_ms=START_MS, reason="connect", spends=False))
    waiting = find(store)
    rows = Rows(echoes=[EchoRow(reply_id=reply_id, part=0, provider_id=7, url="u")])
    store.committer.write(partial(write_rows, rows=rows, now_ms=START_MS))
    assert take(store, waiting, START_MS) is None


def test_a_part_in_doubt_is_asked_for_by_one_of_two_that_found_it(store: Store) -> None:
    store.comment(THREAD)
    part = claimed(store)
    assert leave(store, part)
    conclude(store, part, Doubt(ask_at_ms=START_MS, reason="http-500"))
    found = find(store)
    assert [take(store, found, START_MS, owner_id) is not None for owner_id in ("owner-1", "owner-2")] == [True, False]


def test_a_channel_that_nobody_serves_is_left_alone(store: Store) -> None:
    store.comment(THREAD)
    assert find(store, lanes={"reaction": False}) is None


@pytest.mark.parametrize(
    ("following", "due_ms"),
    [
        pytest.param(Wait(at_ms=START_MS + 9, reason="connect", spends=False), START_MS + 9, id="waiting"),
        pytest.param(Doubt(ask_at_ms=START_MS + 9, reason="http-500"), START_MS + 9, id="in doubt"),
        pytest.param(Delivered(7, "u"), None, id="delivered"),
        pytest.param(Dead("locked"), None, id="dead"),
        pytest.param(Abandon("expired"), None, id="abandoned"),
    ],
)
def test_a_part_is_due_again_when_its_conclusion_says_so(
    store: Store, following: Following, due_ms: int | None
) -> None:
    store.comment(THREAD)
    assert due_at(store) == 0
    part = claimed(store)
    assert due_at(store) is None
    assert leave(store, part)
    assert conclude(store, part, following) is Noted.WRITTEN
    assert due_at(store) == due_ms
    assert claim(store, START_MS + 8) is None
    assert (claim(store, START_MS + 9) is not None) == (due_ms is not None)


def test_a_part_that_was_never_tried_is_due_although_its_time_is_still_to_come(store: Store) -> None:
    store.comment(THREAD)
    assert claim(store, START_MS - 3_600_000) is not None


def test_a_part_in_doubt_stays_in_doubt_while_the_thread_is_asked_and_others_leave_it_alone(store: Store) -> None:
    store.comment(THREAD)
    part = claimed(store)
    assert leave(store, part)
    conclude(store, part, Doubt(ask_at_ms=START_MS, reason="http-500"))
    asking = claimed(store)
    assert (asking.state, asking.wire, asking.attempts) == (PartState.UNKNOWN, Wire.MAYBE, 1)
    assert store.rows("SELECT state FROM reply_parts") == [("unknown",)]
    assert claim(store, owner_id="owner-2") is None
    assert due_at(store) == START_MS + LEASE_MS
    assert claim(store, START_MS + LEASE_MS, "owner-2") is not None


def test_only_a_try_whose_lease_has_ended_is_taken_over(store: Store) -> None:
    store.comment(THREAD)
    part = claimed(store)

    assert take_over(store, START_MS + LEASE_MS - 1) is None
    taken = take_over(store)
    assert taken is not None
    assert (taken.fence, taken.state) == (part.fence + 1, PartState.SENDING)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda store, part: leave(store, part), id="may leave"),
        pytest.param(lambda store, part: conclude(store, part, Delivered(7, "u")) is Noted.WRITTEN, id="delivered"),
        pytest.param(lambda store, part: conclude(store, part, Dead("gone")) is Noted.WRITTEN, id="dead"),
    ],
)
def test_who_lost_a_part_writes_nothing_any_more(store: Store, write: Callable[[Store, Claim], bool]) -> None:
    store.comment(THREAD)
    stale = claimed(store)
    assert take_over(store) is not None
    before = store.rows("SELECT * FROM reply_parts")
    assert not write(store, stale)
    assert store.rows("SELECT * FROM reply_parts") == before


def test_a_conclusion_may_be_written_again_while_nobody_else_has_the_part(store: Store) -> None:
    store.comment(THREAD)
    part = claimed(store)
    waits = Wait(at_ms=START_MS + 9, reason="connect", spends=False)
    assert [conclude(store, part, waits) for _ in range(2)] == [Noted.WRITTEN, Noted.WRITTEN]
    assert [conclude(store, part, Delivered(7, "u")) for _ in range(2)] == [Noted.WRITTEN, Noted.ECHOED]


def test_a_try_that_did_not_leave_takes_its_evidence_and_its_attempt_back(store: Store) -> None:
    reply_id = store.comment(THREAD)
    part = claimed(store)
    assert leave(store, part)
    assert store.part(reply_id) == ("sending", "maybe", 1)
    conclude(store, part, Wait(at_ms=START_MS, reason="connect", spends=False))
    assert store.part(reply_id) == ("waiting", "never", 0)
    again = claimed(store)
    assert again.failed_unsent
    assert leave(store, again)
    conclude(store, again, Wait(at_ms=START_MS, reason="absent", spends=True))
    assert store.part(reply_id) == ("waiting", "maybe", 1)
    assert not claimed(store).failed_unsent


def test_githubs_time_of_the_first_try_stays_and_that_of_a_later_one_does_not_take_its_place(store: Store) -> None:
    store.comment(THREAD)
    for server_time_ms in (None, 5_000, 6_000):
        part = claimed(store)
        assert leave(store, part)
        conclude(store, part, Wait(at_ms=START_MS, reason="http-500", spends=True), server_time_ms)
    assert store.rows("SELECT first_dispatched_at_server, dispatched_at_server FROM reply_parts") == [(None, 6_000)]


def test_the_first_absence_is_kept_until_the_next_try(store: Store) -> None:
    store.comment(THREAD)
    part = claimed(store)
    assert leave(store, part)
    conclude(store, part, Doubt(ask_at_ms=START_MS, reason="http-500"))
    conclude(store, claimed(store), Doubt(ask_at_ms=START_MS, reason="absent", absent_since_ms=START_MS))
    asking = claimed(store)
    assert (asking.absent_since_ms, asking.questions) == (START_MS, 1)
    conclude(store, asking, Wait(at_ms=START_MS, reason="absent", spends=True))
    assert leave(store, claimed(store))
    assert store.rows("SELECT absent_since FROM reply_parts") == [(None,)]


@pytest.mark.parametrize(
    ("following", "closed"),
    [
        pytest.param(Delivered(7, "u"), ("delivered", ""), id="delivered"),
        pytest.param(Dead("locked"), ("dead", "locked"), id="dead"),
        pytest.param(Abandon("expired"), ("abandoned", "expired"), id="abandoned"),
        pytest.param(Doubt(ask_at_ms=START_MS, reason="http-500"), ("open", ""), id="in doubt"),
    ],
)
def test_a_reply_is_closed_with_its_part(store: Store, following: Following, closed: tuple[str, str]) -> None:
    store.comment(THREAD)
    conclude(store, claimed(store), following)
    assert store.rows("SELECT state, dead_reason FROM replies") == [closed]


def test_only_what_nobody_sends_expires(store: Store) -> None:
    store.comment(THREAD)
    expires_ms = START_MS + 24 * 3_600_000

    assert expire(store, expires_ms - 1) is None
    assert claim(store, expires_ms) is None
    assert due_at(store, expires_ms) is None
    part = claimed(store, expires_ms - 1)
    assert expire(store, expires_ms) is None
    conclude(store, part, Wait(at_ms=expires_ms, reason="connect", spends=False))
    assert expire(store, expires_ms) is not None


def test_every_move_of_a_part_is_on_record(store: Store) -> None:
    store.comment(THREAD)
    part = claimed(store)
    assert leave(store, part, START_MS + 1)
    conclude(store, part, Doubt(ask_at_ms=START_MS, reason="http-500"))
    moves = store.rows("SELECT what FROM reply_attempts WHERE fence = 1")
    assert sorted(moves) == [("claimed owner-1",), ("doubt http-500",), ("may-leave",)]


def test_senders_that_do_not_beat_any_more_are_forgotten_after_a_week(store: Store) -> None:
    def beat(owner_id: str, now_ms: int) -> Callable[[Connection], None]:
        owner = Owner(owner_id=owner_id, host="here", boot_id="boot", pid=1, lock_path="lock")
        return partial(ledger.beat, owner=owner, now_ms=now_ms)

    store.committer.write(beat("owner-1", START_MS))
    store.committer.write(beat("owner-2", START_MS + ledger.OWNER_KEPT_MS))
    assert len(store.rows("SELECT owner_id FROM owners")) == 2
    store.committer.write(beat("owner-2", START_MS + ledger.OWNER_KEPT_MS + 1))
    assert store.rows("SELECT owner_id FROM owners") == [("owner-2",)]
