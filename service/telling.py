"""Small words for what people read in a terminal: times, counts, and text from outside made harmless."""

from __future__ import annotations

from datetime import UTC, datetime

from eventlog.output import visible


def at(time_ms: int | None) -> str:
    """A time as people read it, in UTC; `-` where there is none."""
    if not time_ms:
        return "-"
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(time_ms: int | None) -> str | None:
    """A time as programs read it."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds") if time_ms else None


def count(number: int, noun: str) -> str:
    """`1 comment`, `2 comments`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def times(number: int) -> str:
    """How often."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def harmless(text: str) -> str:
    """One line of text from outside, without what a terminal would obey."""
    return visible(" ".join(text.split()))


def harmless_lines(text: str) -> list[str]:
    """The lines of a text from outside, without what a terminal would obey."""
    return [visible(line.expandtabs(4)) for line in text.splitlines()]


def cut(text: str, characters_max: int) -> str:
    """A text that is cut visibly where it is longer."""
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"
