"""Files that are written once, into the place of nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


class AlreadyThere(Exception):
    """Something stands where a file or folder was to be made."""


def refuse_what_is_there(paths: Iterable[Path]) -> None:
    """Raises AlreadyThere where one of them is taken, even by a link that leads nowhere."""
    for path in paths:
        if path.exists() or path.is_symlink():
            raise AlreadyThere(f"{path} is there already and stays as it is: move it away, or choose another folder")


def write_new(file: Path, text: str, mode: int = 0o666) -> None:
    """Write a file that nobody has made meanwhile; `mode` is what the umask leaves of it. Raises OSError."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write(text)
