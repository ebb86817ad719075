"""The service's store as a bot's: what is recorded outlives the process, and is handled from there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.telegram.store import SqliteUpdates
from statedb.committer import Committer
from statedb.database import Database, StoreUnavailable
from telegrambot.admission import OpenAdmission
from telegrambot.attempts import KEPT_S, LEASE_S, Abandoned, Completed, Failed
from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.handling import recorded
from telegrambot.intake import AttemptFailed, Intake, IntakeNotice
from telegrambot.polling import Poller
from telegrambot.update_store import Claimed, UpdateStore
from telegrambot.updates import Unreadable, Update, read_batch
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.committing import running
from tests.fakes.update_store import UpdatesInMemory

BOT = 123456
NOW_MS = 1_800_000_000_000


def message(update_id: int, chat_id: int = 1) -> Update:
    return Update(update_id=update_id, kind="message", content={"chat": {"id": chat_id}})


class Disk:
    """A folder with a store, which one process after another opens; `now_ms` is what its clock says."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = NOW_MS
        self.database = Database(folder / "state.db", lambda: self.now_ms)
        self._claims = 0

    @contextmanager
    def process(self) -> Iterator[SqliteUpdates]:
        """The store as one process has it."""
        committer: Committer[object, object] = Committer(self.database)
        updates = SqliteUpdates(committer=committer, bot_id=BOT, clock=lambda: self.now_ms, claim_id=self._next_claim)
        with running(committer):
            yield updates

    def rows(self) -> list[tuple[int, str, int, str]]:
        """Number, state, attempts and failure of each update."""
        asked = "SELECT update_id, state, attempt, failure FROM telegram_updates ORDER BY arrival"
        return list(self.database.reader().execute(asked))

    def _next_claim(self) -> str:
        self._claims += 1
        return f"claim-{self._claims}"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def handled(updates: UpdateStore, count: int, fault: Callable[[Update], None] = lambda _: None) -> list[int]:
    """The updates that an intake hands over, which is asked to end with so many of them."""
    seen: list[int] = []
    notices: list[IntakeNotice] = []

    async def run() -> None:
        async def handle(update: Update) -> None:
            seen.append(update.update_id)
            if len(seen) == count:
                intake.stop()
            fault(update)

        intake = Intake(updates, handle, report=notices.append)
        await intake.run()

    asyncio.run(run())
    assert all(isinstance(notice, AttemptFailed) for notice in notices), notices
    return seen


