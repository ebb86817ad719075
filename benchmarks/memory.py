"""Whether intake holds on to what it took: `python -m benchmarks.memory` prints the server's memory as deliveries come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import uvloop

from benchmarks.deliveries import Connection, connect, deliveries
from benchmarks.intake import serving

STEPS = (1_000, 10_000, 50_000, 100_000, 200_000)
CONNECTIONS = 32


def main() -> None:
    """Measure and print."""
    requests, sent = deliveries(), 0
    with serving("ours") as server:
        print(f"{sent:8d} deliveries  {server.memory_mb():6.1f} MB", flush=True)
        for step in STEPS:
            uvloop.run(send(server.port, requests, step - sent))
            sent = step
            print(f"{sent:8d} deliveries  {server.memory_mb():6.1f} MB", flush=True)


async def send(port: int, requests: Iterator[bytes], count: int) -> None:
    """Send so many, over all connections."""
    left = iter(range(count))

    async def one(connection: Connection) -> None:
        for _ in left:
            assert await connection.send(next(requests)) == 202

    await asyncio.gather(*(one(connection) for connection in await connect(port, CONNECTIONS)))


if __name__ == "__main__":
    main()
