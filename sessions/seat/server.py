"""The seat's private socket: one request and one answer a connection, each bounded in size and time."""

from __future__ import annotations

import logging
import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Condition, Event
from typing import Final

from sessions.seat.protocol import (
    ANSWER_BYTES_MAX,
    REQUEST_BYTES_MAX,
    TOO_LARGE,
    Answer,
    check_socket_path,
    write_answer,
)

CONNECTIONS_MAX: Final = 16
REQUEST_S: Final = 10.0
"""How long a request may take to come, and an answer to be read."""
_ACCEPT_S: Final = 0.5
_LEAVE_S: Final = 5.0
_CHUNK_BYTES: Final = 64 * 1024

_log = logging.getLogger(__name__)


class FolderNotPrivate(Exception):
    """The socket's folder is open to others."""


class SeatServer:
    """Listens for agents. `answer` carries out one request and never raises; `spawn` starts a named thread."""

    def __init__(
        self,
        path: Path,
        answer: Callable[[bytes], Answer],
        spawn: Callable[[str, Callable[[], None]], None],
        request_s: float = REQUEST_S,
    ) -> None:
        check_socket_path(path)
        self._path = path
        self._answer = answer
        self._spawn = spawn
        self._request_s = request_s
        self._listener: socket.socket | None = None
        self._changed = Condition()
        self._served = 0

    def listen(self) -> None:
        """Take the address; from now on connections wait for `run`. Replaces what a dead service left there.

        Raises FolderNotPrivate, and OSError where the address cannot be taken.
        """
        if self._path.parent.stat().st_mode & 0o077:
            raise FolderNotPrivate(f"others may enter {self._path.parent}: its mode must be 0700")
        self._path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        umask = os.umask(0o177)
        try:
            listener.bind(str(self._path))
        finally:
            os.umask(umask)
        listener.listen(CONNECTIONS_MAX)
        listener.settimeout(_ACCEPT_S)
        self._listener = listener

    def run(self, stop: Event) -> None:
        """Serve until stopped, then wait a few seconds for those who are being served. After `listen`."""
        if self._listener is None:
            raise RuntimeError("listen comes first")
        with self._listener as listener:
            while not stop.is_set():
                self._accept(listener)
        self._path.unlink(missing_ok=True)
        with self._changed:
            self._changed.wait_for(lambda: self._served == 0, _LEAVE_S)

    def serve_one(self, connection: socket.socket) -> None:
        """Read one request, answer it, close. Never raises."""
        with connection, suppress(OSError):
            if not _is_ours(connection):
                return
            line = _read_line(connection, time.monotonic() + self._request_s)
            answer: Answer = {"error": TOO_LARGE} if line is None else self._answer(line)
            self._send(connection, answer)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        except OSError as fault:  # out of descriptors: those who are served give theirs back
            _log.warning("the seat could not accept: %s", fault)
            return
        with self._changed:
            is_full = self._served >= CONNECTIONS_MAX
            self._served += not is_full
        if is_full:
            connection.close()
            return
        self._spawn("seat", lambda: self._serve(connection))

    def _serve(self, connection: socket.socket) -> None:
        try:
            self.serve_one(connection)
        finally:
            with self._changed:
                self._served -= 1
                self._changed.notify_all()

    def _send(self, connection: socket.socket, answer: Answer) -> None:
        line = write_answer(answer)
        if len(line) > ANSWER_BYTES_MAX:
            line = write_answer({"error": "the answer is too large to be shown"})
        connection.settimeout(self._request_s)
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        _drain(connection, time.monotonic() + self._request_s)


def _read_line(connection: socket.socket, until_s: float) -> bytes | None:
    """The first line; empty where none came in time, None where it is longer than a request may be."""
    read = bytearray()
    while len(read) <= REQUEST_BYTES_MAX:
        connection.settimeout(max(0.001, until_s - time.monotonic()))
        try:
            chunk = connection.recv(_CHUNK_BYTES)
        except TimeoutError:
            return b""
        read += chunk
        if not chunk or b"\n" in chunk:
            return None if len(read) > REQUEST_BYTES_MAX else bytes(read.partition(b"\n")[0])
    return None


def _drain(connection: socket.socket, until_s: float) -> None:
    """Read what is still being sent: closing before would take the answer away from the other side."""
    while (left_s := until_s - time.monotonic()) > 0:
        connection.settimeout(left_s)
        if not connection.recv(_CHUNK_BYTES):
            return


def _is_ours(connection: socket.socket) -> bool:
    """True where the other side runs as our user; where the system cannot say, the private folder is the guard."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user_id, _ = struct.unpack("3i", credentials)
    return bool(user_id == os.geteuid())
