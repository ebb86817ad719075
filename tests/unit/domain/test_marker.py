"""By its marker our own comment is known again, and nobody can make one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.marker import Sealer, read_marker, without_markers
from domain.model import Thread

THREAD = Thread(host="github.com", repository_id=100, number=15)
SEALER = Sealer("abcdef01", b"key")
REPLY = "0123456789abcdef"
LINE = SEALER.line(REPLY, 0, THREAD)
MARKER = read_marker(LINE)


def test_a_line_that_we_wrote_is_read_and_known_to_be_ours() -> None:
    assert MARKER is not None
    assert (MARKER.instance, MARKER.reply_id, MARKER.part) == ("abcdef01", REPLY, 0)
    assert SEALER.is_ours(MARKER, THREAD)


@pytest.mark.parametrize(
    "thread",
    [
        pytest.param(replace(THREAD, number=16), id="another-thread"),
        pytest.param(replace(THREAD, repository_id=101), id="another-repository"),
        pytest.param(replace(THREAD, host="ghe.example"), id="another-host"),
    ],
)
def test_a_marker_copied_to_another_thread_is_text(thread: Thread) -> None:
    assert MARKER is not None
    assert not SEALER.is_ours(MARKER, thread)


@pytest.mark.parametrize(
    ("words", "others"),
    [
        pytest.param(REPLY, "fedcba9876543210", id="another-reply"),
        pytest.param(" 0 ", " 1 ", id="another-part"),
        pytest.param("abcdef01", "12345678", id="another-instance"),
        pytest.param(LINE.split()[-2], "0" * 24, id="another-seal"),
    ],
)
def test_a_marker_of_which_anything_was_changed_is_not_ours(words: str, others: str) -> None:
    changed = read_marker(LINE.replace(words, others))
    assert changed is not None
    assert changed != MARKER
    assert not SEALER.is_ours(changed, THREAD)


def test_an_instance_with_another_secret_cannot_make_our_marker() -> None:
    forged = read_marker(Sealer("abcdef01", b"guessed").line(REPLY, 0, THREAD))
    assert forged is not None
    assert not SEALER.is_ours(forged, THREAD)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LINE, id="alone"),
        pytest.param(f"an answer\n\n{LINE}", id="below-a-text"),
        pytest.param(f"an answer\r\n\r\n{LINE}\r\n\r\n", id="with-empty-lines-below"),
        pytest.param(f"an answer\n  {LINE}  ", id="with-spaces-around"),
    ],
)
def test_the_marker_is_read_off_the_last_line(body: str) -> None:
    assert read_marker(body) == MARKER


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="nothing"),
        pytest.param("a text\n\nwithout one", id="no-marker"),
        pytest.param(f"{LINE}\na person's words", id="words-below"),
        pytest.param(f"> {LINE}", id="quoted"),
        pytest.param(f"words {LINE}", id="words-before-it-on-its-line"),
        pytest.param(f"{LINE} {LINE}", id="twice-on-its-line"),
        pytest.param(LINE.upper(), id="in-capitals"),
        pytest.param(LINE.replace("the-loop:1", "the-loop:2"), id="another-version"),
    ],
)
def test_anything_but_a_marker_on_the_last_line_is_text(body: str) -> None:
    assert read_marker(body) is None


@given(st.text(), st.text())
def test_a_text_cleaned_of_markers_holds_none(before: str, after: str) -> None:
    cleaned = without_markers(f"{before}{LINE}{after}")
    assert (cleaned, read_marker(cleaned)) == (without_markers(before + after), None)


def test_a_marker_hidden_in_another_does_not_come_to_light_when_it_is_taken_out() -> None:
    hidden = f"{LINE[:20]}{LINE}{LINE[20:]}"
    assert read_marker(without_markers(hidden)) is None


@given(st.text())
def test_any_text_is_read_without_a_fault(body: str) -> None:
    assert read_marker(body) is None
