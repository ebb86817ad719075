"""The stand-in's HTTP server: a thread for each connection on loopback, which can also reset one or fall silent."""

import logging
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, assert_never
from urllib.parse import parse_qsl, urlsplit

from service.demo.github.desk import Outcome, Reply, Reset, Silence
from service.demo.github.wire import Request

logger = logging.getLogger(__name__)

IDLE_CONNECTION_S = 75.0
BODY_BYTES_MAX = 2 * 1024 * 1024


class Server(ThreadingHTTPServer):
    """Serves until it is shut down; `cut_connections` then ends the connections that clients keep open."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, serve: Callable[[Request], Outcome], stopping: threading.Event) -> None:
        self.serve_request = serve
        self.stopping = stopping
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Connection)

    def opened(self, connection: socket.socket) -> None:
        with self._connections_lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._connections_lock:
            self._connections.discard(connection)

    def cut_connections(self) -> None:
        """End every open connection, whoever waits on it."""
        with self._connections_lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                logger.debug("A connection was closed already")

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is ordinary; whatever else ends a connection is logged."""
        problem = sys.exception()
        level = logging.DEBUG if isinstance(problem, OSError) else logging.ERROR
        logger.log(level, "A connection ended early", exc_info=problem)


class Connection(BaseHTTPRequestHandler):
    """Reads requests from one connection and answers them, one after the other."""

    protocol_version = "HTTP/1.1"
    server_version = "github.com"
    disable_nagle_algorithm = True
    timeout = IDLE_CONNECTION_S
    wbufsize = -1
    server: Server
    responses_without_body: ClassVar[frozenset[int]] = frozenset({204, 304})

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.closed(self.connection)
        super().finish()

    def answer(self) -> None:
        """Read one request and do with the connection what its outcome says."""
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_BYTES_MAX:
            self.send_error(413)
            return
        url = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=url.path,
            query=dict(parse_qsl(url.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length) if length else b"",
        )
        outcome = self.server.serve_request(request)
        match outcome:
            case Reply():
                self.send(outcome)
            case Reset():
                self.reset()
            case Silence(seconds):
                self.server.stopping.wait(seconds)
                self.close_connection = True
            case _:
                assert_never(outcome)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = answer

    def send(self, reply: Reply) -> None:
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status not in self.responses_without_body:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if reply.status not in self.responses_without_body and self.command != "HEAD":
            self.wfile.write(reply.body)
        self.wfile.flush()

    def reset(self) -> None:
        """Close at once with a RST: lingering for no time discards what is unsent."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.server.closed(self.connection)
        os.close(self.connection.detach())

    def log_message(self, format: str, *arguments: object) -> None:
        logger.debug("%s", format % arguments)
