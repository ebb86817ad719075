"""The command grammar: which words of a comment are a command, a near miss or prose, and what is left of it."""

from __future__ import annotations

import time

import pytest

from domain.control import (
    BODY_BYTES_MAX,
    FORCE,
    IGNORED_MAX,
    TAKE_OVER,
    VERBS,
    Because,
    Command,
    Ignored,
    NearMiss,
    Reading,
    Verb,
    docs_table,
    help_text,
    mentions,
    read,
)
from domain.visible import Place

STOP = Command(verb=Verb.STOP)
START = Command(verb=Verb.START)
CLEANUP_FORCED = Command(verb=Verb.CLEANUP, flags=frozenset({FORCE}))


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_is_a_command_at_the_start_of_a_line(verb: Verb) -> None:
    assert read(f"Hello.\nthe-loop {verb}\nThanks") == Reading(
        commands=(Command(verb=verb),), remainder="Hello.\n\nThanks"
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("/the-loop stop", id="slash"),
        pytest.param("The-Loop STOP", id="case"),
        pytest.param("the-loop stop.", id="full-stop"),
        pytest.param("the-loop  \t stop", id="repeated-spaces-and-tabs"),
        pytest.param("the-loop\u00a0stop", id="no-break-space"),
        pytest.param("the-loop\u2009\u3000stop", id="thin-and-ideographic-space"),
        pytest.param("the-loop&nbsp;stop", id="entity-space"),
        pytest.param("the-loop&#32;st&#111;p\nthe-loop", id="entity-letter"),
        pytest.param("the\\-loop stop\nthe-loop", id="escaped-hyphen"),
        pytest.param("\u200bthe\u200d-loop s\u00adtop\ufeff", id="characters-without-width"),
        pytest.param("\u202athe-loop stop\u202c", id="direction-marks"),
        pytest.param("   the-loop stop   ", id="indented-by-three"),
        pytest.param("\u00a0\u00a0\u00a0\u00a0the-loop stop", id="indented-by-no-break-spaces"),
        pytest.param("Please\r\nthe-loop stop\r\nnow", id="crlf"),
        pytest.param("Please\rthe-loop stop\rnow", id="lone-cr"),
        pytest.param("Please  \nthe-loop stop", id="hard-break-by-spaces"),
        pytest.param("Please\\\nthe-loop stop", id="hard-break-by-backslash"),
        pytest.param("Please<br>the-loop stop", id="hard-break-by-element"),
        pytest.param("**the-loop stop**", id="strong"),
        pytest.param("_the-loop_ ***stop***", id="emphasis-within"),
        pytest.param("<b>the-loop stop</b> now\nthe-loop stop", id="inline-html"),
        pytest.param("the-loop stop\n---\nbecause", id="above-a-rule-by-accident"),
        pytest.param("- one\n- two\nthe-loop stop", id="right-below-a-list"),
        pytest.param("1. one\n\n   the-loop stop", id="second-paragraph-of-an-item"),
        pytest.param("-\n\nthe-loop stop", id="below-an-empty-item"),
        pytest.param("- ---\n  the-loop stop", id="below-a-rule-in-an-item"),
        pytest.param("> quoted\n\nthe-loop stop", id="below-a-quote"),
        pytest.param("> <details>\n> log\n\nthe-loop stop", id="below-a-fold-that-was-quoted-in-part"),
        pytest.param("```\ncode\n```\nthe-loop stop", id="below-a-fence"),
        pytest.param("<!-- keep this line -->\nthe-loop stop", id="below-an-html-comment"),
        pytest.param("<details>\n\nlog\n\n</details>\n\nthe-loop stop", id="below-a-fold"),
        pytest.param("`a\nb`\nthe-loop stop", id="below-code-over-two-lines"),
        pytest.param("On Mon, Jan 1, 2024, Ada wrote:\n> why?\n\nthe-loop stop", id="below-a-mail-that-is-quoted"),
        pytest.param("the-loop stop\n\n-- \nAda", id="above-a-signature"),
        pytest.param("the-loop stop\nOn Mon, Jan 1, 2024 Ada <a@b.c> wrote:\n> x", id="right-above-a-mail-header"),
        pytest.param("the-loop stop\nOn Mon, Jan 1 at 10:00 Ada <\na@b.c> wrote:\n\nx", id="above-a-wrapped-header"),
        pytest.param("the-loop stop and again\nthe-loop stop", id="twice-is-once"),
        pytest.param("[a]: /u 'the-loop start'\nthe-loop stop", id="below-a-link-definition"),
    ],
)
def test_a_stop_is_read_however_it_is_written(body: str) -> None:
    assert [command.verb for command in read(body).commands] == [Verb.STOP]


