"""What a reader sees of one line of a comment, where its words stand, and how to get back to the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def without_invisible(text: str) -> str:
    """`text` without the characters that have no width: joiners, direction marks, soft hyphens and their like."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


class Place(StrEnum):
    """Where words stand, when they do not stand in the plain text of a comment."""

    FENCED = "fenced"
    """In a fenced code block, closed or not."""
    INDENTED = "indented"
    """In an indented code block."""
    INLINE_CODE = "inline-code"
    """Between backticks, or in `<code>` and its like."""
    QUOTE = "quote"
    """In a block quote, lazy continuation lines included."""
    HTML_COMMENT = "html-comment"
    """In an HTML comment, which no reader sees."""
    HTML = "html"
    """In a block of HTML or a fold (`<details>`): we read Markdown and guess nothing about how HTML is shown."""
    LINK_TEXT = "link-text"
    """In the text of a link."""
    IMAGE_TEXT = "image-text"
    """In the text that stands for an image."""
    STRUCK_OUT = "struck-out"
    """Crossed out: the reader sees that it was taken back."""
    BULLET = "bullet"
    """On the line of a list item's bullet or number, which the reader sees before it."""
    HEADING = "heading"
    """In a heading written with `#`, which is a title."""
    TABLE = "table"
    """In a table's cell."""
    EMAIL_TAIL = "email-tail"
    """In the quoted or forwarded mail, the signature or the footer that a mail program put below a reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A run of a line's text. `start` and `end` are its offsets in the source, kept where neither the line nor the
    piece has a place; `place` is None for plain text.

    A mark that is not seen (`**`) is a piece without text; `opens` says whether it opens or closes, None for others.
    """

    text: str
    start: int
    end: int
    place: Place | None = None
    opens: bool | None = None

    def source_of(self, first: int, end: int) -> tuple[int, int]:
        """Where the source has the text from `first` up to `end`; all of it where it is written otherwise (`&amp;`)."""
        if len(self.text) != self.end - self.start:
            return self.start, self.end
        return self.start + first, self.start + end


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One visible line (or a line of hidden text, then its place says so). `number` counts source lines from 1."""

    number: int
    place: Place | None
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """What the reader sees of the line."""
        return "".join(piece.text for piece in self.pieces)

    def place_of(self, first: int, last: int) -> Place | None:
        """Where the characters `first` to `last` of the text stand; None: all of them in plain text."""
        if self.place is not None:
            return self.place
        position = 0
        for piece in self.pieces:
            if piece.place is not None and position <= last and position + len(piece.text) > first:
                return piece.place
            position += len(piece.text)
        return None

    def spans(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the source has the plain text from `first` up to `end`, and emphasis that would be left empty."""
        openers: list[Piece] = []
        position = 0
        for piece in self.pieces:
            start, position = position, position + len(piece.text)
            if piece.place is not None:
                continue
            if piece.opens and start < end:
                openers.append(piece)
            elif piece.opens is False and start <= end and openers:
                opener = openers.pop()
                yield opener.start, opener.end
                yield piece.start, piece.end
            elif piece.text and start < end and position > first:
                yield piece.source_of(max(0, first - start), min(end - start, len(piece.text)))


@dataclass(frozen=True, slots=True)
class Seen:
    """The text of a line without what has no width; `origin` leads back to the positions in the line's own text."""

    text: str
    origin: Sequence[int]


def see(line: Line) -> Seen:
    """What is seen of a line."""
    text = line.text
    if text.isascii():
        return Seen(text, range(len(text)))
    origin = [index for index, character in enumerate(text) if not _INVISIBLE.match(character)]
    return Seen("".join(text[index] for index in origin), origin)
