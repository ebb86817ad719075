"""The service's side of a session host: start one, hand turns over, cancel, end, and read what it wrote."""

from __future__ import annotations

import fcntl
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from sessions.host.journal import LINE_BYTES_MAX
from sessions.host.protocol import (
    MESSAGE_BYTES_MAX,
    CancelState,
    HandState,
    HostExit,
    MalformedMessage,
    Message,
    Verb,
    decode,
    encode,
)
from sessions.host.records import Recorded, read_line
from sessions.host.spec import HostSpec, write_spec

CALL_TIMEOUT_S = 10.0

_START_TIMEOUT_S = 30.0
_RETRY_S = 0.02
_RECEIVE_BYTES = 64 * 1024
_HOST_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR")


class LinkFailed(Exception):
    """The host could not be reached, did not answer in time, or refused what was asked."""


class HostGone(LinkFailed):
    """No host listens on that socket, or it ended meanwhile: read its journal."""


class HostRefusedCall(LinkFailed):
    """The host understood and will not: a malformed message, or a journal that cannot be written."""


class HostRefused(LinkFailed):
    """A host would not start; `exit_code` says why."""

    def __init__(self, exit_code: int, text: str) -> None:
        super().__init__(text or f"the session host ended with code {exit_code}")
        self.exit_code = exit_code

    @property
    def clone_is_held(self) -> bool:
        """True where another host holds the clone."""
        return self.exit_code == HostExit.CLONE_HELD