@pytest.mark.parametrize(
    ("body", "because", "line"),
    [
        pytest.param("```\nthe-loop stop\n```", Place.FENCED, 2, id="three-ticks"),
        pytest.param("````\n```\nthe-loop stop\n```\n````", Place.FENCED, 3, id="four-ticks"),
        pytest.param("~~~ text\nthe-loop stop\n~~~", Place.FENCED, 2, id="tildes"),
        pytest.param("```\r\nthe-loop stop\r\n", Place.FENCED, 2, id="unclosed-fence-with-crlf"),
        pytest.param("- a\n  ```\n  the-loop stop\n  ```", Place.FENCED, 3, id="fence-in-a-list"),
        pytest.param("a\n\n    the-loop stop", Place.INDENTED, 3, id="indented"),
        pytest.param("\tthe-loop stop", Place.INDENTED, 1, id="indented-by-tab"),
        pytest.param("`the-loop stop`", Place.INLINE_CODE, 1, id="inline-code"),
        pytest.param("``the-loop stop``", Place.INLINE_CODE, 1, id="inline-code-two-ticks"),
        pytest.param("the-loop `stop`", Place.INLINE_CODE, 1, id="verb-in-code"),
        pytest.param("<code>the-loop stop</code>", Place.INLINE_CODE, 1, id="code-element"),
        pytest.param("> the-loop stop", Place.QUOTE, 1, id="quote"),
        pytest.param(">the-loop stop", Place.QUOTE, 1, id="quote-without-space"),
        pytest.param("> why\nthe-loop stop", Place.QUOTE, 2, id="lazy-continuation"),
        pytest.param("> > the-loop stop", Place.QUOTE, 1, id="chain-of-quotes"),
        pytest.param("> ```\n> the-loop stop\n> ```", Place.QUOTE, 2, id="fence-in-a-quote"),
        pytest.param("- a\n  > the-loop stop", Place.QUOTE, 2, id="quote-in-a-list"),
        pytest.param("<blockquote>\n\nthe-loop stop\n\n</blockquote>", Place.QUOTE, 3, id="quote-element"),
        pytest.param("<!-- the-loop stop -->", Place.HTML_COMMENT, 1, id="comment"),
        pytest.param("<!--\n\nthe-loop stop\n\n-->", Place.HTML_COMMENT, 3, id="comment-over-lines"),
        pytest.param("<!--\nthe-loop stop", Place.HTML_COMMENT, 2, id="unclosed-comment"),
        pytest.param("a <!--\nthe-loop stop\n--> b", Place.HTML_COMMENT, 2, id="comment-within-a-paragraph"),
        pytest.param("<div>\nthe-loop stop\n</div>", Place.HTML, 2, id="html-block"),
        pytest.param("<details>\n\nthe-loop stop\n\n</details>", Place.HTML, 3, id="fold"),
        pytest.param("[the-loop stop](https://example.org)", Place.LINK_TEXT, 1, id="link"),
        pytest.param("the-loop [stop](https://example.org)", Place.LINK_TEXT, 1, id="verb-in-a-link"),
        pytest.param("[the-loop stop]\n\n[the-loop stop]: /u", Place.LINK_TEXT, 1, id="reference-link"),
        pytest.param("[see\nthe-loop stop](/u)", Place.LINK_TEXT, 2, id="link-over-two-lines"),
        pytest.param("<a href='/u'>the-loop stop</a>", Place.LINK_TEXT, 1, id="link-element"),
        pytest.param("![the-loop stop](/u)", Place.IMAGE_TEXT, 1, id="image"),
        pytest.param("~~the-loop stop~~", Place.STRUCK_OUT, 1, id="struck-out"),
        pytest.param("- the-loop stop", Place.BULLET, 1, id="bullet"),
        pytest.param("3. the-loop stop", Place.BULLET, 1, id="number"),
        pytest.param("-\n  the-loop stop", Place.BULLET, 2, id="bullet-on-the-line-before"),
        pytest.param("- - the-loop stop", Place.BULLET, 1, id="bullet-in-a-bullet"),
        pytest.param("# the-loop stop", Place.HEADING, 1, id="heading"),
        pytest.param("| a |\n|---|\n| the-loop stop |", Place.TABLE, 3, id="table"),
        pytest.param("the-loop stop | b\n--- | ---", Place.TABLE, 1, id="table-without-outer-bars"),
        pytest.param("x\n-- \nthe-loop stop", Place.EMAIL_TAIL, 3, id="signature"),
        pytest.param("do not run the-loop stop yet", Because.MID_SENTENCE, 1, id="mid-sentence"),
        pytest.param("please the-loop stop", Because.MID_SENTENCE, 1, id="after-one-word"),
        pytest.param("![x](/u) the-loop stop", Because.MID_SENTENCE, 1, id="after-an-image"),
        pytest.param('"the-loop stop"', Because.MID_SENTENCE, 1, id="in-quotation-marks"),
        pytest.param("&gt; the-loop stop", Because.MID_SENTENCE, 1, id="after-a-written-out-bracket"),
        pytest.param("[ ] the-loop stop", Because.MID_SENTENCE, 1, id="after-a-box"),
    ],
)
def test_words_that_are_not_said_to_us_are_ignored_and_the_place_is_told(
    body: str, because: Place | Because, line: int
) -> None:
    assert read(body) == Reading(
        ignored=(Ignored(written="the-loop stop", because=because, line=line),), remainder=body
    )


