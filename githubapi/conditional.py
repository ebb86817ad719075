"""Reads listings whole: all pages, unchanged ones for nothing, and honest about what may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from requests.utils import parse_header_links

from domain.ports import InDoubt, NoAnswer
from githubapi import failures
from githubapi.door import PER_PAGE, Answer, GitHub
from githubapi.failures import CallFailed

PAGES_MAX = 100


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The listing is what it was when its ETag was given; asking cost nothing of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a listing holds.

    `complete`: every page was read, and the listing did not move meanwhile. Otherwise only the first `gapless` objects
    are known to have nothing missing between them. `etag` may be used to ask again; None where a 304 would not prove
    that nothing is new (GitHub's ETag is of the first page alone).
    """

    objects: list[dict[str, object]]
    complete: bool
    gapless: int
    etag: str | None
    server_time_ms: int | None


def conditional_list(
    github: GitHub, address: str, parameters: Mapping[str, str], etag: str | None = None
) -> Unchanged | Fetched | NoAnswer:
    """Read a listing, if it changed. `etag` is what `Fetched` gave for the same address, parameters and token.

    NoAnswer where not even the first page could be read. Safe to repeat.
    """
    try:
        return read_listing(github, address, parameters, etag)
    except CallFailed as problem:
        return failures.no_answer(problem.failure)


def full_list(github: GitHub, address: str, parameters: Mapping[str, str] | None = None) -> Fetched:
    """Read a listing, whatever was known before. Raises `CallFailed` where not even the first page could be read."""
    fetched = read_listing(github, address, parameters or {}, None)
    if isinstance(fetched, Unchanged):
        raise CallFailed(InDoubt("unreadable-answer"))
    return fetched


def read_listing(github: GitHub, address: str, parameters: Mapping[str, str], etag: str | None) -> Unchanged | Fetched:
    """As `conditional_list`; raises `CallFailed` where not even the first page could be read."""
    wanted = {**parameters, "per_page": str(PER_PAGE)}
    first = github.read(address, wanted, etag)
    if first.status == 304:
        return Unchanged()
    pages = [_Page.of(address, wanted, first)]
    complete = _read_further_pages(github, pages) and not _moved(github, pages)
    objects = [entry for page in pages for entry in page.objects]
    is_short = len(pages) == 1 and len(objects) < PER_PAGE
    return Fetched(
        objects=objects,
        complete=complete,
        gapless=len(objects) if complete else len(pages[0].objects),
        etag=first.headers.get("etag") if complete and is_short else None,
        server_time_ms=first.server_time_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    address: str
    parameters: Mapping[str, str]
    objects: list[dict[str, object]]
    etag: str | None
    next_address: str | None

    @classmethod
    def of(cls, address: str, parameters: Mapping[str, str], answer: Answer) -> _Page:
        if not isinstance(answer.content, list) or not all(isinstance(entry, dict) for entry in answer.content):
            raise CallFailed(InDoubt("unreadable-answer", answer.server_time_ms))
        return cls(
            address=address,
            parameters=parameters,
            objects=answer.content,
            etag=answer.headers.get("etag"),
            next_address=_next(answer.headers.get("link", "")),
        )


def _read_further_pages(github: GitHub, pages: list[_Page]) -> bool:
    """Append the pages after the first; whether the last was reached."""
    while (address := pages[-1].next_address) is not None:
        if len(pages) >= PAGES_MAX or not github.is_ours(address):
            return False
        try:
            pages.append(_Page.of(address, {}, github.read(address)))
        except CallFailed:
            return False
    return True


def _moved(github: GitHub, pages: list[_Page]) -> bool:
    """Whether a page changed while those after it were read, so that something may have slipped between two of them.

    Pages are counted, not anchored: an object that leaves one moves all behind it up by a place.
    """
    for page in pages[:-1]:
        try:
            if page.etag and github.read(page.address, page.parameters, page.etag).status != 304:
                return True
        except CallFailed:
            return True
    return False


def _next(link: str) -> str | None:
    targets = {entry.get("rel"): entry.get("url") for entry in parse_header_links(link)} if link else {}
    return targets.get("next")
