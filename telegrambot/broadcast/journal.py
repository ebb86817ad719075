"""What became of each recipient, line by line: an intent before each send, on disk before it, and a result behind it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from telegrambot.broadcast.files import FILE_MODE, sync_directory
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal

REASON_CHARACTERS_MAX = 64

_SENDING, _RELEASED = "sending", "released"


class Outcome(StrEnum):
    """What became of a recipient for good: none of them is written to again by this broadcast."""

    DELIVERED = "delivered"
    UNREACHABLE = "unreachable"
    """Should not be written to by any other broadcast either."""
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    """It may have got the message: nobody knows, and a second one would be worse than none."""


@dataclass(frozen=True, slots=True)
class Sending:
    """The recipient may be getting the message from now on."""

    index: int


@dataclass(frozen=True, slots=True)
class Released:
    """The recipient did not get the message, and is to be written to yet."""

    index: int
    moved_to: int | None = None
    """Under which number; None: the one that it has."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The recipient is done with; `reason` is one word for people."""

    index: int
    outcome: Outcome
    reason: str | None = None


Entry = Sending | Released | Settled


@dataclass(slots=True)
class Progress:
    """How far a broadcast is; recipients are told by their places in the audience."""

    settled: dict[int, Outcome] = field(default_factory=dict)
    sending: set[int] = field(default_factory=set)
    moved_to: dict[int, int] = field(default_factory=dict)
    """The chats that got another number."""

    def apply(self, entry: Entry) -> None:
        """Go by an entry: a recipient's last one counts."""
        self.sending.discard(entry.index)
        match entry:
            case Sending(index):
                self.settled.pop(index, None)
                self.sending.add(index)
            case Released(index, moved_to):
                self.settled.pop(index, None)
                if moved_to is not None:
                    self.moved_to[index] = moved_to
            case Settled(index, outcome):
                self.settled[index] = outcome
            case _:
                assert_never(entry)


class Journal:
    """A journal that is open for more. A line that could not be written whole is the last one: close it then."""

    __slots__ = ("_descriptor", "progress")

    def __init__(self, descriptor: int, progress: Progress) -> None:
        self._descriptor = descriptor
        self.progress = progress
        """As all lines together say, the appended ones included."""

    def append(self, entry: Entry) -> None:
        """Write an entry. An intent is on disk on return; a result may be lost with the machine, and leaves the intent."""
        line = _line(entry)
        if os.write(self._descriptor, line) != len(line):
            raise OSError("the journal of a broadcast could not be written: is the disk full?")
        if isinstance(entry, Sending):
            os.fsync(self._descriptor)
        self.progress.apply(entry)


def create(path: Path) -> None:
    """Have a journal without entries. Raises BroadcastRefused where one has some."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        has_entries = os.fstat(descriptor).st_size > 0
    finally:
        os.close(descriptor)
    if has_entries:
        raise BroadcastRefused(Refusal.JOURNAL_LOST, f"{path.name} tells of recipients, and their list is gone")
    sync_directory(path.parent)


@contextmanager
def opened(path: Path, total: int) -> Iterator[Journal]:
    """Open the journal of so many recipients, without what a crash left of its last line. Raises BroadcastRefused."""
    content = _content(path)
    progress = _replayed(content, total, path.name)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # Left there, it would make one unreadable line with the next intent, and the send behind that be forgotten.
        os.ftruncate(descriptor, len(_whole_lines(content)))
        yield Journal(descriptor, progress)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, total: int) -> Progress:
    """How far the broadcast to so many recipients is; changes nothing. Raises BroadcastRefused."""
    return _replayed(_content(path), total, path.name)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        why = f"{path.name} is gone, and with it who got the message: put it back, or give the broadcast another name"
        raise BroadcastRefused(Refusal.JOURNAL_LOST, why) from None


def _whole_lines(content: bytes) -> bytes:
    """Without the last line's beginning, whose end was never written: nothing was sent upon it."""
    return content[: content.rfind(b"\n") + 1]


def _replayed(content: bytes, total: int, name: str) -> Progress:
    progress = Progress()
    for number, line in enumerate(_whole_lines(content).split(b"\n")[:-1], start=1):
        entry = _entry(line)
        if entry is None or not 0 <= entry.index < total:
            why = f"line {number} of {name} says nothing about any recipient: it may have been a delivery"
            raise BroadcastRefused(Refusal.JOURNAL_UNREADABLE, why)
        progress.apply(entry)
    return progress


def _line(entry: Entry) -> bytes:
    match entry:
        case Sending(index):
            said: dict[str, object] = {"i": index, "s": _SENDING}
        case Released(index, moved_to):
            said = {"i": index, "s": _RELEASED} | ({} if moved_to is None else {"to": moved_to})
        case Settled(index, outcome, reason):
            said = {"i": index, "o": outcome} | ({} if reason is None else {"r": reason[:REASON_CHARACTERS_MAX]})
        case _:
            assert_never(entry)
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def _entry(line: bytes) -> Entry | None:
    """What a line says; None where that is nothing."""
    try:
        said = json.loads(line)
        index = said["i"]
        if type(index) is not int:
            return None
        if "o" in said:
            return Settled(index, Outcome(said["o"]))
        if said["s"] == _SENDING:
            return Sending(index)
        moved_to = said.get("to")
        is_released = said["s"] == _RELEASED and (moved_to is None or type(moved_to) is int)
        return Released(index, moved_to) if is_released else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
