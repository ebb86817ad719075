"""The operator's socket: changing commands of the command line go through it into the running service."""

from __future__ import annotations

import logging
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from service.operating import Operating
from service.orders import (
    LINE_BYTES_MAX,
    Answer,
    HowAreYou,
    Live,
    NotAnOrder,
    NotDone,
    Order,
    Request,
    read_answer,
    read_request,
    write_answer,
    write_request,
)
from sessions.seat.protocol import check_socket_path

CONNECTIONS_MAX = 8
ACCEPT_S = 0.1
"""Between two looks whether it shall end."""
REQUEST_S = 10.0
"""How long a request may take to come, and an answer to be read."""
ANSWER_S = 60.0
"""How long a client waits: the service may have to ask GitHub first."""
LEAVE_S = 5.0
"""How long the service waits at its end for the orders that are under way."""

log = logging.getLogger(__name__)


class NotReachable(Exception):
    """No service answers on the socket; what was asked for may be repeated with the same id."""


class SocketRefused(Exception):
    """The socket cannot be made or trusted; the text says why and what to do."""


class ControlSocket:
    """Listens for the operator. `bind` takes the address, `run` is the body of a thread, `stop` ends it.

    `spawn` starts a named thread. Only this user's processes are answered.
    """

    def __init__(self, path: Path, operating: Operating, spawn: Callable[[str, Callable[[], None]], None]) -> None:
        self._path = path
        self._operating = operating
        self._spawn = spawn
        self._live: Callable[[], Live] | None = None
        self._listener: socket.socket | None = None
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._served = 0

    def bind(self, live: Callable[[], Live]) -> None:
        """Take the address, in place of what a dead service left there. Raises SocketRefused.

        `live` tells how the service is; it must not block.
        """
        _check_folder(self._path)
        self._live = live
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path.unlink(missing_ok=True)
            listener.bind(str(self._path))
            self._path.chmod(0o600)
            listener.listen(CONNECTIONS_MAX)
        except OSError as fault:
            listener.close()
            raise SocketRefused(f"cannot listen on {self._path} ({fault.strerror})") from fault
        listener.settimeout(ACCEPT_S)
        self._listener = listener

    def run(self) -> None:
        """Serve until stopped, then wait a few seconds for what is under way. After `bind`."""
        if self._listener is None:
            raise RuntimeError("bind comes first")
        with self._listener as listener:
            while not self._stopping.is_set():
                self._accept(listener)
        self._path.unlink(missing_ok=True)
        with self._changed:
            self._changed.wait_for(lambda: self._served == 0, LEAVE_S)

    def stop(self) -> None:
        """Take nothing more. Never blocks. Safe to repeat."""
        self._stopping.set()

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        except OSError as fault:
            if not self._stopping.wait(ACCEPT_S):  # out of descriptors: those who are served give theirs back
                log.warning("the operator's socket could not accept: %s", fault)
            return
        with self._changed:
            is_full = self._served >= CONNECTIONS_MAX
            self._served += not is_full
        if is_full:
            connection.close()
            return
        self._spawn("control", lambda: self._serve(connection))

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                if _peer_is_us(connection):
                    line = _read_line(connection, REQUEST_S)
                    connection.settimeout(REQUEST_S)
                    connection.sendall(write_answer(self._answer(line)))
        finally:
            with self._changed:
                self._served -= 1
                self._changed.notify_all()

    def _answer(self, line: bytes) -> Answer:
        try:
            request = read_request(line)
        except NotAnOrder as fault:
            return NotDone(str(fault))
        match request:
            case HowAreYou():
                return self._live() if self._live else NotDone("the service is starting")
            case Order():
                return self._operating.carry_out(request)


def ask(path: Path, request: Request, timeout_s: float = ANSWER_S) -> Answer:
    """Ask the running service. An order may be asked again with the same id. Raises NotReachable, SocketRefused."""
    try:
        _check_folder(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            if not _peer_is_us(connection):
                raise SocketRefused(f"{path} belongs to another user: look who made it")
            connection.sendall(write_request(request))
            return read_answer(_read_line(connection, timeout_s))
    except (OSError, NotAnOrder) as fault:
        raise NotReachable(f"the service does not answer on {path} ({fault})") from fault


def _check_folder(path: Path) -> None:
    """Raises SocketRefused unless the socket's folder is ours alone; OSError where there is none."""
    try:
        check_socket_path(path)
    except ValueError as fault:
        raise SocketRefused(f"{fault}: set XDG_RUNTIME_DIR to a short private folder") from fault
    found = path.parent.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise SocketRefused(f"{path.parent} is open to others: it must be yours, with mode 0700")


def _peer_is_us(connection: socket.socket) -> bool:
    """Whether the other side runs as our user; where the system cannot say, the private folder is the guard."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user_id, _ = struct.unpack("3i", credentials)
    return bool(user_id == os.geteuid())


def _read_line(connection: socket.socket, timeout_s: float) -> bytes:
    """The first line, whatever came of it in time; what is longer than a line may be is cut, and so is no JSON."""
    until_s, read = time.monotonic() + timeout_s, bytearray()
    while b"\n" not in read and len(read) <= LINE_BYTES_MAX:
        connection.settimeout(max(0.001, until_s - time.monotonic()))
        chunk = connection.recv(LINE_BYTES_MAX)
        if not chunk:
            break
        read += chunk
    return bytes(read.partition(b"\n")[0])
