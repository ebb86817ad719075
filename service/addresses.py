"""How people name what they mean on the command line: work items, comments, keys and ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from domain import keys
from domain.model import ID_MAX, EventKey, Fact, Label

GITHUB = "github.com"

_NAME = r"(?P<repository>[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)"
_SHORT = re.compile(rf"(?:github:)?(?:(?P<host>[A-Za-z0-9.:-]+)/)?{_NAME}#(?P<number>[1-9][0-9]{{0,15}})")
_PATH = re.compile(rf"/{_NAME}/(?:issues|pull|pulls)/(?P<number>[1-9][0-9]{{0,15}})(?:/[a-z]*)?/?")
_ANCHORS = (
    (re.compile(r"issuecomment-([0-9]+)"), Fact.COMMENT),
    (re.compile(r"(?:discussion_)?r([0-9]+)"), Fact.INLINE),
    (re.compile(r"pullrequestreview-([0-9]+)"), Fact.REVIEW),
)


class NotUnderstood(ValueError):
    """The text names nothing that we know how to look for; it says which forms there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment, inline comment or review, by its address."""

    item: Label
    fact: Fact
    object_id: int

    @property
    def key(self) -> EventKey:
        """The key of its creation; what happened to it later begins with it."""
        return keys.text_key(self.item.host, self.fact, self.object_id)


@dataclass(frozen=True, slots=True)
class Id:
    """An event key or the id of a delivery: only the store can tell."""

    text: str


Named = Label | Comment | Id


def work_item(text: str, host: str) -> Label:
    """A work item as people write it; `host` is meant where the text names none. Raises NotUnderstood."""
    named = _by_address(text) if "://" in text else _by_name(text, host)
    if isinstance(named, Comment):
        return named.item
    if isinstance(named, Label):
        return named
    raise NotUnderstood(
        f"{text!r} is no work item: write github:[host/]owner/repo#15, owner/repo#15 or the address of its page"
    )


def named(text: str, host: str) -> Named:
    """Whatever `explain` can be asked about; `host` is meant where the text names none. Raises NotUnderstood."""
    if not text.strip():
        raise NotUnderstood("name a comment by its address, an event key, a delivery id or a work item")
    if "://" in text:
        found = _by_address(text)
        if found is None:
            raise NotUnderstood(f"{text!r} is not the address of an issue, a pull request or a comment")
        return found
    return _by_name(text, host) or Id(text.strip())


def _by_name(text: str, host: str) -> Label | None:
    match = _SHORT.fullmatch(text.strip())
    return _label(match["host"] or (GITHUB if text.startswith("github:") else host), match) if match else None


def _by_address(text: str) -> Label | Comment | None:
    try:
        address = urlsplit(text.strip())
    except ValueError:
        return None
    match = _PATH.fullmatch(address.path)
    if match is None or not address.netloc or address.scheme not in ("http", "https"):
        return None
    item = _label(address.netloc.rpartition("@")[2], match)
    if item is None or not address.fragment:
        return item
    for anchor, fact in _ANCHORS:
        if (at := anchor.fullmatch(address.fragment)) and 0 < int(at[1]) <= ID_MAX:
            return Comment(item=item, fact=fact, object_id=int(at[1]))
    return item


def _label(host: str, match: re.Match[str]) -> Label | None:
    number = int(match["number"])
    return Label(host=host.lower(), repository=match["repository"], number=number) if number <= ID_MAX else None
