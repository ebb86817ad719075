"""Which of the agent's words are its answer, and whether it is posted."""

from __future__ import annotations

from collections.abc import Collection

NO_REPLY = "NO_REPLY"
"""An answer of exactly this is none."""


def answer_of(after_tools: str, before_tools: str, said_by_seat: Collection[str], used_seat: bool) -> str | None:
    """The text to post for a turn; None posts nothing.

    It is the text after the last tool call; where that is empty and the turn used neither `reply` nor `ask`, the last
    text before it. Nothing, NO_REPLY and a text equal to a reply of the same turn post nothing.
    """
    text = after_tools.strip()
    if not text and not used_seat:
        text = before_tools.strip()
    if not text or text == NO_REPLY or text in {said.strip() for said in said_by_seat}:
        return None
    return text