RECORDS_AND_IS_KILLED = """
import asyncio, os, signal, sys, threading
from pathlib import Path
from service.telegram.store import SqliteUpdates
from statedb.committer import Committer
from statedb.database import Database
from telegrambot.updates import Update

committer = Committer(Database(Path(sys.argv[1]), lambda: 1_800_000_000_000))
threading.Thread(target=committer.run, daemon=True).start()
updates = SqliteUpdates(committer=committer, bot_id=123456, clock=lambda: 1_800_000_000_000)
batch = [Update(update_id=number, kind="message", content={"chat": {"id": number}}) for number in (10, 11, 12)]
asyncio.run(updates.record(batch))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_batch_that_was_recorded_before_a_kill_is_handled_once_though_telegram_brings_it_again(disk: Disk) -> None:
    script = [sys.executable, "-c", RECORDS_AND_IS_KILLED, str(disk.database.path)]
    killed = subprocess.run(script, cwd=Path(__file__).parents[3], timeout=60, check=False)
    with disk.process() as updates:
        again = asyncio.run(updates.record([message(number, chat_id=number) for number in (10, 11, 12)]))
        seen = handled(updates, count=3)
    assert (killed.returncode, again, sorted(seen)) == (-signal.SIGKILL, 0, [10, 11, 12])
    assert disk.rows() == [(number, "completed", 1, "") for number in (10, 11, 12)]


def test_a_batch_whose_process_died_before_it_was_confirmed_comes_again_and_each_update_is_handled_once(
    disk: Disk,
) -> None:
    with StandInBotApi(stands_at_s=1_000.0) as bot_api:
        sent = [bot_api.push_text("hello", chat_id=chat_id) for chat_id in (1, 2)]
        with disk.process() as updates:
            asyncio.run(_poll_and_die(bot_api, updates))
        left = bot_api.unconfirmed_ids
        with disk.process() as updates:
            seen = asyncio.run(_poll_and_handle(bot_api, updates, len(sent)))
        assert (left, sorted(seen), bot_api.confirmed_ids) == (sent, sent, sent)


async def _poll_and_die(bot_api: StandInBotApi, updates: SqliteUpdates) -> None:
    """A process that ends when a batch is on disk, and before it could ask for the next one."""
    is_recorded = asyncio.Event()

    async def record(batch: Sequence[Update]) -> None:
        await updates.record(batch)
        is_recorded.set()
        await asyncio.Event().wait()

    async with sending_client() as client:
        polling = asyncio.ensure_future(_poller(bot_api, client, record).run())
        await is_recorded.wait()
        polling.cancel()
        await asyncio.wait((polling,))


async def _poll_and_handle(bot_api: StandInBotApi, updates: SqliteUpdates, count: int) -> list[int]:
    """A process that polls, and ends in order once so many updates were handled and confirmed."""
    seen: list[int] = []

    async def handle(update: Update) -> None:
        seen.append(update.update_id)
        if len(seen) == count:
            intake.stop()

    async with sending_client() as client:
        intake = Intake(updates, handle)
        poller = _poller(bot_api, client, intake.record)
        polling = asyncio.ensure_future(poller.run())
        await intake.run()
        await asyncio.to_thread(bot_api.wait_for, lambda: bot_api.unconfirmed_ids == [], "a confirmed batch")
        poller.stop()
        await polling
    return seen


def _poller(
    bot_api: StandInBotApi, client: httpx.AsyncClient, record: Callable[[Sequence[Update]], Awaitable[object]]
) -> Poller:
    api = BotApi(Token(bot_api.token), client, bot_api.root_url)
    return Poller(api, OpenAdmission(), recorded(record))


def test_what_was_handled_in_one_process_is_not_handled_in_the_next(disk: Disk) -> None:
    with disk.process() as updates:
        asyncio.run(updates.record([message(10)]))
        first = handled(updates, count=1)
    with disk.process() as updates:
        asyncio.run(updates.record([message(10), message(11)]))
        second = handled(updates, count=1)
    assert (first, second) == ([10], [11])


def test_a_handler_that_raises_leaves_a_failure_on_disk_and_the_next_chat_is_handled(disk: Disk) -> None:
    def fault(update: Update) -> None:
        if update.update_id == 10:
            raise OSError("no")

    with disk.process() as updates:
        asyncio.run(updates.record([message(10, chat_id=1), message(11, chat_id=2)]))
        handled(updates, count=2, fault=fault)
    assert disk.rows() == [(10, "failed", 1, "OSError: no"), (11, "completed", 1, "")]


def test_a_batch_with_an_update_that_cannot_be_read_is_recorded_without_it(disk: Disk) -> None:
    batch = read_batch(
        [
            {"update_id": 10, "message": {"chat": {"id": 1}}},
            {"update_id": 11, "message": {"text": "in no chat"}},
            {"update_id": 12, "message": {"chat": {"id": 2}, "text": "half a character: \ud83d"}},
        ]
    )
    readable = [element for element in batch if not isinstance(element, Unreadable)]
    finished: list[int] = []
    with disk.process() as updates:
        asyncio.run(recorded(updates.record)(readable, finished.append))
        seen = handled(updates, count=2)
    assert (finished, sorted(seen)) == ([10, 12], [10, 12])


def test_a_batch_is_recorded_as_a_whole_or_not_at_all(disk: Disk) -> None:
    broken = Update(update_id=11, kind="message", content={"no JSON": object()})
    with disk.process() as updates:
        with pytest.raises(TypeError):
            asyncio.run(updates.record([message(10), broken]))
        assert disk.rows() == []


def test_an_update_comes_back_from_the_store_as_it_came_from_telegram(disk: Disk) -> None:
    content = {"chat": {"id": -5, "title": "é 🙂 \ud83d"}, "entities": [{"offset": 0}], "more": None}
    update = Update(update_id=2**63 - 1, kind="edited_message", content=content)
    with disk.process() as updates:
        asyncio.run(updates.record([update]))
        (claimed,) = asyncio.run(updates.claim(1))
    assert claimed == Claimed(update=update, attempt=1, claim_id="claim-1")


def test_the_claim_of_a_process_that_counted_as_dead_cannot_be_settled_by_it(disk: Disk) -> None:
    with disk.process() as updates:
        asyncio.run(updates.record([message(10)]))
        (dead,) = asyncio.run(updates.claim(1))
        disk.now_ms += int(LEASE_S * 1000) - 1
        assert asyncio.run(updates.claim(1)) == []
        disk.now_ms += 1
        (alive,) = asyncio.run(updates.claim(1))
        said = [asyncio.run(updates.settle(dead, Completed())), asyncio.run(updates.renew(dead))]
        assert (said, asyncio.run(updates.settle(alive, Abandoned("no")))) == ([False, False], True)
    assert disk.rows() == [(10, "abandoned", 2, "no")]


def test_a_store_that_is_closed_takes_nothing_and_says_so(disk: Disk) -> None:
    with disk.process() as updates:
        pass
    with pytest.raises(StoreUnavailable):
        asyncio.run(updates.record([message(10)]))


# The model: the same is asked of the store in memory, and both must always say the same

ARRIVALS = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 3)), min_size=1, max_size=4)
SETTLEMENTS = st.sampled_from([Completed(), Failed(why="no", retry_in_s=5.0), Abandoned("never")])
STEPS = st.one_of(
    st.tuples(st.just("record"), ARRIVALS),
    st.tuples(st.just("claim"), st.integers(1, 3)),
    st.tuples(st.just("renew"), st.integers(0, 20)),
    st.tuples(st.just("settle"), st.tuples(st.integers(0, 20), SETTLEMENTS)),
    st.tuples(st.just("sweep"), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([1, 5, LEASE_S - 0.125, LEASE_S, KEPT_S])),
)


@settings(max_examples=60)
@given(steps=st.lists(STEPS, min_size=5, max_size=30))
def test_whatever_is_asked_the_store_says_what_the_model_says(steps: Sequence[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(Path(folder))
        model = UpdatesInMemory(lambda: disk.now_ms / 1000)
        with disk.process() as updates:
            asyncio.run(_compare(disk, updates, model, steps))


async def _compare(
    disk: Disk, updates: SqliteUpdates, model: UpdatesInMemory, steps: Sequence[tuple[str, object]]
) -> None:
    claims: list[Claimed] = []
    for step in steps:
        match step:
            case ("wait", seconds):
                disk.now_ms += int(seconds * 1000)
            case _:
                said, expected = [await _ask(store, step, claims) for store in (updates, model)]
                assert said == expected, step
                if step[0] == "claim":
                    claims += said
        assert disk.rows() == [(row.update.update_id, row.state, row.attempt, row.why) for row in model.rows]


async def _ask(store: UpdateStore, step: tuple[str, object], claims: Sequence[Claimed]) -> object:
    match step:
        case ("record", arrivals):
            return await store.record([message(number, chat_id) for number, chat_id in arrivals])
        case ("claim", limit):
            return list(await store.claim(limit))
        case ("renew", number) if claims:
            return await store.renew(claims[number % len(claims)])
        case ("settle", (number, settlement)) if claims:
            return await store.settle(claims[number % len(claims)], settlement)
        case ("sweep", _):
            return list(await store.sweep())
    return None
