"""The marked block of a prompt: what people wrote, as JSON that no text inside it can close, cut visibly at its bounds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Final, assert_never

from domain.model import Account, Actor, Event, ItemKind, Operator, TurnId

BLOCK_BYTES_MAX: Final = 44 * 1024
"""The whole block in UTF-8; with our own words around it a prompt stays below 48 KB."""
TEXT_CHARACTERS_MAX: Final = 8_000
"""How much of one text is handed over; less where many long ones come together."""
FIELD_CHARACTERS_MAX: Final = 300
"""How much of a title, an address or a path is handed over."""

BEGIN: Final = "===== BEGIN WHAT PEOPLE WROTE"
END: Final = "===== END WHAT PEOPLE WROTE"

# Control characters but tab and newline, direction marks, characters without width (the two joiners and the emoji
# selectors have a use), tags and selectors that hide words, halves of pairs.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_LIKE_A_MARK: Final = re.compile(r"(BEGIN|END)\s+WHAT\s+PEOPLE\s+WROTE", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptItem:
    """The work item as a prompt names it.

    `label` and `branch` stand in our own sentences and must be as plain as GitHub's names are (ValueError); `url` and
    `title` are text from outside and stand in the marked block.
    """

    label: str
    url: str
    title: str
    kind: ItemKind
    branch: str

    def __post_init__(self) -> None:
        if not _LABEL.fullmatch(self.label) or not _BRANCH.fullmatch(self.branch):
            raise ValueError("a work item is named github:[host/]owner/repo#number and its branch the-loop/number")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvent:
    """An event as it is handed over; `text` is its body, for a command the body without the command's own words."""

    event: Event
    text: str
    is_edit: bool
    is_command: bool


def block(item: PromptItem, events: Sequence[PromptEvent], turn_id: TurnId) -> str:
    """What people wrote, between two marks that do not occur in it: one JSON object, its events in order and apart."""
    document = _document(item, events)
    mark = next(mark for mark in _marks(turn_id) if mark not in document)
    return f"{BEGIN} {mark} =====\n{document}\n{END} {mark} ====="


def shown(text: str) -> str:
    """A text without what hides in it: every character that would not be seen stands there as its number."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return _LIKE_A_MARK.sub(_apart, _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", plain))


def cut(text: str, characters_max: int) -> str:
    """The beginning of a text; where something is missing, the reader sees how much."""
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]}… [cut here, {len(text) - characters_max} characters are missing]"


def iso_time(at_ms: int) -> str:
    """A time as people and agents read it, in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_LABEL: Final = re.compile(r"github:(?:[A-Za-z0-9.:-]+/)?[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+#[0-9]{1,16}", re.ASCII)
_BRANCH: Final = re.compile(r"the-loop/[0-9]{1,16}", re.ASCII)

Fields = dict[str, str | int | bool]


def _document(item: PromptItem, events: Sequence[PromptEvent]) -> str:
    """The largest document within the bound: the longest texts give way first, then the longest fields."""
    texts = [shown(event.text) for event in events]
    document = ""
    for text_max, field_max in _limits():
        fields = [
            _fields(event, field_max) | {"text": cut(text, text_max)} for event, text in zip(events, texts, strict=True)
        ]
        named = {"kind": item.kind, "title": _field(item.title, field_max), "url": _field(item.url, field_max)}
        document = json.dumps({"item": named, "events": fields}, ensure_ascii=False, indent=1)
        if len(document.encode()) <= BLOCK_BYTES_MAX:
            break
    return document


def _limits() -> Iterator[tuple[int, int]]:
    """How many characters of a text and of a field are kept, in falling order; the last ones always fit."""
    text_max = TEXT_CHARACTERS_MAX
    while text_max:
        yield text_max, FIELD_CHARACTERS_MAX
        text_max = text_max * 3 // 4
    yield 0, FIELD_CHARACTERS_MAX
    yield 0, FIELD_CHARACTERS_MAX // 4


def _fields(handed: PromptEvent, field_max: int) -> Fields:
    event = handed.event
    fields: Fields = {
        "who": _who(event.actor, field_max),
        "right": "authorised",
        "when": iso_time(event.place.at_ms),
        "kind": event.fact,
        "url": _field(event.url, field_max),
    }
    return fields | _place(event, field_max) | _manner(handed)


def _place(event: Event, field_max: int) -> Fields:
    """The file and line of an inline comment, the verdict of a review."""
    fields: Fields = {}
    if event.anchor is not None:
        fields["path"] = _field(event.anchor.path, field_max)
        if event.anchor.line is not None:
            fields["line"] = event.anchor.line
    if event.review_state:
        fields["review"] = _field(event.review_state, field_max)
    return fields


def _manner(handed: PromptEvent) -> Fields:
    fields: Fields = {}
    if handed.is_edit:
        fields["edited"] = True
    if handed.is_command:
        fields["with_command"] = True
    return fields


def _who(actor: Actor | None, field_max: int) -> str:
    match actor:
        case None:
            return "nobody named"
        case Account():
            return _field(actor.login, field_max)
        case Operator():
            return "the operator of this machine"
        case _:
            assert_never(actor)


def _field(text: str, field_max: int) -> str:
    return cut(shown(text), field_max)


def _marks(turn_id: TurnId) -> Iterator[str]:
    """Marks that nobody can know before the turn has its id, the same ones whenever they are asked for."""
    return (hashlib.sha256(f"{turn_id} {attempt}".encode()).hexdigest()[:16] for attempt in count())


def _apart(found: re.Match[str]) -> str:
    return "·".join(found[0].split())
