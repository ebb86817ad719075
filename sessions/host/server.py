"""The host's private socket: answers calls, and streams the journal to whoever attaches."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sessions.host.host import EndCause, Host
from sessions.host.journal import JournalFailed
from sessions.host.protocol import (
    MESSAGE_BYTES_MAX,
    MalformedMessage,
    Message,
    Verb,
    decode,
    encode,
    text_field,
    turn_id_field,
    turn_id_of,
)

CONNECTIONS_MAX = 32

_STREAM_CHUNK_BYTES = 64 * 1024
_FLUSH_S = 2.0
_log = logging.getLogger(__name__)


class Server:
    """Serves one host on one socket."""

    def __init__(self, host: Host, journal_path: Path) -> None:
        self._host = host
        self._journal_path = journal_path
        self._closing = asyncio.Event()
        self._clients: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self, socket_path: Path) -> AsyncIterator[None]:
        """Listen while the block runs; afterwards attached clients get what is left of the journal, bounded in time."""
        listener = _bind(socket_path)
        server = await asyncio.start_unix_server(self._serve, sock=listener, limit=MESSAGE_BYTES_MAX)
        try:
            yield
        finally:
            server.close()
            self._closing.set()
            if self._clients:
                await asyncio.wait(self._clients, timeout=_FLUSH_S)
            for client in self._clients:
                client.cancel()
            _unlink(socket_path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or not _is_ours(writer) or len(self._clients) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        self._clients.add(task)
        self._host.connected(+1)
        try:
            await self._converse(reader, writer)
        except (OSError, asyncio.CancelledError):
            _log.debug("a client left")
        finally:
            self._host.connected(-1)
            self._clients.discard(task)
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (line := await self._line(reader)) is not None:
            try:
                message = decode(line)
                if message.get("verb") == Verb.ATTACH:
                    await self._stream(reader, writer, self._offset(message))
                    return
                answer = await self._answer(message)
            except MalformedMessage as fault:
                answer = {"error": str(fault)}
            except JournalFailed as fault:
                answer = {"error": str(fault)}
            writer.write(encode(answer))
            await writer.drain()

    async def _line(self, reader: asyncio.StreamReader) -> bytes | None:
        """The next line; None at the client's end, at our own end, and for a line beyond the bound."""
        reading = asyncio.ensure_future(reader.readline())
        closing = asyncio.ensure_future(self._closing.wait())
        await asyncio.wait({reading, closing}, return_when=asyncio.FIRST_COMPLETED)
        closing.cancel()
        if not reading.done():
            reading.cancel()
            return None
        with suppress(ValueError):
            return reading.result() or None
        return None

    async def _answer(self, message: Message) -> Message:
        match message.get("verb"):
            case Verb.HAND:
                turn_id, text = turn_id_field(message), text_field(message, "text")
                if turn_id_of(text) != turn_id:
                    raise MalformedMessage("the text's last line does not carry the turn's id")
                return {"state": await self._host.hand(turn_id, text)}
            case Verb.CANCEL:
                return {"state": await self._host.cancel(turn_id_field(message))}
            case Verb.END:
                self._host.end(EndCause.ASKED, text_field(message, "reason"))
                return {"state": "ending"}
            case Verb.PING:
                return {"state": "alive", "pid": os.getpid()}
            case _:
                raise MalformedMessage("no such verb")

    def _offset(self, message: Message) -> int:
        offset = message.get("from_offset")
        if not isinstance(offset, int) or not 0 <= offset <= self._host.journal_end_offset:
            raise MalformedMessage("from_offset lies outside the journal")
        return offset

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, offset: int) -> None:
        """Answer, and then send the journal's own bytes from the offset on, as it grows.

        A client that does not read holds up this coroutine alone: nothing is kept for it but its offset.
        """
        left = asyncio.ensure_future(reader.read(1))
        closing = asyncio.ensure_future(self._closing.wait())
        writer.write(encode({"state": "attached", "from_offset": offset}))
        try:
            with self._journal_path.open("rb", buffering=0) as journal:
                while not left.done():
                    grown = self._host.grown
                    offset = await self._catch_up(journal.fileno(), writer, offset)
                    if self._closing.is_set() and offset == self._host.journal_end_offset:
                        return
                    growing = asyncio.ensure_future(grown.wait())
                    await asyncio.wait({left, growing, closing}, return_when=asyncio.FIRST_COMPLETED)
                    growing.cancel()
        finally:
            left.cancel()
            closing.cancel()

    async def _catch_up(self, descriptor: int, writer: asyncio.StreamWriter, offset: int) -> int:
        while (missing := self._host.journal_end_offset - offset) > 0:
            chunk = os.pread(descriptor, min(missing, _STREAM_CHUNK_BYTES), offset)
            writer.write(chunk)
            await writer.drain()
            offset += len(chunk)
        return offset


def _bind(path: Path) -> socket.socket:
    """Bind the socket, its owner's alone; a dead host's socket file is replaced, for the clone's lock is ours."""
    _unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(umask)
    return listener


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    """True where the peer runs as our user; where the system cannot say, the private folder is the guard."""
    peer: socket.socket | None = writer.get_extra_info("socket")
    if peer is None or not hasattr(socket, "SO_PEERCRED"):
        return peer is not None
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user_id, _ = struct.unpack("3i", credentials)
    return bool(user_id == os.geteuid())
