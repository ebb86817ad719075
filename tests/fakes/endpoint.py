"""The pushed road served by a real uvicorn on a free port, and those who post to it: politely, or by raw bytes."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import itertools
import json
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import uvicorn

from tests.fakes.dispatching import LIMIT_S, Dispatching
from webhook.app import Readiness, create_app
from webhook.intake import WebhookSettings
from webhook.wire import server_config

SECRET = b"a secret of the tests"
READY = Readiness(store_writable=True, workers_up=True, admission_open=True)
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer as a client sees it; header names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Endpoint:
    """A served application over a `Dispatching`. What its readiness and admission say may be changed."""

    def __init__(self, dispatching: Dispatching, settings: WebhookSettings | None = None) -> None:
        self.dispatching = dispatching
        self.settings = settings or WebhookSettings(secrets=(SECRET,))
        self.readiness = READY
        self.is_admitting = True
        self.parsers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="parser")
        app = create_app(
            self.settings,
            dispatching.dispatcher,
            readiness=lambda: self.readiness,
            admission=lambda: self.is_admitting,
            clock=dispatching.clock,
            emit=dispatching.events.emit,
            parsers=self.parsers,
        )
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address: tuple[str, int] = self._socket.getsockname()
        self._server = uvicorn.Server(server_config(app, dispatching.events.emit))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="uvicorn")

    def post(self, body: bytes, headers: Mapping[str, str], path: str | None = None) -> Answer:
        return self.request("POST", path or self.settings.path, body, headers)

    def deliver(self, payload: object, event: str = "issue_comment", delivery_id: str | None = None) -> Answer:
        """Post a payload as GitHub does."""
        body = json.dumps(payload).encode()
        return self.post(body, delivery_headers(body, event, delivery_id))

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(*self.address, timeout=LIMIT_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            return _answer(connection.getresponse())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """A connection for bytes of the test's own."""
        return socket.create_connection(self.address, timeout=LIMIT_S)

    def exchange(self, *pieces: bytes) -> Answer:
        """Send bytes as they are and read the one answer to them."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return read_answer(connection)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(LIMIT_S)
        self._socket.close()
        self.parsers.shutdown()
        assert not self._thread.is_alive(), "the server did not end"


def read_answer(connection: socket.socket) -> Answer:
    """The next answer on a connection."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return _answer(response)


def signature(body: bytes, secret: bytes = SECRET) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def delivery_headers(
    body: bytes,
    event: str = "issue_comment",
    delivery_id: str | None = None,
    content_type: str = "application/json",
    secret: bytes = SECRET,
) -> dict[str, str]:
    """GitHub's headers for a body, with a delivery id that no other has unless one is given."""
    return {
        "Content-Type": content_type,
        "X-GitHub-Delivery": delivery_id or f"00000000-0000-0000-0000-{next(_numbers):012}",
        "X-GitHub-Event": event,
        "X-Hub-Signature-256": signature(body, secret),
    }


def raw_request(headers: Mapping[str, str], path: str = "/webhook/github") -> bytes:
    """The head of a POST, up to the empty line."""
    lines = [f"POST {path} HTTP/1.1", "Host: loopback", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("utf-8")


def account(login: str, account_id: int) -> dict[str, object]:
    return {"login": login, "id": account_id, "type": "User"}


ADA = account("ada", 5)
EVE = account("eve", 66)


def repository(host: str = "github.com") -> dict[str, object]:
    return {"id": 100, "full_name": "o/r", "html_url": f"https://{host}/o/r", "default_branch": "main"}


def comment_payload(
    body: str | None = "hello", comment_id: int | None = None, user: object = ADA, host: str = "github.com"
) -> dict[str, Any]:
    """What `issue_comment` says when somebody comments on an issue; ids differ unless given."""
    number = comment_id or 1_000_000 + next(_numbers)
    return {
        "action": "created",
        "issue": {
            "id": 1015,
            "number": 15,
            "title": "An empty list",
            "state": "open",
            "labels": [{"name": "the-loop"}],
            "html_url": f"https://{host}/o/r/issues/15",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-02T00:00:00Z",
        },
        "comment": {
            "id": number,
            "body": body,
            "user": user,
            "html_url": f"https://{host}/o/r/issues/15#issuecomment-{number}",
            "created_at": "2026-01-02T00:00:00Z",
            "updated_at": "2026-01-02T00:00:00Z",
        },
        "repository": repository(host),
        "sender": user,
    }


def together(count: int, act: Callable[[int], Answer]) -> list[Answer]:
    """Do something on so many threads at the same moment, and collect what came of it."""
    barrier = threading.Barrier(count)

    def one(index: int) -> Answer:
        barrier.wait(LIMIT_S)
        return act(index)

    with ThreadPoolExecutor(max_workers=count) as threads:
        return list(threads.map(one, range(count)))


def _answer(response: http.client.HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(status=response.status, headers=headers, body=response.read())