@pytest.mark.parametrize(
    ("body", "command", "remainder"),
    [
        pytest.param("the-loop start fix the *tests*", Command(verb=Verb.START, argument="fix the tests"),
                     "fix the *tests*", id="argument"),
        pytest.param("the-loop start\nfix it", START, "\nfix it", id="further-lines"),
        pytest.param("the-loop start --take-over go on", Command(
            verb=Verb.START, argument="go on", flags=frozenset({TAKE_OVER})), "go on", id="flag-and-argument"),
        pytest.param("the-loop start do --take-over", Command(verb=Verb.START, argument="do --take-over"),
                     "do --take-over", id="flag-within-the-argument-is-text"),
        pytest.param("the-loop start --force", Command(verb=Verb.START, argument="--force"), "--force",
                     id="flag-of-another-verb-is-text"),
        pytest.param("the-loop cleanup --force.", CLEANUP_FORCED, "",
                     id="flag-with-full-stop"),
        pytest.param("the-loop cleanup —FORCE", CLEANUP_FORCED, "",
                     id="flag-as-telephones-write-it"),
        pytest.param("the-loop stop. It burns.", Command(verb=Verb.STOP, argument="It burns."), "It burns.",
                     id="sentence-behind"),
        pytest.param("the-loop stop the madness", Command(verb=Verb.STOP, argument="the madness"), "the madness",
                     id="argument-of-a-verb-that-takes-none"),
        pytest.param("**the-loop start** fix", Command(verb=Verb.START, argument="fix"), "fix", id="strong-goes-too"),
        pytest.param("**the-loop start fix**", Command(verb=Verb.START, argument="fix"), "**fix**", id="strong-stays"),
        pytest.param("***/the-loop start***\r\nfix", START, "\r\nfix", id="nested-emphasis-with-crlf"),
        pytest.param("a &amp; b\r\nthe-loop&nbsp;start x &amp; `y`\rz  \n", Command(
            verb=Verb.START, argument="x & y"), "a &amp; b\r\nx &amp; `y`\rz  \n", id="bytes-of-the-rest-stay"),
        pytest.param("the-loop<b></b> start<i> b</i>", Command(verb=Verb.START, argument="b"), "<b></b><i>b</i>",
                     id="elements-stay"),
        pytest.param("\u00a0\nthe-loop start b", Command(verb=Verb.START, argument="b"), "\u00a0\nb",
                     id="below-a-line-of-spaces"),
        pytest.param("1. a\n\n   the-loop start b\n2. c", Command(verb=Verb.START, argument="b"), "1. a\n\n   b\n2. c",
                     id="within-an-item"),
        pytest.param("é\u200b the\nt\u200bhe-loop st\u200bart\u200b ü\u200b", Command(
            verb=Verb.START, argument="ü"), "é\u200b the\nü\u200b", id="no-width-in-the-rest-stays"),
        pytest.param("the-loop start see [this](/u)", Command(verb=Verb.START, argument="see this"), "see [this](/u)",
                     id="link-in-the-argument"),
    ],
)  # fmt: skip
def test_the_rest_of_the_line_is_the_argument_and_the_remainder_loses_only_the_commands_words(
    body: str, command: Command, remainder: str
) -> None:
    assert read(body) == Reading(commands=(command,), remainder=remainder)


