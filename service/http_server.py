"""Serves the pushed road: uvicorn on an event loop of its own, in a thread of the service."""

from __future__ import annotations

import socket
import threading

import uvicorn


class ServerFailed(Exception):
    """The endpoint cannot be served; the text says why and what to do."""


class HttpServer:
    """One listening socket and the server behind it. `run` is the body of its thread."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._stopping = threading.Event()

    def bind(self, config: uvicorn.Config) -> None:
        """Take the address for what the configuration serves. Raises ServerFailed where it is taken or not ours."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._host, self._port))
            listener.listen(1024)
        except OSError as error:
            listener.close()
            raise ServerFailed(
                f"cannot listen on {self._host}:{self._port} ({error.strerror}); set webhook.port to another one"
            ) from error
        self._socket = listener
        self._server = uvicorn.Server(config)

    @property
    def port(self) -> int:
        """The port that was taken."""
        return int(self._socket.getsockname()[1]) if self._socket else self._port

    def run(self) -> None:
        """Serve until stopped."""
        if self._server is not None and self._socket is not None and not self._stopping.is_set():
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Answer what is under way, then end. Safe to repeat."""
        self._stopping.set()
        if self._server is not None:
            self._server.should_exit = True
