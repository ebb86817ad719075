"""The lines of a comment as a reader on GitHub sees them, each with its place in the Markdown tree and in the source.

Nothing here knows what a command is. A line is what stands between two visible line breaks: GitHub shows a plain
newline inside a comment's paragraph as a break, so soft and hard breaks both end a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from domain.visible import Line, Piece, Place


def read_lines(source: str) -> tuple[Line, ...]:
    """All lines of `source` in their order. Never raises; nesting deeper than 20 levels is left out, not guessed."""
    walk = _Walk(_split(source))
    return tuple(line for token in _PARSER.parse(source) for line in walk.step(token))


# --- parsing, with the offsets that markdown-it does not keep ---


def _noting_end(rule: RuleFuncInlineType) -> RuleFuncInlineType:
    """The same rule; the last token that it makes knows where it ends in the text being parsed."""

    def noting(state: StateInline, silent: bool) -> bool:
        count = len(state.tokens)
        matched = rule(state, silent)
        if matched and len(state.tokens) > count:
            state.tokens[-1].meta["end"] = state.pos
        return matched

    return noting


def _build_parser() -> MarkdownIt:
    """GitHub's dialect as far as it moves words: tables and one or two tildes; entities stay apart from plain text."""
    parser = MarkdownIt("commonmark", {"strikethrough_single_tilde": True})
    parser.enable(["table", "strikethrough"]).disable("text_join")
    ruler = parser.inline.ruler
    for name, rule in zip(ruler.get_active_rules(), ruler.getRules(""), strict=True):
        ruler.at(name, _noting_end(rule))
    return parser


_PARSER = _build_parser()

_OPAQUE = {"fence": Place.FENCED, "code_block": Place.INDENTED, "html_block": Place.HTML}

# HTML elements whose text does not count. The block ones stay open over paragraphs, the others end with theirs.
_BLOCK_ELEMENTS = {"blockquote": Place.QUOTE, "details": Place.HTML, "pre": Place.INLINE_CODE, "table": Place.TABLE}
_ELEMENTS = _BLOCK_ELEMENTS | {
    "a": Place.LINK_TEXT,
    "code": Place.INLINE_CODE,
    "kbd": Place.INLINE_CODE,
    "samp": Place.INLINE_CODE,
    "tt": Place.INLINE_CODE,
    "del": Place.STRUCK_OUT,
    "s": Place.STRUCK_OUT,
    "strike": Place.STRUCK_OUT,
    "q": Place.QUOTE,
}
_TAG = re.compile(rf"<(?P<closing>/?)(?P<name>{'|'.join(_ELEMENTS)})(?=[\s/>])", re.IGNORECASE)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


# --- from the tree to lines ---


@dataclass(frozen=True, slots=True)
class _SourceLine:
    """A line of the source without its ending, which is LF, CR or CRLF, as Markdown has it."""

    start: int
    text: str


def _split(source: str) -> tuple[_SourceLine, ...]:
    lines, start = [], 0
    for ending in re.finditer(r"\r\n?|\n|\Z", source):
        lines.append(_SourceLine(start, source[start : ending.start()]))
        start = ending.end()
    return tuple(lines)


class _Offsets:
    """Maps positions in the content of one inline token, from which block marks are cut, to lines and the source."""

    def __init__(self, token: Token, source: Sequence[_SourceLine]) -> None:
        contents = token.content.split("\n")
        first = _first_line(token, contents, source)
        self.first_number = first + 1
        self._starts: list[int] = []
        self._shifts: list[int] = []
        start = 0
        for index, (content, line) in enumerate(zip(contents, source[first : first + len(contents)], strict=False)):
            # Marks and indentation are cut from the front of a line, and spaces from the end of the last one alone.
            last = index == len(contents) - 1
            cut = (len(line.text) - len(line.text.rstrip())) - (len(content) - len(content.rstrip())) if last else 0
            self._starts.append(start)
            self._shifts.append(line.start + len(line.text) - cut - len(content) - start)
            start += len(content) + 1

    def number(self, position: int) -> int:
        """The source line, counted from 1, in which `position` lies."""
        return self.first_number + self._index(position)

    def source(self, position: int) -> int:
        """The offset in the source of what stands at `position`."""
        return position + self._shifts[self._index(position)]

    def _index(self, position: int) -> int:
        return max(0, bisect_right(self._starts, position) - 1)


def _first_line(token: Token, contents: Sequence[str], source: Sequence[_SourceLine]) -> int:
    """The index of the source line that the contents begin in: lines of no-break spaces alone are cut from the front."""
    first, end = token.map or (0, 1)
    latest = max(first, end - len(contents))
    return next((index for index in range(first, latest) if _stand_at(index, contents, source)), latest)


def _stand_at(index: int, contents: Sequence[str], source: Sequence[_SourceLine]) -> bool:
    lines = zip(contents, source[index : index + len(contents)], strict=False)
    return all(line.text.replace("\0", "\ufffd").rstrip().endswith(content.strip()) for content, line in lines)


