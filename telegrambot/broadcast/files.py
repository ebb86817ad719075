"""The files of one broadcast, and how they are written so that a power cut leaves all of one or nothing."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from telegrambot.broadcast.refusals import BroadcastRefused, Refusal

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
FILE_MODE = 0o600
"""Chats are personal data."""
DIRECTORY_MODE = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastFiles:
    """Where everything about the broadcast of one name lies. Raises BroadcastRefused for what cannot be a place."""

    directory: Path
    name: str

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            why = "a broadcast's name is 1 to 128 letters, digits, '.', '_' and '-', a letter or digit first"
            raise BroadcastRefused(Refusal.NAME, why)
        if not self.directory.is_absolute():
            raise BroadcastRefused(Refusal.DIRECTORY, "the directory of broadcasts must be an absolute path")

    @property
    def recipients(self) -> Path:
        """The chats, in the order in which they are written to; once it is there, it is never replaced."""
        return self.directory / f"{self.name}.recipients.json"

    @property
    def content(self) -> Path:
        """The digest of the message."""
        return self.directory / f"{self.name}.content.sha256"

    @property
    def journal(self) -> Path:
        """What became of each recipient."""
        return self.directory / f"{self.name}.journal.ndjson"

    @property
    def lock(self) -> Path:
        """Held by whoever is sending."""
        return self.directory / f"{self.name}.lock"


def make_directory(directory: Path) -> None:
    """Have a directory that outlives a power cut; what has to be made is closed to others, what is there stays as it is."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        sync_directory(folder.parent)


def write_once(path: Path, content: bytes) -> None:
    """Write a file as a whole. Raises FileExistsError where there is one already."""
    temporary = _written_beside(path, content)
    os.link(temporary, path)  # a rename would replace what is there
    temporary.unlink()
    sync_directory(path.parent)


def write_over(path: Path, content: bytes) -> None:
    """Write a file as a whole, in the place of what is there."""
    _written_beside(path, content).replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make what was created, renamed or removed in it outlive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _written_beside(path: Path, content: bytes) -> Path:
    # No broadcast's name begins with a dot. What an earlier process left here is written over: the lock is ours.
    temporary = path.with_name(f".{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary
