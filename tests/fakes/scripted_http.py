"""An HTTP server on loopback that answers by a function, for what the stand-in GitHub would never say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Told:
    """One answer; `content` is sent as JSON unless it is bytes."""

    content: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class ScriptedHttp:
    """Answers every request by the function and keeps what was asked, in order. Use it as a context."""

    def __init__(self, answer: Callable[[Asked], Told]) -> None:
        self.asked: list[Asked] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def reply(self) -> None:
                url = urlsplit(self.path)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(
                    method=self.command,
                    path=url.path,
                    query=dict(parse_qsl(url.query)),
                    headers={name.lower(): value for name, value in self.headers.items()},
                )
                scripted.asked.append(asked)
                told = answer(asked)
                body = told.content if isinstance(told.content, bytes) else json.dumps(told.content).encode()
                self.send_response(told.status)
                for name, value in {"Content-Type": "application/json", **told.headers}.items():
                    self.send_header(name, value)
                if told.status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if told.status != 304:
                    self.wfile.write(body)

            do_GET = do_POST = reply

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join(timeout=10)
        self._server.server_close()