@pytest.mark.parametrize(
    ("body", "commands"),
    [
        pytest.param("the-loop stop\nthe-loop start", (STOP, START), id="two-verbs"),
        pytest.param("the-loop stop\n\ntext\n\nThe-Loop stop.", (STOP,), id="the-same-twice"),
        pytest.param("the-loop start a\nthe-loop start b", (Command(verb=Verb.START, argument="a"),),
                     id="other-argument-is-the-same"),
        pytest.param("the-loop cleanup\nthe-loop cleanup --force", (Command(verb=Verb.CLEANUP), CLEANUP_FORCED),
                     id="other-flags-are-not"),
        pytest.param("the-loop stop\nthe-loop start\nthe-loop stop", (STOP, START), id="order-of-first-appearance"),
        pytest.param("> the-loop stop\n\nthe-loop start", (START,), id="a-quoted-one-does-not-count"),
    ],
)  # fmt: skip
def test_commands_are_distinct_and_in_order_of_appearance(body: str, commands: tuple[Command, ...]) -> None:
    assert read(body).commands == commands


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        pytest.param("the-loop strat", Verb.START, id="swapped"),
        pytest.param("the-loop stpo.", Verb.STOP, id="swapped-with-full-stop"),
        pytest.param("the-loop puase", Verb.PAUSE, id="swapped-in-the-middle"),
        pytest.param("the-loop resum", Verb.RESUME, id="left-out"),
        pytest.param("the-loop statuus", Verb.STATUS, id="put-in"),
        pytest.param("the-loop clean", Verb.CLEANUP, id="two-letters-of-a-long-word"),
        pytest.param("the-loop clean-up", Verb.CLEANUP, id="hyphen"),
        pytest.param("the-loop clean up", Verb.CLEANUP, id="apart"),
        pytest.param("the-loop clenaup --force", Verb.CLEANUP, id="with-a-flag"),
        pytest.param("/the-loop strat fix the tests", Verb.START, id="slash-and-text"),
        pytest.param("the-loop stop!", Verb.STOP, id="exclamation-mark"),
        pytest.param("the-loop start: fix the tests", Verb.START, id="colon"),
        pytest.param("the-loop: stop", Verb.STOP, id="colon-after-the-name"),
        pytest.param("@the-loop start fix it", Verb.START, id="mention"),
    ],
)
def test_a_near_miss_names_the_command_that_was_meant(body: str, meant: Verb) -> None:
    assert read(body) == Reading(near_misses=(NearMiss(written=body, meant=meant),), remainder=body)


@pytest.mark.parametrize(
    "body",
    [
        "the-loop is stuck",
        "the-loop stopped working",
        "the-loop starts",
        "the-loop stops, and then it helps",
        "the-loop strat fix the tests",
        "the-loop start, stop and resume are commands",
        "the-loop has been clean up to now",
        "the-loop run",
        "the-loop hello",
        "/the-loop directory is missing",
    ],
)
def test_a_line_that_begins_with_our_name_and_goes_on_as_a_sentence_is_prose(body: str) -> None:
    assert read(body) == Reading(ignored=(Ignored(written=body, because=Because.PROSE, line=1),), remainder=body)


@pytest.mark.parametrize(
    "body",
    [
        "the-loop",
        "the-loop\nstop",
        "see https://example.org/the-loop stop",
        "the-looped stop",
        "the-loop-stop",
        "loop stop",
    ],
)
def test_other_words_are_nothing_to_us(body: str) -> None:
    assert read(body) == Reading(remainder=body)


