"""Files that are written once, into the place of nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class AlreadyThere(Exception):
    """Something stands where a file or folder was to be made."""


def refuse_what_is_there(paths: Iterable[Path]) -> None:
    """Raises AlreadyThere where one of them is taken, even by a link that leads nowhere."""
    for path in paths:
        if path.exists() or path.is_symlink():
            raise AlreadyThere(f"{path} is there already and stays as it is: move it away, or choose another folder")


def write_new(file: Path, text: str, mode: int = 0o666) -> None:
    """Write a file that nobody has made meanwhile; `mode` is what the umask leaves of it.

    Raises OSError, and then leaves no part of it.
    """
    with all_or_nothing() as made:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        made.append(file)
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            written.write(text)


def make_folders(folder: Path) -> list[Path]:
    """Have a folder; those that had to be made for it, the outermost first. Raises OSError, and then leaves none of them."""
    with all_or_nothing() as made:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir()
            made.append(missing)
        folder.mkdir(exist_ok=True)  # raises where a file is in its place
    return made


@contextmanager
def all_or_nothing() -> Iterator[list[Path]]:
    """Removes, where the block fails, the files and folders that it put on the list; a folder that others use stays."""
    made: list[Path] = []
    try:
        yield made
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise
