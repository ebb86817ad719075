"""The stand-in's side of HTTP/1.1: reading requests, and writing answers whole, in part, slowly or not at all."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from typing import Any

from tests.fakes.bot_api.answers import Answer

CHUNK_BYTES = 64 * 1024
RESET_AT_CLOSE = struct.pack("ii", 1, 0)
Serve = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One connection, request by request. What is written is told by `on_last_byte` just before it is whole."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener
    rfile: BufferedReader

    def reply(self) -> None:
        try:
            self.server.serve(self)
        except OSError:
            self.close_connection = True

    do_GET = do_POST = reply

    def read_body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(iter(self._read_chunk, b""))
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def is_gone(self) -> bool:
        """Whether the client has hung up."""
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def write(self, answer: Answer, on_last_byte: Callable[[], None]) -> None:
        self._write(head(answer) + answer.body[:-1])
        on_last_byte()
        self._write(answer.body[-1:])

    def write_half(self, answer: Answer) -> None:
        """Promise the whole body, send half of it, hang up."""
        self._write(head(answer) + answer.body[: len(answer.body) // 2])
        self.hang_up()

    def trickle(self, answer: Answer, interval_s: float, on_last_byte: Callable[[], None]) -> None:
        self._write(head(answer))
        for place in range(len(answer.body)):
            time.sleep(interval_s)
            if place == len(answer.body) - 1:
                on_last_byte()
            self._write(answer.body[place : place + 1])

    def write_in_chunks(self, answer: Answer, on_last_byte: Callable[[], None]) -> None:
        """Without a length: it shows only at the end."""
        self._write(head(answer, "Transfer-Encoding: chunked"))
        for start in range(0, len(answer.body), CHUNK_BYTES):
            piece = answer.body[start : start + CHUNK_BYTES]
            self._write(b"%x\r\n%b\r\n" % (len(piece), piece))
        on_last_byte()
        self._write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self.close_connection = True

    def reset(self) -> None:
        """End the connection as a dead peer's system does, without a goodbye."""
        if self.headers.get("Content-Length", "0") != "0":
            # A client between head and body would see a closed connection instead of a reset one.
            self.rfile.peek(1)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self.server.reset_at_close(self.connection)
        self.hang_up()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)

    def _read_chunk(self) -> bytes:
        length = int(self.rfile.readline().partition(b";")[0], 16)
        content = self.rfile.read(length)
        self.rfile.readline()
        return content


class Listener(ThreadingHTTPServer):
    """Listens on loopback, a thread for each connection. Port 0 is any free one."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, port: int, serve: Serve) -> None:
        self.serve = serve
        self._open: set[socket.socket] = set()
        self._to_reset: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), Exchange)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), name="stand-in Bot API")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End all connections and every thread. Whoever is held elsewhere has to be let go before."""
        self.shutdown()
        self._thread.join()
        with self._guard:
            for connection in self._open:
                _shut(connection)
        self.server_close()

    def reset_at_close(self, connection: socket.socket) -> None:
        with self._guard:
            self._to_reset.add(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
            is_reset = request in self._to_reset
            self._to_reset.discard(request)
        if is_reset:
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that ends a connection in the middle of a request is no fault of the stand-in; all else is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def head(answer: Answer, length: str | None = None) -> bytes:
    """Status line and headers; by default with the length of the body."""
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.content_type}",
        length or f"Content-Length: {len(answer.body)}",
    ]
    if answer.retry_after_s is not None:
        lines.append(f"Retry-After: {answer.retry_after_s}")
    return "\r\n".join([*lines, "", ""]).encode()


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client was faster
        connection.shutdown(socket.SHUT_RDWR)
