"""The lines of a comment as a reader sees them: their text, their number, their place, and the way back to the source."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.markdown import read_lines
from domain.visible import Line, Place

MARKS = [
    "a", "b c", "\n", "\n\n", "\r\n", "\r", "  ", "\t", "    ", "\u00a0", "`", "```\n", "~~", "*", "**", "***", "_", "> ", "- ",
    "1. ", "<!--", "-->", "<br>", "<b>", "</b>", "<i\n>", "<http://a>", "[", "](/u)", "](", ")", "![", "]: /u\n", "&amp;",
    "&#9;", "\\", "\\*", "\\\n", "|", "\n-|-\n", "\0", "---\n", "=\n", " ", "é", "\x0c", "\u2028",
]  # fmt: skip

sources = st.lists(st.sampled_from(MARKS), max_size=40).map("".join)


def seen(source: str) -> list[tuple[int, Place | None, str]]:
    return [(line.number, line.place, line.text) for line in read_lines(source) if line.text]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        pytest.param("a\nb", [(1, None, "a"), (2, None, "b")], id="soft-break"),
        pytest.param("a  \nb\\\nc", [(1, None, "a"), (2, None, "b"), (3, None, "c")], id="hard-breaks"),
        pytest.param("a<br>b", [(1, None, "a"), (1, None, "b")], id="break-element"),
        pytest.param("\n\r\n\ra\r\nb\rc", [(4, None, "a"), (5, None, "b"), (6, None, "c")], id="all-line-ends-count"),
        pytest.param("- \u2028\n  a\n\n\u00a0\nb", [(2, Place.BULLET, "a"), (5, None, "b")], id="lines-of-spaces-alone"),
        pytest.param("*a* **b** &amp; \\* <b>c</b>", [(1, None, "a b & * c")], id="marks-are-not-seen"),
        pytest.param("`a\nb`\nc", [(1, None, "a b"), (3, None, "c")], id="code-over-lines"),
        pytest.param("[a\nb](/u\n'x')\nc", [(1, None, "a"), (2, None, "b"), (4, None, "c")], id="link-over-lines"),
        pytest.param("a <i\nb> c\nd", [(1, None, "a  c"), (3, None, "d")], id="tag-over-lines"),
        pytest.param("![a](/u) b", [(1, None, "\ufffca b")], id="image"),
        pytest.param("- a\n  b\n- c", [(1, Place.BULLET, "a"), (2, None, "b"), (3, Place.BULLET, "c")], id="list"),
        pytest.param("- a\n\n  b", [(1, Place.BULLET, "a"), (3, None, "b")], id="loose-list"),
        pytest.param("> a\nb\n\nc", [(1, Place.QUOTE, "a"), (2, Place.QUOTE, "b"), (4, None, "c")], id="quote"),
        pytest.param("```x\na\n```\nb", [(2, Place.FENCED, "a"), (4, None, "b")], id="fence"),
        pytest.param("    a\n\n    b\nc", [(1, Place.INDENTED, "a"), (3, Place.INDENTED, "b"), (4, None, "c")], id="code"),
        pytest.param("# a #\nb\n===", [(1, Place.HEADING, "a"), (2, None, "b")], id="headings"),
        pytest.param("a|b\n-|-\nc|d\n\ne", [(n, Place.TABLE, t) for n, t in ((1, "a"), (1, "b"), (3, "c"), (3, "d"))]
                     + [(5, None, "e")], id="table"),
        pytest.param("[a]: /u\n[b]: /v\nc", [(3, None, "c")], id="definitions-are-not-seen"),
        pytest.param("<p>\na\n\nb", [(1, Place.HTML, "<p>"), (2, Place.HTML, "a"), (4, None, "b")], id="html-block"),
    ],
)  # fmt: skip
def test_a_line_is_what_stands_between_two_visible_breaks(
    source: str, lines: list[tuple[int, Place | None, str]]
) -> None:
    assert seen(source) == lines


@pytest.mark.parametrize(
    ("source", "places"),
    [
        pytest.param("a `b` c", [None, Place.INLINE_CODE, None], id="code"),
        pytest.param("a [b](/u) c", [None, Place.LINK_TEXT, None], id="link"),
        pytest.param("a <http://b> c", [None, Place.LINK_TEXT, None], id="bare-address"),
        pytest.param("a ~~b~~ c", [None, Place.STRUCK_OUT, None], id="two-tildes"),
        pytest.param("a ~b~ c", [None, Place.STRUCK_OUT, None], id="one-tilde"),
        pytest.param("a <kbd>b</kbd> c", [None, Place.INLINE_CODE, None], id="element"),
        pytest.param(
            "a <code>b <!-- </code> --> c", [None, Place.INLINE_CODE, Place.INLINE_CODE], id="tag-in-a-comment"
        ),
    ],
)
def test_a_piece_knows_its_place(source: str, places: list[Place | None]) -> None:
    (line,) = [line for line in read_lines(source) if line.place is None]
    assert [piece.place for piece in line.pieces if piece.text] == places


def test_an_inline_element_ends_with_its_paragraph_and_a_fold_does_not() -> None:
    assert [piece.place for line in read_lines("<code>a\n\nb") for piece in line.pieces if piece.text == "b"] == [None]
    (last,) = [line for line in read_lines("<details>\n\nb") if line.text == "b"]
    assert last.place_of(0, 0) is Place.HTML


def plain(line: Line) -> bool:
    return line.place in (None, Place.BULLET)


@given(sources)
def test_every_plain_piece_leads_back_to_where_it_stands_in_the_source(source: str) -> None:
    for line in filter(plain, read_lines(source)):
        for piece in line.pieces:
            if piece.place is None and piece.text:
                written = source[piece.start : piece.end].replace("\0", "\ufffd")
                assert piece.text in (written, html.unescape(written), written.removeprefix("\\"))


@given(sources)
def test_a_plain_line_stands_on_the_source_line_of_its_number(source: str) -> None:
    for line in filter(plain, read_lines(source)):
        for piece in line.pieces:
            if piece.place is None and piece.text:
                before = source[: piece.start].replace("\r\n", "\n").replace("\r", "\n")
                assert before.count("\n") + 1 >= line.number
