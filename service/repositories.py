"""Where a work item's repository is fetched from: a local path by setting, else the address that GitHub names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from domain.model import Thread
from domain.ports import ItemPort, Missing, NoAnswer, Repository
from sessions.git import Remote


class Remotes:
    """Asks GitHub once a repository, and remembers. Safe to use from any thread."""

    def __init__(self, items: ItemPort, paths: Mapping[str, Path], token: Callable[[], str]) -> None:
        """`paths`: owner/repo in lower case → the local repository to use instead."""
        self._items = items
        self._paths = paths
        self._token = token
        self._known: dict[int, Repository] = {}
        self._lock = threading.Lock()

    def remote(self, thread: Thread, repository: str) -> Remote | Missing | NoAnswer:
        """The address with the credentials for it."""
        path = self._paths.get(repository.lower())
        if path is not None:
            return Remote(address=str(path))
        found = self.repository(thread, repository)
        if not isinstance(found, Repository):
            return found
        local = urlsplit(found.clone_url)
        if local.scheme == "file":
            return Remote(address=unquote(local.path))
        try:
            return Remote(address=found.clone_url, token=self._token() or None)
        except ValueError as refused:
            return NoAnswer(f"the repository's address cannot be used: {refused}")

    def repository(self, thread: Thread, repository: str) -> Repository | Missing | NoAnswer:
        """The repository as GitHub names it."""
        with self._lock:
            known = self._known.get(thread.repository_id)
        if known is not None:
            return known
        found = self._items.repository(repository)
        if isinstance(found, Repository):
            with self._lock:
                self._known[thread.repository_id] = found
        return found
