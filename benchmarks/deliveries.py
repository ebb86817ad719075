"""Signed deliveries of the usual size, and those who send them: at a steady rate, or as fast as they are taken."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import Iterator
from typing import cast

SECRET = b"a secret of the benchmark"
BODY_BYTES = 15_000
ITEMS = 50
_ID_MARK, _NUMBER_MARK = 9_000_000_000_001, 8_000_001


def deliveries(text: str = "Also cover the empty list, please.", first_id: int = 1) -> Iterator[bytes]:
    """Whole requests without end, each a comment of its own on one of a few issues."""
    template = _payload(text).encode()
    for number in itertools.count(first_id):
        body = template.replace(b"%d" % _ID_MARK, b"%013d" % (1_000_000_000_000 + number))
        body = body.replace(b"%d" % _NUMBER_MARK, b"%07d" % (1_000_000 + number % ITEMS))
        yield request_of(body, number)


def starts() -> list[bytes]:
    """One start for each of the issues. All comments are of one second, where the ids give the order: a comment that is to
    stand behind its start needs a greater id than the number of issues."""
    return list(itertools.islice(deliveries("the-loop start"), ITEMS))


def request_of(body: bytes, number: int) -> bytes:
    """A POST as GitHub sends it."""
    signature = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    head = (
        "POST /webhook/github HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: GitHub-Hookshot/benchmark\r\nAccept: */*\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nX-GitHub-Event: issue_comment\r\n"
        f"X-GitHub-Delivery: 00000000-0000-0000-0000-{number:012}\r\nX-GitHub-Hook-ID: 1\r\n"
        f"X-GitHub-Hook-Installation-Target-ID: 100\r\nX-GitHub-Hook-Installation-Target-Type: repository\r\n"
        f"X-Hub-Signature-256: sha256={signature}\r\n\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """One connection that is kept; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answered: asyncio.Future[int] | None = None
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """An answer of ours is short and comes whole, or nearly so."""
        self._got += data
        head, end, body = self._got.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            self._got = b""
            assert self._answered is not None
            self._answered.set_result(int(head[9:12]))

    async def send(self, request: bytes) -> int:
        """The status of the answer."""
        assert self._transport is not None
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answered


async def connect(port: int, count: int) -> list[Connection]:
    """So many connections."""
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(Connection, "127.0.0.1", port) for _ in range(count)]
    return [connection for _, connection in made]


async def saturate(port: int, connections: int, duration_s: float, requests: Iterator[bytes]) -> float:
    """Send on all connections without pause; how many were answered with 202 a second."""
    end = time.perf_counter() + duration_s
    taken = 0

    async def one(connection: Connection) -> None:
        nonlocal taken
        while time.perf_counter() < end:
            assert await connection.send(next(requests)) == 202
            taken += 1

    begin = time.perf_counter()
    await asyncio.gather(*(one(connection) for connection in await connect(port, connections)))
    return taken / (time.perf_counter() - begin)


async def steadily(port: int, per_s: int, duration_s: float, requests: Iterator[bytes]) -> list[float]:
    """Send at a steady rate whatever the answers do; milliseconds from when each was due to its answer, sorted."""
    idle = asyncio.Queue[Connection]()
    for connection in await connect(port, 64):
        idle.put_nowait(connection)
    took_ms: list[float] = []

    async def one(request: bytes, due: float) -> None:
        connection = await idle.get()
        assert await connection.send(request) == 202
        took_ms.append((time.perf_counter() - due) * 1000)
        idle.put_nowait(connection)

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(per_s * duration_s)):
            due = begin + number / per_s
            request = next(requests)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.create_task(one(request, due))
    return sorted(took_ms)


def _payload(text: str) -> str:
    """What `issue_comment` says, with the addresses and accounts that GitHub repeats in it, filled up to the size."""
    thread = "https://github.com/octo/repo/issues/15"
    issue = {
        "url": thread,
        "id": 2_000_000_001,
        "number": _NUMBER_MARK,
        "title": "An empty list is not handled",
        "user": _account("octo", 1),
        "labels": [{"id": 7, "name": "the-loop", "color": "ededed", "default": False}],
        "assignee": _account("ada", 5),
        "assignees": [_account("ada", 5)],
        "state": "open",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
        "html_url": thread,
        "body": "",
        "reactions": _reactions(),
        **_addresses("issue", 10),
    }
    comment = {
        "id": _ID_MARK,
        "user": _account("ada", 5),
        "created_at": "2026-01-02T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
        "author_association": "OWNER",
        "body": text,
        "html_url": f"{thread}#issuecomment-{_ID_MARK}",
        "reactions": _reactions(),
        **_addresses("comment", 3),
    }
    repository = {
        "id": 100,
        "full_name": "octo/repo",
        "html_url": "https://github.com/octo/repo",
        "default_branch": "main",
        "owner": _account("octo", 1),
        **_addresses("repository", 46),
        **{f"has_{index}": index % 2 == 0 for index in range(30)},
    }
    payload = {
        "action": "created",
        "issue": issue,
        "comment": comment,
        "repository": repository,
        "organization": _account("octo", 1),
        "sender": _account("ada", 5),
    }
    issue["body"] = "Steps to reproduce. " * ((BODY_BYTES - len(json.dumps(payload))) // 20)
    return json.dumps(payload)


def _account(login: str, account_id: int) -> dict[str, object]:
    return {"login": login, "id": account_id, "type": "User", "site_admin": False, **_addresses(login, 14)}


def _reactions() -> dict[str, int]:
    return {f"reaction_{index}": 0 for index in range(10)}


def _addresses(name: str, count: int) -> dict[str, object]:
    return {
        f"{name}_{index}_url": f"https://api.github.com/repos/octo/repo/{name}s/{index}{{/other}}"
        for index in range(count)
    }
