"""Which of the agent's words are its answer, and whether it is posted."""

from __future__ import annotations

import pytest

from domain.answers import NO_REPLY, answer_of


@pytest.mark.parametrize(
    ("after", "before", "said", "used_seat", "wanted"),
    [
        pytest.param("Done.", "", (), False, "Done.", id="the-text-after-the-last-tool-call"),
        pytest.param("Done.", "I look.", (), False, "Done.", id="not-the-text-before-it"),
        pytest.param(" Done.\n", "", (), False, "Done.", id="without-white-space-around-it"),
        pytest.param("", "I did it.", (), False, "I did it.", id="the-text-before-tools-where-there-is-none-after"),
        pytest.param(" \n", "I did it.", (), False, "I did it.", id="white-space-is-none"),
        pytest.param("", "I did it.", ("a reply",), True, None, id="but-not-where-the-seat-was-used"),
        pytest.param("", "I did it.", (), True, None, id="nor-where-the-seat-was-used-in-vain"),
        pytest.param("Done.", "", ("a reply",), True, "Done.", id="reply-and-answer-are-both-posted"),
        pytest.param("Done.", "", ("Done.",), True, None, id="a-text-equal-to-a-reply-is-not-posted-again"),
        pytest.param("Done.", "", (" Done.\n",), True, None, id="equal-but-for-white-space"),
        pytest.param("Done. All of it.", "", ("Done.",), True, "Done. All of it.", id="a-longer-text-is-another"),
        pytest.param("", "", (), False, None, id="nothing"),
        pytest.param(NO_REPLY, "", (), False, None, id="no-reply"),
        pytest.param(f"\n{NO_REPLY}\n", "I did it.", (), False, None, id="no-reply-hides-the-text-before-tools-too"),
        pytest.param("", NO_REPLY, (), False, None, id="no-reply-before-tools"),
        pytest.param(f"{NO_REPLY}.", "", (), False, f"{NO_REPLY}.", id="only-exactly-no-reply"),
        pytest.param("no_reply", "", (), False, "no_reply", id="case-counts"),
    ],
)
def test_the_answer_of_a_turn(after: str, before: str, said, used_seat: bool, wanted: str | None) -> None:
    assert answer_of(after, before, said, used_seat) == wanted
