"""What going on with a broadcast costs: `python -m benchmarks.broadcast` resumes one to many that has a few left.

Time runs from the call to the first send, to a chat that takes everything: lock, audience, journal, replay. The other
number is what one recipient costs from then on, with two lines and the disk's answer to the first of them.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from telegrambot.broadcast.delivery import Pace
from telegrambot.broadcast.message import Message
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.clock import SystemClock

RECIPIENTS = 20_000
LEFT = 200
ROUNDS = 7
UNPACED = Pace(sends_per_s=1e9)


class TakingChat:
    """Takes every message, and remembers when the first one came."""

    def __init__(self) -> None:
        self.first_at: float | None = None

    async def send(self, chat_id: int | str) -> None:
        """Take it."""
        if self.first_at is None:
            self.first_at = time.perf_counter()


def main() -> None:
    """Measure and print."""
    resumed_s, each_ms = zip(*(resume() for _ in range(ROUNDS)), strict=True)
    print(
        f"a journal of {RECIPIENTS} recipients with {LEFT} left, until the first send:"
        f" median {statistics.median(resumed_s):.3f} s, worst {max(resumed_s):.3f} s ({ROUNDS} rounds)"
    )
    print(f"each of the {LEFT}, unpaced: median {statistics.median(each_ms):.2f} ms, worst {max(each_ms):.2f} ms")


def resume() -> tuple[float, float]:
    """Seconds until the first send, and milliseconds for each recipient behind it."""
    with tempfile.TemporaryDirectory() as folder:
        order = Order(name="news", directory=Path(folder), message=Message("sendMessage"), pace=UNPACED)
        lay_down(order)
        chat = TakingChat()
        begin = time.perf_counter()
        report = asyncio.run(broadcast(order, (), chat.send, SystemClock(), Oversight()))
        end = time.perf_counter()
    assert chat.first_at is not None, "somebody was left"
    assert report.delivered == RECIPIENTS, "everybody has it"
    return chat.first_at - begin, (end - chat.first_at) / LEFT * 1e3


def lay_down(order: Order) -> None:
    """The files of a run that was stopped with a few left."""
    files = order.files
    files.recipients.write_text(json.dumps(list(range(1_000_000_000, 1_000_000_000 + RECIPIENTS))))
    files.content.write_text(order.message.digest)
    done = range(RECIPIENTS - LEFT)
    lines = (f'{{"i":{index},"s":"sending"}}\n{{"i":{index},"o":"delivered"}}\n' for index in done)
    files.journal.write_text("".join(lines))


if __name__ == "__main__":
    main()
