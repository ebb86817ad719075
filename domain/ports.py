"""What a room needs of a sibling, as protocols and the values that pass through them; `service/wiring.py` joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.model import Account, Fact, ItemKind, Snapshot, Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository as GitHub names it now; `id` stays when the name changes."""

    host: str
    id: int
    name: str
    """owner/repo"""
    default_branch: str
    clone_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """An issue or pull request as it stands now."""

    snapshot: Snapshot
    url: str
    body: str
    author: Account | None
    head_sha: str | None = None
    closed_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """GitHub answered that it does not exist, or that we may not see it."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """GitHub gave no usable answer; that is never a no. `retry_after_s` is what it asked us to wait, if it did."""

    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One text on a thread, as it stands now."""

    fact: Fact
    id: int
    author: Account | None
    body: str
    url: str
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a thread holds since some time; `complete` only when every page was read."""

    said: Sequence[Said]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """It stands on the thread, by GitHub's own answer."""

    id: int
    url: str
    server_time_ms: int | None


@dataclass(frozen=True, slots=True)
class NotSent:
    """Certainly not sent (lookup, connect, 401, 429, a rate limit); it may be tried again, after the wait GitHub named."""

    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """It can never be sent like this (404, 410, locked, 422)."""

    reason: str


@dataclass(frozen=True, slots=True)
class InDoubt:
    """It may have left: read timeout, reset after the request, every 5xx. Nothing is repeated before the thread is asked."""

    reason: str
    server_time_ms: int | None = None


SendResult = Posted | NotSent | Refused | InDoubt


class ThreadPort(Protocol):
    """Speaking on a thread. No call is repeated by the port itself."""

    def post(self, thread: Thread, repository: str, body: str) -> SendResult:
        """Post a comment. Not safe to repeat."""

    def react(self, thread: Thread, repository: str, fact: Fact, object_id: int, content: str) -> SendResult:
        """Put a reaction on a comment or an inline comment, or on the item itself (`Fact.SNAPSHOT`). Safe to repeat."""

    def own_comments(self, thread: Thread, repository: str, since_ms: int) -> Listing | NoAnswer:
        """The comments of our own account on the thread that were written or changed since then, every page."""

    def said(self, thread: Thread, repository: str, kind: ItemKind) -> Listing | Missing | NoAnswer:
        """All that stands on the thread: comments, and for a pull request reviews and inline comments, oldest first."""


class ItemPort(Protocol):
    """Asking about items and repositories. Every call has a deadline and is safe to repeat."""

    def me(self) -> Account | NoAnswer:
        """The account whose token we use."""

    def item(self, thread: Thread, repository: str) -> ItemFacts | Missing | NoAnswer:
        """An issue or pull request as it stands now."""

    def repository(self, name: str) -> Repository | Missing | NoAnswer:
        """A repository by owner/repo."""

    def comment(self, thread: Thread, repository: str, fact: Fact, object_id: int) -> Said | Missing | NoAnswer:
        """One comment as it stands now; Missing is a deletion."""


class PullPort(Protocol):
    """Opening pull requests for a session's branch."""

    def open_pull(
        self, repository: Repository, head: str, base: str, title: str, body: str
    ) -> int | NotSent | Refused | InDoubt:
        """Open one and return its number. Not safe to repeat: look with `find_pull` first."""

    def find_pull(self, repository: Repository, head: str) -> int | NoAnswer | None:
        """The number of the open pull request from that branch of the repository, if there is one."""