@dataclass(slots=True)
class _Walk:
    """Goes through the block tokens and keeps what is open: quotes, tables, a heading, a fresh list item, elements."""

    source: Sequence[_SourceLine]
    quotes: int = 0
    tables: int = 0
    in_heading: bool = False
    at_bullet: bool = False
    elements: list[str] = field(default_factory=list)
    outer_elements: list[int] = field(default_factory=list)

    def step(self, token: Token) -> Iterator[Line]:
        """The lines that this token adds."""
        match token.type:
            case "blockquote_open" | "list_item_open":
                self._enter(token)
            case "blockquote_close" | "list_item_close":
                self._leave(token)
            case "table_open" | "table_close":
                self.tables += token.nesting
            case "heading_open":
                # `---` below a line makes a heading by accident, so only one that was written with `#` is a title.
                self.in_heading = token.markup.startswith("#")
            case "heading_close":
                self.in_heading = False
            case "hr":
                self.at_bullet = False
            case "inline":
                yield from self._inline(token)
                self.at_bullet = False
            case "fence" | "code_block" | "html_block":
                yield from self._opaque(token)
                self.at_bullet = False

    def place(self) -> Place | None:
        """What the open containers make of the text that stands here."""
        if self.quotes:
            return Place.QUOTE
        if self.elements:
            return _ELEMENTS[self.elements[-1]]
        if self.tables:
            return Place.TABLE
        return Place.HEADING if self.in_heading else None

    def _enter(self, token: Token) -> None:
        self.outer_elements.append(len(self.elements))
        self.quotes += token.type == "blockquote_open"
        self.at_bullet = token.type == "list_item_open"

    def _leave(self, token: Token) -> None:
        """Leave a container; what was opened in it and not closed ends with it, and so does an item without text."""
        del self.elements[self.outer_elements.pop() :]
        self.quotes -= token.type == "blockquote_close"
        self.at_bullet = False

    def _opaque(self, token: Token) -> Iterator[Line]:
        place = Place.QUOTE if self.quotes else _OPAQUE[token.type]
        if place is Place.HTML and token.content.lstrip().startswith("<!--"):
            place = Place.HTML_COMMENT
        first = (token.map[0] if token.map else 0) + (2 if token.type == "fence" else 1)
        for index, text in enumerate(token.content.split("\n")):
            yield _hidden_line(first + index, place, text)
        if token.type == "html_block":
            self._open_and_close(token.content)

    def _inline(self, token: Token) -> Iterator[Line]:
        offsets = _Offsets(token, self.source)
        position = 0
        pieces: list[Piece] = []
        number = offsets.first_number
        for child in token.children or ():
            end = _end_of(child, position)
            if child.type in ("softbreak", "hardbreak") or (
                child.type == "html_inline" and _BREAK.match(child.content)
            ):
                yield self._line(number, pieces)
                pieces, number = [], offsets.number(end)
            elif child.type == "html_inline" and child.content.startswith("<!--"):
                for index, text in enumerate(child.content.split("\n")):
                    yield _hidden_line(offsets.number(position) + index, Place.HTML_COMMENT, text)
            else:
                pieces.append(self._piece(child, offsets.source(position), end - position))
            position = end
        yield self._line(number, pieces)
        self.elements = [name for name in self.elements if name in _BLOCK_ELEMENTS]

    def _line(self, number: int, pieces: list[Piece]) -> Line:
        place = self.place() if self.quotes or self.tables or self.in_heading else None
        if place is None and self.at_bullet:
            place = Place.BULLET
        self.at_bullet = False
        return Line(number=number, place=place, pieces=tuple(pieces))

    def _piece(self, child: Token, start: int, length: int) -> Piece:
        """One child of an inline token; elements and links that it opens or closes count from the next one on."""
        place = self.place()
        text, opens = "", None
        match child.type:
            case "text" | "text_special":
                text = child.content
            case "code_inline":
                text, place = child.content, Place.INLINE_CODE
            case "image":
                # A picture is seen: what follows it on its line does not begin the line.
                text, place = "\ufffc" + child.content.replace("\n", " "), Place.IMAGE_TEXT
            case "html_inline":
                self._open_and_close(child.content)
            case "link_open" | "s_open":
                self.elements.append("a" if child.type == "link_open" else "s")
            case "link_close" | "s_close":
                self._close("a" if child.type == "link_close" else "s")
            case "em_open" | "strong_open":
                opens = True
            case "em_close" | "strong_close":
                opens = False
        return Piece(text=text, start=start, end=start + length, place=place, opens=opens)

    def _open_and_close(self, html: str) -> None:
        for tag in _TAG.finditer(_HIDDEN.sub("", html)):
            name = tag["name"].lower()
            if tag["closing"]:
                self._close(name)
            else:
                self.elements.append(name)

    def _close(self, name: str) -> None:
        if name in self.elements:
            del self.elements[len(self.elements) - 1 - self.elements[::-1].index(name) :]


def _end_of(child: Token, position: int) -> int:
    """Where a child that begins at `position` ends: its own length if it stands as written, else as its rule noted.

    Emphasis is paired after the rules have run, and neighbouring texts are joined: those have their length alone.
    """
    if child.type == "text":
        return position + len(child.content)
    if child.type in ("em_open", "em_close", "strong_open", "strong_close", "s_open", "s_close"):
        return position + len(child.markup)
    end = child.meta.get("end", position)
    return end if isinstance(end, int) else position


def _hidden_line(number: int, place: Place, text: str) -> Line:
    return Line(number=number, place=place, pieces=(Piece(text=text, start=0, end=0, place=place),))
