"""Files of the bot in a folder on disk, handed out by relative paths, or by absolute ones as a local server does."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from tests.fakes.bot_api.answers import FILE_TOO_BIG, FILE_UNKNOWN, Refused

FILE_BYTES_MAX = 20 * 2**20
"""The largest file that a server hands out which is not local."""


class Files:
    """The bot's folder `root/token`, and the ids of what lies in it."""

    def __init__(self, root: Path | None, token: str, *, is_local: bool) -> None:
        self.is_local = is_local
        self._root = root
        self._token = token
        self._paths: dict[str, str] = {}

    @property
    def folder(self) -> Path:
        """Fails when the stand-in was started without a folder for files."""
        assert self._root is not None, "the stand-in has no folder for files"
        return self._root / self._token

    def put(self, path: str, content: bytes = b"", size: int | None = None) -> str:
        """Write a file, padded with zeros up to a size where one is given; its id."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if size is not None:
            os.truncate(place, size)
        return self.point(path)

    def point(self, file_path: str) -> str:
        """The id of a file whose path is told as it is given here, wherever it leads and whether or not it is there."""
        file_id = "file-" + hashlib.sha256(file_path.encode()).hexdigest()[:24]
        self._paths[file_id] = file_path
        return file_id

    def knows(self, file_id: str) -> bool:
        return file_id in self._paths

    def describe(self, file_id: str) -> dict[str, Any]:
        """What getFile says; raises Refused for an unknown id and for what is too big to be handed out."""
        if file_id not in self._paths:
            raise Refused(FILE_UNKNOWN)
        path = self._paths[file_id]
        place = self.folder / path
        size = place.stat().st_size if place.is_file() else 0
        if size > FILE_BYTES_MAX and not self.is_local:
            raise Refused(FILE_TOO_BIG)
        told = str(place) if self.is_local and ".." not in path else path
        return {"file_id": file_id, "file_unique_id": file_id[-12:], "file_size": size, "file_path": told}

    def read(self, path: str) -> bytes | None:
        """For a download; None where a local server hands out nothing over HTTP or there is no such file."""
        if self.is_local or self._root is None or path not in self._paths.values():
            return None
        place = self.folder / path
        is_ours = place.is_file() and place.resolve().is_relative_to(self.folder.resolve())
        return place.read_bytes() if is_ours else None
