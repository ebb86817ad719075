"""A repository's issue comments as a source: the request, what its answer holds, and how far the cursor may move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from domain.model import Event
from domain.ports import NoAnswer, Repository
from githubapi import failures
from githubapi.addresses import since_text
from githubapi.conditional import Fetched, Unchanged, conditional_list
from githubapi.door import GitHub
from githubapi.events import listed_comment
from githubapi.failures import CallFailed
from githubapi.fields import Fields
from statedb.cursors import Cursor

ISSUE_COMMENTS = "issue-comments"

OVERLAP_MS = 30_000
"""How long a comment may stay out of GitHub's listings after it was written: so far back is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One comment of the listing. `event` is None for an empty body, which is no event."""

    updated_at_ms: int
    event: Event | None

    @property
    def version(self) -> tuple[str, str] | None:
        """What tells this text from every other version of it that can be told apart; None where there is no event."""
        return (self.event.key or "", self.event.body_sha256) if self.event else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The answer to one request that was not unchanged."""

    address: str
    token_id: str
    fetched: Fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How a listing was handed over: everything that changed at `times_ms` is on disk, with nothing missing between.

    `everything`: no object is left to be handed over. `anything_new`: some were not handed over by an earlier look.
    """

    times_ms: Sequence[int]
    everything: bool
    anything_new: bool


def open_cursor(github: GitHub, repository: Repository, now_ms: int) -> Cursor | NoAnswer:
    """A cursor that starts now, by GitHub's clock; `now_ms` is ours, for a host that does not tell its own."""
    try:
        answer = github.read(_repository_address(repository))
    except CallFailed as problem:
        return failures.no_answer(problem.failure)
    began_ms = (answer.server_time_ms or now_ms) // 1000 * 1000
    return Cursor(
        host=repository.host,
        repository_id=repository.id,
        source=ISSUE_COMMENTS,
        address="",
        etag="",
        token_id="",
        since_ms=began_ms,
        watch_began_at_ms=began_ms,
    )


def read_listing(github: GitHub, repository: Repository, cursor: Cursor) -> Listing | Unchanged | NoAnswer:
    """What was written or changed since the cursor, all pages, the earliest change first. Safe to repeat."""
    path = f"{_repository_address(repository)}/issues/comments"
    parameters = _parameters(cursor.since_ms)
    address = f"{path}?{urlencode(parameters)}"
    token_id = github.token_id
    is_same_question = (cursor.address, cursor.token_id) == (address, token_id)
    etag = cursor.etag if is_same_question and cursor.etag else None
    answer = conditional_list(github, path, parameters, etag)
    return Listing(address=address, token_id=token_id, fetched=answer) if isinstance(answer, Fetched) else answer


def read_entry(values: dict[str, object], repository: Repository, watch_began_at_ms: int) -> Entry:
    """One object of the listing, its commands unread. Raises Malformed."""
    fields = Fields(values)
    updated_at_ms = fields.time_ms("updated_at")
    event = listed_comment(values, repository)
    if event is not None and fields.time_ms("created_at") < watch_began_at_ms:
        event = replace(event, before_watch=True)
    return Entry(updated_at_ms=updated_at_ms, event=event)


def moved(cursor: Cursor, listing: Listing, taken: Taken, now_ms: int) -> Cursor:
    """The cursor after a listing was handed over.

    It never moves back, and while GitHub may still hold back what was written lately it stays that far behind. It stands
    where nothing new was listed: the request stays as it was, and an answer that was whole may be asked for by its ETag.
    A listing that has none (GitHub's ETag is of the first page alone) is moved along to become a shorter one.
    """
    fetched = listing.fetched
    is_whole = fetched.complete and taken.everything
    etag = fetched.etag or "" if is_whole else ""
    since_ms = cursor.since_ms if etag and not taken.anything_new else _since_ms(cursor, fetched, taken, now_ms)
    return replace(
        cursor,
        since_ms=since_ms,
        address=listing.address,
        token_id=listing.token_id,
        etag=etag if since_ms == cursor.since_ms else "",
        complete_at_ms=now_ms if is_whole else cursor.complete_at_ms,
    )


def _since_ms(cursor: Cursor, fetched: Fetched, taken: Taken, now_ms: int) -> int:
    visible_until_ms = (fetched.server_time_ms or now_ms) - OVERLAP_MS
    newest_ms = max(taken.times_ms, default=cursor.since_ms)
    return max(cursor.since_ms, min(newest_ms, visible_until_ms) // 1000 * 1000)


def _repository_address(repository: Repository) -> str:
    """By its id: a name may have gone to another repository, and a redirect loses the query."""
    return f"/repositories/{repository.id}"


def _parameters(since_ms: int) -> Mapping[str, str]:
    return {"sort": "updated", "direction": "asc", "since": since_text(since_ms)}
