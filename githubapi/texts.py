"""What GitHub's comments, inline comments and reviews say."""

from __future__ import annotations

import re

from domain.model import ID_MAX, Anchor, Fact
from domain.ports import Said
from githubapi.fields import Fields
from githubapi.objects import named_account

_THREAD_ADDRESS = re.compile(r".*/(?:issues|pulls)/([0-9]{1,16})", re.ASCII)


def comment(fields: Fields) -> Said:
    """A comment on the thread of an issue or a pull request."""
    return _commented(fields, Fact.COMMENT)


def inline(fields: Fields) -> Said:
    """A comment at a line of a pull request's change."""
    return _commented(fields, Fact.INLINE)


def review(fields: Fields) -> Said | None:
    """A review that was submitted; None for one that is still being written. REST does not say when it was edited."""
    submitted_at_ms = fields.optional_time_ms("submitted_at")
    if submitted_at_ms is None:
        return None
    return Said(
        fact=Fact.REVIEW,
        id=fields.id("id"),
        author=named_account(fields, "user"),
        body=fields.optional_text("body") or "",
        url=fields.text("html_url"),
        created_at_ms=submitted_at_ms,
        updated_at_ms=fields.optional_time_ms("updated_at") or submitted_at_ms,
    )


def review_state(fields: Fields) -> str:
    """`approved`, `changes_requested`, `commented` or `dismissed`; webhooks write it small and REST in capitals."""
    return fields.text("state").lower()


def anchor(fields: Fields) -> Anchor:
    """Where an inline comment stands; a comment on a whole file, or on a line that is gone, has no line."""
    line = fields.optional_id("line")
    return Anchor(
        path=fields.text("path"),
        line=line if line is not None else fields.optional_id("original_line"),
        review_id=fields.optional_id("pull_request_review_id"),
    )


def thread_number(fields: Fields, name: str) -> int:
    """The number of the thread that a listed comment names by the address in this field."""
    match = _THREAD_ADDRESS.fullmatch(fields.text(name))
    number = int(match[1]) if match else 0
    if not 1 <= number <= ID_MAX:
        raise fields.refuse(name, "names no thread")
    return number


def _commented(fields: Fields, fact: Fact) -> Said:
    return Said(
        fact=fact,
        id=fields.id("id"),
        author=named_account(fields, "user"),
        body=fields.optional_text("body") or "",
        url=fields.text("html_url"),
        created_at_ms=fields.time_ms("created_at"),
        updated_at_ms=fields.time_ms("updated_at"),
    )
