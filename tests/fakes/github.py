"""What tests put around the stand-in GitHub: a PyGithub client for a token, and an address that takes webhooks."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import github

from service.demo.github.standin import StandIn

LIMIT_S = 20.0
"""How long a test waits for something that must happen, in real seconds; it fails when this is over."""


def client(stand_in: StandIn, token: str, timeout_s: int = 10) -> github.Github:
    """An unmodified PyGithub that waits for nothing and repeats nothing."""
    return github.Github(
        auth=github.Auth.Token(token),
        base_url=stand_in.base_url,
        timeout=timeout_s,
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One webhook as it came: header names in small letters, the raw bytes."""

    headers: dict[str, str]
    body: bytes


class Inbox:
    """Takes webhooks on loopback and keeps them; answers `status`, which may be changed. Use it as a context."""

    def __init__(self, status: int = 202) -> None:
        self.status = status
        self._changed = threading.Condition()
        self._received: list[Received] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.take(Received(headers={k.lower(): v for k, v in self.headers.items()}, body=body))
                self.send_response(inbox.status)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/webhook/github"

    def take(self, received: Received) -> None:
        with self._changed:
            self._received.append(received)
            self._changed.notify_all()

    def wait_for(self, enough: Callable[[list[Received]], bool]) -> list[Received]:
        """What was received, once it is enough; fails when it is not in time."""
        with self._changed:
            assert self._changed.wait_for(lambda: enough(self._received), LIMIT_S), "the webhooks did not come"
            return list(self._received)

    def wait_for_count(self, count: int) -> list[Received]:
        return self.wait_for(lambda received: len(received) >= count)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
