"""What taking updates costs: `python -m benchmarks.telegram_intake` prints milliseconds for a full batch, without a network."""

import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from service.clock import SystemClock
from service.telegram.store import SqliteUpdates
from statedb.committer import Committer
from statedb.database import Database
from telegrambot.handling import recorded
from telegrambot.intake import Intake
from telegrambot.updates import Update

BATCH = 100
ROUNDS = 50
CHATS = 40


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock().wall_ms
        committer: Committer[object, object] = Committer(Database(Path(folder) / "state.db", clock))
        thread = threading.Thread(target=committer.run)
        thread.start()
        try:
            updates = SqliteUpdates(committer=committer, bot_id=123456, clock=clock)
            asyncio.run(measure(updates))
        finally:
            committer.stop()
            thread.join()


async def measure(updates: SqliteUpdates) -> None:
    """A batch that is new, the same batch again, one update alone, and all of it handled."""
    fresh = [await cost_ms(updates, batch(number * BATCH, BATCH)) for number in range(ROUNDS)]
    tell(f"{BATCH} new updates recorded", fresh)
    tell(f"the same {BATCH} updates again", [await cost_ms(updates, batch(n * BATCH, BATCH)) for n in range(ROUNDS)])
    tell("one new update recorded", [await cost_ms(updates, batch(ROUNDS * BATCH + n, 1)) for n in range(ROUNDS)])
    total = ROUNDS * BATCH + ROUNDS
    print(
        f"{total} updates of {CHATS} chats handled  {await timed_ms(lambda: handle(updates, total)) / total:8.2f} ms each"
    )


async def cost_ms(updates: SqliteUpdates, arrived: Sequence[Update]) -> float:
    """From a batch in hand until all of it may be confirmed."""
    finished: list[int] = []
    took_ms = await timed_ms(lambda: recorded(updates.record)(arrived, finished.append))
    assert len(finished) == len(arrived)
    return took_ms


async def handle(updates: SqliteUpdates, total: int) -> None:
    """Let an intake hand all of them over."""
    seen = 0

    async def one(_: Update) -> None:
        nonlocal seen
        seen += 1
        if seen == total:
            intake.stop()

    intake = Intake(updates, one)
    await intake.run()


def batch(first: int, count: int) -> list[Update]:
    """Updates as people make them: messages of a few hundred bytes."""
    return [message(first + number) for number in range(count)]


def message(number: int) -> Update:
    """A message in one of a few chats."""
    chat_id = number % CHATS + 1
    person = {"id": chat_id, "is_bot": False, "first_name": "Ada", "last_name": "Lovelace", "username": "ada"}
    content = {
        "message_id": number,
        "date": 1_800_000_000,
        "chat": {"id": chat_id, "type": "private", "first_name": "Ada", "username": "ada"},
        "from": {**person, "language_code": "en"},
        "text": "What does the agent say about the failing build? " * 4,
    }
    return Update(update_id=number, kind="message", content=content)


async def timed_ms(work: Callable[[], Awaitable[None]]) -> float:
    """How long it took."""
    begin = time.perf_counter()
    await work()
    return (time.perf_counter() - begin) * 1000


def tell(what: str, costs_ms: Sequence[float]) -> None:
    """The middle one and the worst."""
    print(f"{what:<32}  {statistics.median(costs_ms):8.2f} ms, at most {max(costs_ms):.2f} ms")


if __name__ == "__main__":
    main()
