"""A text is cut where Telegram would refuse it, visibly, and between signs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegrambot.texts import cut, utf16_units

EMOJI = "😀"


@pytest.mark.parametrize(
    ("text", "units_max", "left"),
    [
        pytest.param("", 4, "", id="nothing"),
        pytest.param("abcd", 4, "abcd", id="as long as it may be"),
        pytest.param("abcde", 4, "abc…", id="one too long"),
        pytest.param("aé€ß", 4, "aé€ß", id="long in bytes alone"),
        pytest.param(EMOJI * 2, 4, EMOJI * 2, id="pairs that fit"),
        pytest.param(EMOJI * 3, 4, EMOJI + "…", id="a pair that would be split"),
        pytest.param("abcde", 1, "…", id="room for the mark alone"),
    ],
)
def test_a_text_that_is_too_long_ends_in_a_mark(text: str, units_max: int, left: str) -> None:
    assert cut(text, units_max) == left


@given(st.text(), st.integers(1, 40))
def test_a_cut_text_is_a_beginning_that_fits(text: str, units_max: int) -> None:
    left = cut(text, units_max)
    assert utf16_units(left) <= units_max
    assert left == text or (left.endswith("…") and text.startswith(left[:-1]))


@given(st.text())
def test_units_are_those_of_the_encoding(text: str) -> None:
    assert utf16_units(text) == len(text.encode("utf-16-le")) // 2


def test_a_message_of_nothing_but_pairs_keeps_as_many_as_are_safe_by_either_count() -> None:
    assert cut(EMOJI * 4096) == EMOJI * 2047 + "…"