@pytest.mark.parametrize(
    ("body", "mentioned"),
    [
        pytest.param("", False, id="empty"),
        pytest.param("the loop stop", False, id="without-hyphen"),
        pytest.param("So: THE-LOOP", True, id="case"),
        pytest.param("the-\u200bl\u00adoop", True, id="characters-without-width"),
    ],
)
def test_a_body_mentions_us_if_it_contains_our_name(body: str, mentioned: bool) -> None:
    assert mentions(body) is mentioned


def test_only_the_first_64_kilobytes_are_read_and_the_remainder_has_everything() -> None:
    body = "the-loop start\n\n" + "é\n\n" * (BODY_BYTES_MAX // 4) + "the-loop stop"
    assert read(body) == Reading(commands=(START,), remainder=body.removeprefix("the-loop start"), truncated=True)


def test_a_body_of_exactly_64_kilobytes_is_read_to_its_end() -> None:
    body = "é" * ((BODY_BYTES_MAX - 14) // 2) + "\nthe-loop stop"
    assert len(body.encode()) == BODY_BYTES_MAX
    assert read(body) == Reading(commands=(STOP,), remainder=body.removesuffix("the-loop stop"))


def test_what_a_cut_mark_would_have_hidden_is_not_read() -> None:
    body = "the-loop start\n\nsee <!--\nthe-loop stop\n" + "x\n" * (BODY_BYTES_MAX // 2) + "-->"
    assert read(body).commands == (START,)


def test_the_ignored_places_are_bounded_and_in_the_order_of_their_lines() -> None:
    ignored = read("> the-loop stop\n" * 200).ignored
    assert [place.line for place in ignored] == list(range(1, IGNORED_MAX + 1))


def test_a_near_miss_keeps_a_bounded_part_of_what_was_written() -> None:
    (miss,) = read("/the-loop strat " + "x" * 1000).near_misses
    assert miss.written == ("/the-loop strat " + "x" * 1000)[:80]


def test_help_and_docs_name_every_command_and_are_no_command_themselves() -> None:
    for text in (help_text(), docs_table()):
        assert all(f"`the-loop {verb}" in text for verb in Verb)
        assert read(text).commands == ()
        assert read(text).near_misses == ()


def test_the_table_has_one_entry_per_verb_under_its_own_name() -> None:
    assert list(VERBS) == list(Verb)
    assert all(VERBS[verb].verb is verb and VERBS[verb].summary for verb in Verb)


@pytest.mark.parametrize("verb", list(Verb))
def test_a_flag_that_a_verb_knows_is_shown_with_it(verb: Verb) -> None:
    assert all(f"[{flag}]" in VERBS[verb].argument for flag in VERBS[verb].flags)


@pytest.mark.parametrize(
    "filling",
    [
        pytest.param("[" * 60_000, id="brackets"),
        pytest.param("![" * 30_000, id="image-openings"),
        pytest.param("![" * 10_000 + "a" + "](b)" * 10_000, id="nested-images"),
        pytest.param("*" * 60_000, id="stars"),
        pytest.param("**a " * 15_000, id="strong-openings"),
        pytest.param("> " * 30_000 + "the-loop stop", id="quotes"),
        pytest.param("- " * 30_000 + "the-loop stop", id="bullets"),
        pytest.param("".join(" " * depth + "- a\n" for depth in range(340)), id="stairs"),
        pytest.param("".join("`" * length + " " for length in range(1, 340)), id="ticks"),
        pytest.param("|a" * 300 + "\n" + "|-" * 300 + "\n" + "|b\n" * 20_000, id="wide-table"),
        pytest.param("<" * 60_000, id="angles"),
        pytest.param("[a\n" * 20_000, id="open-labels"),
    ],
)
def test_pathological_markdown_is_read_in_bounded_time_and_hides_nothing_above_it(filling: str) -> None:
    """Ten seconds is far over what was measured (1.3 s at worst) and far under what quadratic time would take."""
    begun = time.process_time()
    assert read(f"the-loop stop\n\n{filling}").commands == (STOP,)
    assert time.process_time() - begun < 10
