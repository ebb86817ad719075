"""How things are addressed over REST."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.model import Thread


def repository_address(thread: Thread) -> str:
    """The repository by its id: a name may have gone to another repository, and a redirect loses the query."""
    return f"/repositories/{thread.repository_id}"


def since_text(since_ms: int) -> str:
    """A time as GitHub's `since` takes it: UTC, whole seconds, never later than the time itself."""
    return datetime.fromtimestamp(since_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
