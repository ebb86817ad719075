"""What a notice costs whoever posts it: `python -m benchmarks.operator_channel` posts many to a chat that hangs.

The channel's loop runs in a thread of its own, as in the service, and is sending the first notice all the while: the
queue fills, and then every post drops the oldest. Once as the service has it, with like notices held, once without.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
import time

from telegrambot.clock import SystemClock
from telegrambot.destinations import Destination
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_dedupe import Deduping
from telegrambot.operator_notices import OperatorChat

POSTS = 1_000
LIMIT_S = 10.0
TEXT = "The agent failed, somebody has to look: https://github.com/the-owner/the-repository/issues/{number}"


class HangingChat:
    """Takes a message and never answers."""

    def __init__(self) -> None:
        self.hangs = threading.Event()

    async def send(self, text: str, destination: Destination) -> None:
        """Hang."""
        self.hangs.set()
        await asyncio.Event().wait()


def main() -> None:
    """Measure and print."""
    for deduping, how in ((Deduping(), "like notices held"), (None, "each of its own")):
        took_ms = sorted(posts_ms(deduping))
        print(
            f"{POSTS} posts to a chat that hangs, {how}: median {statistics.median(took_ms):.4f} ms,"
            f" p99 {took_ms[len(took_ms) * 99 // 100]:.4f} ms, worst {took_ms[-1]:.3f} ms"
        )


def posts_ms(deduping: Deduping | None) -> list[float]:
    """How long each post took, while the first of them is being sent."""
    chat, dropped = HangingChat(), []
    channel = OperatorChannel(OperatorChat(chat_id=-5, deduping=deduping), chat, SystemClock(), dropped.append)
    sending = threading.Thread(target=lambda: asyncio.run(channel.run()))
    sending.start()
    channel.post("the first")
    assert chat.hangs.wait(LIMIT_S), "the channel sends"
    took_ms = [post_ms(channel, number) for number in range(POSTS)]
    channel.close()
    sending.join(LIMIT_S)
    return took_ms


def post_ms(channel: OperatorChannel, number: int) -> float:
    """How long one post takes."""
    begin_ns = time.perf_counter_ns()
    channel.post(TEXT.format(number=number))
    return (time.perf_counter_ns() - begin_ns) / 1e6


if __name__ == "__main__":
    main()
