"""What holds for the command grammar whatever people write."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from domain.control import VERBS, Verb, mentions, read

MARKS = [
    "the-loop", "The-Loop", "stop", "start", "strat", "--force", "\n", "\n\n", "\r\n", "\r", " ", "    ", "\t", "é", "\0",
    "\u00a0", "\u200b", "`", "```", "~~~", "~~", "*", "**", "_", "> ", "- ", "1. ", "# ", "---", "-- ", "<!--", "-->", "/",
    "<br>", "<b>", "</b>", "<details>", "</details>", "<a>", "[", "](/u)", "![", "]: /u", "|", "|-|", "&amp;", "&nbsp;",
    "\\", ".", "On 1 wrote:", "From: ", "Sent: ", "word", "\ud800",
]  # fmt: skip
"""Pieces of which Markdown's constructs fall together far oftener than from single characters."""

bodies = st.one_of(st.text(), st.lists(st.sampled_from(MARKS), max_size=40).map("".join))
verbs = st.sampled_from(Verb)
plain_words = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), max_size=4).map(" ".join)


@st.composite
def commands(draw: st.DrawFn) -> str:
    slash = draw(st.sampled_from(["", "/"]))
    return f"{slash}the-loop {draw(verbs)} {draw(plain_words)}".rstrip()


paragraphs = st.lists(st.one_of(commands(), plain_words), min_size=1, max_size=6)


def in_fence(text: str, mark: str) -> str:
    return f"{mark}\n{text}\n{mark}"


def in_front_of_each_line(text: str, mark: str) -> str:
    return "\n".join(mark + line for line in text.split("\n"))


CONTAINERS = {
    "ticks": lambda text: in_fence(text, "```"),
    "four ticks": lambda text: in_fence(text, "````"),
    "tildes": lambda text: in_fence(text, "~~~"),
    "unclosed": lambda text: f"```\n{text}",
    "indented": lambda text: in_front_of_each_line(text, "    "),
    "quote": lambda text: in_front_of_each_line(text, "> "),
    "quoted twice": lambda text: in_front_of_each_line(text, ">> "),
    "comment": lambda text: f"<!--\n{text}\n-->",
    "code": lambda text: f"`{text}`",
    "link": lambda text: f"[{text}](/u)",
    "struck out": lambda text: f"~~{text}~~",
    "mail": lambda text: f"On Mon, Jan 1, 2024 at 10:00 Ada wrote:\n\n{text}",
    "signature": lambda text: f"-- \n{text}",
}


@given(bodies)
@example("the-loop " + "[" * 50)
def test_any_text_is_read_the_same_each_time_without_a_fault(body: str) -> None:
    assert read(body) == read(body)


@given(bodies)
def test_a_body_that_does_not_mention_us_holds_nothing(body: str) -> None:
    reading = read(body)
    assert mentions(body) or not (reading.commands or reading.near_misses or reading.ignored)


@given(bodies)
def test_the_remainder_is_the_body_with_pieces_left_out(body: str) -> None:
    """What goes begins and ends where a command's words or their emphasis do; without a command nothing goes."""
    reading = read(body)
    left = iter(body)
    assert all(character in left for character in reading.remainder)
    assert reading.commands or reading.remainder == body


@given(bodies)
def test_every_command_has_flags_that_its_verb_knows(body: str) -> None:
    assert all(command.flags <= VERBS[command.verb].flags for command in read(body).commands)


@given(st.sampled_from(sorted(CONTAINERS)), paragraphs.filter(lambda lines: all(lines)))
def test_commands_within_a_container_that_is_not_said_to_us_never_run(container: str, lines: list[str]) -> None:
    reading = read(CONTAINERS[container]("\n".join(lines)))
    assert (reading.commands, reading.near_misses) == ((), ())


@given(paragraphs)
def test_the_remainder_holds_no_command(lines: list[str]) -> None:
    once = read("\n".join(lines))
    again = read(once.remainder)
    assert (again.commands, again.remainder) == ((), once.remainder)


@given(
    paragraphs, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([" ", "\u00a0", "  ", "\t", "\u2003"]), st.data()
)
def test_line_ends_spaces_case_and_characters_without_width_do_not_matter(
    lines: list[str], ending: str, space: str, data: st.DataObject
) -> None:
    invisible = st.sampled_from(["", "", "", "\u200b", "\u00ad", "\u2060"])
    written = "".join(data.draw(invisible) + character for line in lines for character in [*line.upper(), "\n"])
    written = written.replace(" ", space).replace("\n", ending)
    assert [read_back(command.verb, command.argument) for command in read(written).commands] == [
        read_back(command.verb, command.argument) for command in read("\n".join(lines)).commands
    ]


def read_back(verb: Verb, argument: str) -> tuple[Verb, str]:
    return verb, re.sub(r"\s+", " ", re.sub("[\u200b\u00ad\u2060]", "", argument)).lower()


@given(plain_words, verbs, plain_words.filter(bool))
def test_words_before_it_on_its_line_make_it_no_command(above: str, verb: Verb, before: str) -> None:
    assert read(f"{above}\n{before} the-loop {verb}").commands == ()


@given(commands(), plain_words, plain_words)
def test_the_lines_around_a_command_are_handed_over_byte_by_byte(command: str, above: str, below: str) -> None:
    words = command.split(" ", 2)
    argument = words[2] if len(words) > 2 else ""
    assert read(f"{above}\r\n{command}\r\n{below}").remainder == f"{above}\r\n{argument}\r\n{below}"