def start_host(folder: Path, spec: HostSpec, python: str = sys.executable) -> int:
    """Write the spec into the folder (private, made by the caller) and start a host on it; returns its pid.

    The host is nobody's child and outlives the caller. When this returns it owns the clone's lock; its socket
    and its agent follow. Raises `HostRefused`, `LinkFailed`. Not safe to repeat while it runs: a second host of
    the same clone is refused.
    """
    write_spec(folder, spec)
    try:
        done = subprocess.run(
            [python, "-P", "-m", "sessions.host", str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_START_TIMEOUT_S,
            cwd=folder,
            env=_host_environment(),
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise LinkFailed(f"the session host cannot be started: {fault}") from fault
    if done.returncode != HostExit.DONE:
        raise HostRefused(done.returncode, done.stderr.decode("utf-8", "replace").strip()[-500:])
    return int(done.stdout)


def clone_is_held(lock_path: Path) -> bool:
    """True while a living host owns the clone of this lock."""
    if not lock_path.exists():
        return False
    descriptor = os.open(lock_path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


class SessionLink:
    """Calls to one host. Threads may share it; calls follow each other."""

    def __init__(self, socket_path: Path) -> None:
        self._socket_path = socket_path
        self._lines: _Lines | None = None
        self._calling = threading.Lock()
        self._closed = threading.Event()

    @classmethod
    def connect(cls, socket_path: Path, timeout_s: float, lock_path: Path | None = None) -> SessionLink:
        """Reach a host that may only just have started; raises `HostGone` when the time is over.

        With the clone's lock it does not wait for a host that has ended meanwhile.
        """
        link = cls(socket_path)
        link._lines = _connected(socket_path, timeout_s, link._closed, lock_path)
        return link

    def hand(self, turn_id: str, text: str, timeout_s: float) -> HandState:
        """Hand a turn over; its text must end with the line `turn: <turn_id>`. Safe to repeat.

        Waits while the agent is still starting. Raises `LinkFailed` when the time is over or the host cannot
        write; whether the host has the turn is then told by its journal, or by asking again.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise LinkFailed("the agent was still starting when the time was over")
            answer = self._call({"verb": Verb.HAND, "turn_id": turn_id, "text": text}, left_s)
            state = HandState(str(answer["state"]))
            if state is not HandState.STARTING:
                return state
            if self._closed.wait(min(_RETRY_S, left_s)):
                raise HostGone("the link was closed")

    def cancel(self, turn_id: str, timeout_s: float = CALL_TIMEOUT_S) -> CancelState:
        """Ask for the end of a turn; its `Ended` record says when it came. Safe to repeat."""
        return CancelState(str(self._call({"verb": Verb.CANCEL, "turn_id": turn_id}, timeout_s)["state"]))

    def end(self, reason: str, timeout_s: float = CALL_TIMEOUT_S) -> None:
        """Ask the host to end its agent and itself; its `Exited` record says when it is done. Safe to repeat."""
        self._call({"verb": Verb.END, "reason": reason}, timeout_s)

    def ping(self, timeout_s: float = CALL_TIMEOUT_S) -> int:
        """The host's pid."""
        return int(str(self._call({"verb": Verb.PING}, timeout_s)["pid"]))

    def records(self, from_offset: int, timeout_s: float = CALL_TIMEOUT_S) -> RecordStream:
        """Attach: all records from the offset (0, or some record's `end_offset`) on, on a connection of its own."""
        lines = _connected(self._socket_path, timeout_s, self._closed)
        try:
            lines.send(encode({"verb": Verb.ATTACH, "from_offset": from_offset}), timeout_s)
            _read_answer(lines, timeout_s)
        except LinkFailed:
            lines.close()
            raise
        return RecordStream(lines, from_offset)

    def close(self) -> None:
        """Let go of the connection; the host stays. Waiting calls end, later ones raise `HostGone`. Safe to repeat."""
        self._closed.set()
        with self._calling:
            self._drop()

    def _call(self, message: Message, timeout_s: float) -> Message:
        request = encode(message)
        if len(request) > MESSAGE_BYTES_MAX:
            raise LinkFailed(f"a message of {len(request)} bytes is longer than {MESSAGE_BYTES_MAX}")
        with self._calling:
            if self._closed.is_set():
                raise HostGone("the link was closed")
            if self._lines is None:
                self._lines = _connected(self._socket_path, timeout_s, self._closed)
            try:
                self._lines.send(request, timeout_s)
                return _read_answer(self._lines, timeout_s)
            except HostRefusedCall:
                raise
            except LinkFailed:
                self._drop()
                raise

    def _drop(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._lines = None


class RecordStream:
    """A host's records as they are written; one reader, closable from another thread."""

    def __init__(self, lines: _Lines, from_offset: int) -> None:
        self._lines = lines
        self.offset = from_offset
        """Where the next record begins."""

    def next(self, timeout_s: float) -> Recorded | None:
        """The next record; None when none came in time. Raises `HostGone` after the host's last one."""
        deadline_s = time.monotonic() + timeout_s
        while (line := self._lines.next(max(0.0, deadline_s - time.monotonic()))) is not None:
            self.offset += len(line)
            recorded = read_line(line, self.offset)
            if recorded is not None:
                return recorded
        return None

    def close(self) -> None:
        """Detach; a waiting `next` raises `HostGone`. Safe to repeat."""
        self._lines.close()

    def __enter__(self) -> RecordStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Lines:
    """Bounded lines over a connected socket, with a deadline for each."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._scanned = 0

    def send(self, line: bytes, timeout_s: float) -> None:
        try:
            self._connection.settimeout(timeout_s)
            self._connection.sendall(line)
        except TimeoutError as fault:
            raise LinkFailed("the session host does not read") from fault
        except OSError as fault:
            raise HostGone(str(fault)) from fault

    def next(self, timeout_s: float) -> bytes | None:
        """The next line with its newline; None when it is not complete in time."""
        deadline_s = time.monotonic() + timeout_s
        while (end := self._buffer.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._buffer)
            if self._scanned > LINE_BYTES_MAX:
                raise LinkFailed("the session host sent a line beyond the bound")
            if not self._receive(max(0.0, deadline_s - time.monotonic())):
                return None
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        self._scanned = 0
        return line

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _receive(self, timeout_s: float) -> bool:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                if not selector.select(timeout_s):
                    return False
            received = self._connection.recv(_RECEIVE_BYTES)
        except (OSError, ValueError) as fault:
            raise HostGone(str(fault)) from fault
        if not received:
            raise HostGone("the session host closed the connection")
        self._buffer += received
        return True


def _connected(socket_path: Path, timeout_s: float, closed: threading.Event, lock_path: Path | None = None) -> _Lines:
    deadline_s = time.monotonic() + timeout_s
    while True:
        is_over = lock_path is not None and not clone_is_held(lock_path)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(str(socket_path))
        except OSError as fault:
            connection.close()
            if is_over or time.monotonic() >= deadline_s:
                raise HostGone(f"no session host listens: {fault}") from fault
        else:
            return _Lines(connection)
        if closed.wait(_RETRY_S):
            raise HostGone("the link was closed")


def _read_answer(lines: _Lines, timeout_s: float) -> Message:
    line = lines.next(timeout_s)
    if line is None:
        raise LinkFailed("the session host did not answer in time")
    try:
        answer = decode(line)
    except MalformedMessage as fault:
        raise LinkFailed(f"the session host answered with something else: {fault}") from fault
    if "error" in answer:
        raise HostRefusedCall(str(answer["error"]))
    return answer


def _host_environment() -> Mapping[str, str]:
    """What the host itself needs; the agent's environment stands in the spec."""
    kept = {name: os.environ[name] for name in _HOST_VARIABLES if name in os.environ}
    return kept | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
