"""The command grammar: which commands the body of a comment holds, and what is left of it without them.

A command is `the-loop <verb>`, optionally with `/` before it, at the start of a line that a reader sees; the rest of
the line is its argument. Case, repeated and no-break spaces, characters without width, emphasis and a full stop after
it do not matter. Two choices go beyond that:

* A list item's first line is not the start of a line, for the reader sees its bullet or number first; people list
  commands to explain them. The item's further lines are ordinary, and so is a line typed right below a list.
* A heading written with `#` is a title and not said to anyone; a line that became a heading because `---` stands below
  it was said, and counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from domain.mail_tail import first_tail_line
from domain.markdown import read_lines
from domain.slips import nearest
from domain.visible import Line, Place, Seen, see, without_invisible

BODY_BYTES_MAX = 64 * 1024
"""How much of a body is read, in bytes of UTF-8; what lies behind it holds no command."""

IGNORED_MAX = 50
"""How many places where a command did not count are kept for one body."""

FORCE = "--force"
TAKE_OVER = "--take-over"


class Verb(StrEnum):
    """What a person can ask of a work item."""

    START = "start"
    """Give the work item to a session."""
    STOP = "stop"
    """End the session and whatever it runs."""
    PAUSE = "pause"
    """Hand over nothing more; what runs may end."""
    RESUME = "resume"
    """Go on after a pause."""
    CLEANUP = "cleanup"
    """Stop, and remove the clone."""
    STATUS = "status"
    """Say how the work item stands."""
    HELP = "help"
    """Say which commands there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbEntry:
    """What we say and know about a verb.

    `argument` is shown after the verb; `flags` count right behind the verb only; `moves_phase`: the control phase may
    change; `hands_over`: the comment's remainder goes to the session.
    """

    verb: Verb
    summary: str
    argument: str = ""
    flags: frozenset[str] = frozenset()
    moves_phase: bool = False
    hands_over: bool = False


_ENTRIES = (
    VerbEntry(
        verb=Verb.START,
        summary="start a session for this thread; your comment is its first task",
        argument=f"[{TAKE_OVER}] [task]",
        flags=frozenset({TAKE_OVER}),
        moves_phase=True,
        hands_over=True,
    ),
    VerbEntry(
        verb=Verb.STOP,
        summary="end the session and everything it runs; the clone stays",
        moves_phase=True,
    ),
    VerbEntry(
        verb=Verb.PAUSE,
        summary="let the running turn end and hand over nothing more",
        moves_phase=True,
    ),
    VerbEntry(
        verb=Verb.RESUME,
        summary="go on after a pause; your comment is handed over",
        argument="[task]",
        moves_phase=True,
        hands_over=True,
    ),
    VerbEntry(
        verb=Verb.CLEANUP,
        summary=f"stop and remove the clone; unsaved work is kept unless {FORCE} is given",
        argument=f"[{FORCE}]",
        flags=frozenset({FORCE}),
        moves_phase=True,
    ),
    VerbEntry(verb=Verb.STATUS, summary="say how this thread stands"),
    VerbEntry(verb=Verb.HELP, summary="show this list"),
)

VERBS: Mapping[Verb, VerbEntry] = MappingProxyType({entry.verb: entry for entry in _ENTRIES})
"""The one table of commands; help text, docs and menus derive from it."""


def help_text() -> str:
    """The commands as a Markdown list for a reply. Quoted or repeated it is no command itself."""
    return "\n".join(f"- `{_usage(entry)}`: {entry.summary}" for entry in VERBS.values())


def docs_table() -> str:
    """The commands as a Markdown table."""
    rows = [f"| `{_usage(entry)}` | {entry.summary} |" for entry in VERBS.values()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _usage(entry: VerbEntry) -> str:
    return f"the-loop {entry.verb} {entry.argument}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command as it was read. `argument` is the rest of its line as seen, without the flags that the verb knows."""

    verb: Verb
    argument: str = ""
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """Words that were meant as a command and are none. `written` is text from outside, at most 80 characters."""

    written: str
    meant: Verb


class Because(StrEnum):
    """Why words at a readable place are no command."""

    MID_SENTENCE = "mid-sentence"
    """Something stands before them on their line."""
    PROSE = "prose"
    """The line begins with our name and goes on as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A place where the words of a command stood and did not count. `line` counts source lines from 1."""

    written: str
    because: Place | Because
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read in one body.

    `commands` are distinct by verb and flags, in order of appearance; where a command is repeated, the first argument
    stands and all of them are in the remainder. More than one is ambiguous, also `cleanup` beside `cleanup --force`.
    `remainder` is the whole body without its commands' own words (name, verb, flags); nothing else of it is changed.
    `truncated`: the body was longer than `BODY_BYTES_MAX`, and what lies behind that was not read.
    """

    commands: tuple[Command, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    remainder: str
    truncated: bool = False


def mentions(body: str) -> bool:
    """Whether the body contains our name, in any case, also with characters without width in it. Cheap."""
    return "the-loop" in without_invisible(body).lower()


def read(body: str) -> Reading:
    """Read one body. Total and deterministic; a body that does not mention us is not parsed.

    A near miss is a line that begins with our name and a word which is a slip of the hand away from a verb (one letter
    or swap, two from five letters on, a mark glued to it, "clean up"), and which then ends, goes on with flags, or
    began with `/` or `@`. Anything else that begins so is prose: a verb with an ending ("starts") is no slip.
    """
    end = _readable(body)
    if not mentions(body):
        return Reading(remainder=body, truncated=end < len(body))
    source = body[:end]
    lines = read_lines(source)
    tail = first_tail_line(source, lines)
    found = [finding for line in lines for finding in _read_line(line, tail)]
    counted = [finding for finding in found if isinstance(finding, _Found)]
    ignored = sorted((finding for finding in found if isinstance(finding, Ignored)), key=lambda place: place.line)
    return Reading(
        commands=_distinct(finding.command for finding in counted),
        near_misses=tuple(dict.fromkeys(finding for finding in found if isinstance(finding, NearMiss))),
        ignored=tuple(ignored[:IGNORED_MAX]),
        remainder=_without(body, sorted(span for finding in counted for span in finding.spans)),
        truncated=end < len(body),
    )


def _distinct(commands: Iterable[Command]) -> tuple[Command, ...]:
    first: dict[tuple[Verb, frozenset[str]], Command] = {}
    for command in commands:
        first.setdefault((command.verb, command.flags), command)
    return tuple(first.values())


def _readable(body: str) -> int:
    """How many characters of `body` are read: all, or as many whole blocks as fit, or where one fills all, lines.

    A block that is cut may lose the end of a comment or of code, and show what it hid.
    """
    encoded = body.encode("utf-8", "surrogatepass")
    if len(encoded) <= BODY_BYTES_MAX:
        return len(body)
    end = BODY_BYTES_MAX
    while encoded[end] & 0xC0 == 0x80:
        end -= 1
    fitting = encoded[:end].decode("utf-8", "surrogatepass")
    ending = _BLANK_LINE_BACKWARDS.search(fitting[::-1]) or _LINE_END.search(fitting[::-1])
    return len(fitting) - ending.start() if ending else len(fitting)


def _without(body: str, spans: Sequence[tuple[int, int]]) -> str:
    kept, position = [], 0
    for start, end in spans:
        kept.append(body[position:start])
        position = end
    return "".join([*kept, body[position:]])


# --- one line ---


@dataclass(frozen=True, slots=True)
class _Found:
    """A command that counts, and where in the source its own words stand."""

    command: Command
    spans: tuple[tuple[int, int], ...]


_NAME = r"(?<![\w/@.-])[/@]?(?ai:the-loop)"
_BEGINNING = re.compile(r"\s*(?P<own>(?P<sign>[/@]?)(?ai:the-loop)(?P<mark>[:,]?)\s+(?P<word>\S+))\s*")
_ANYWHERE = re.compile(rf"{_NAME}\s+(?ai:{'|'.join(Verb)})(?![\w-])")
_FLAG = re.compile(r"(?:--|[—–])(?P<name>[a-zA-Z-]+)\.*(?=\s|$)\s*")
_LINE_END = re.compile(r"[\r\n]")
_BLANK_LINE_BACKWARDS = re.compile(r"(?:\n\r?|\r)[ \t]*(?:\n\r?|\r)")
_WRITTEN_CHARACTERS_MAX = 80
_VERBS_BY_WORD: Mapping[str, Verb] = MappingProxyType({str(verb): verb for verb in Verb})


def _read_line(line: Line, tail: int | None) -> Iterator[_Found | NearMiss | Ignored]:
    """What one line says: at most one command, near miss or sentence about us, then words that do not count."""
    if line.text.isascii() and "loop" not in line.text.lower():
        return
    seen, start = see(line), 0
    beginning = _BEGINNING.match(seen.text)
    if beginning and _place_of(line, seen, *beginning.span("own"), tail) is None:
        yield _read_beginning(line, seen, beginning)
        start = beginning.end()
    for words in _ANYWHERE.finditer(seen.text, start):
        because = _place_of(line, seen, *words.span(), tail) or Because.MID_SENTENCE
        yield Ignored(written=words[0][:_WRITTEN_CHARACTERS_MAX], because=because, line=line.number)


def _read_beginning(line: Line, seen: Seen, beginning: re.Match[str]) -> _Found | NearMiss | Ignored:
    verb = _VERBS_BY_WORD.get(beginning["word"].rstrip(".").lower())
    if verb is not None and not beginning["mark"] and beginning["sign"] != "@":
        return _found(line, seen, beginning, verb)
    rest = seen.text[beginning.end() :].rstrip()
    written = f"{beginning['own']} {rest}".rstrip()[:_WRITTEN_CHARACTERS_MAX]
    meant = _meant(beginning, rest.lower())
    if meant is None:
        return Ignored(written=written, because=Because.PROSE, line=line.number)
    return NearMiss(written=written, meant=meant)


def _found(line: Line, seen: Seen, beginning: re.Match[str], verb: Verb) -> _Found:
    end, flags = beginning.end(), set[str]()
    while (flag := _FLAG.match(seen.text, end)) and f"--{flag['name'].lower()}" in VERBS[verb].flags:
        flags.add(f"--{flag['name'].lower()}")
        end = flag.end()
    command = Command(verb=verb, argument=seen.text[end:].rstrip(), flags=frozenset(flags))
    return _Found(command, tuple(line.spans(seen.origin[beginning.start("own")], seen.origin[end - 1] + 1)))


def _place_of(line: Line, seen: Seen, start: int, end: int, tail: int | None) -> Place | None:
    """Where the words between two positions of what is seen stand; None: in the author's own plain text."""
    place = line.place_of(seen.origin[start], seen.origin[end - 1])
    return Place.EMAIL_TAIL if place is None and tail is not None and line.number >= tail else place


# --- near misses ---


def _meant(beginning: re.Match[str], rest: str) -> Verb | None:
    """The verb that a line beginning with our name was meant to have; None: it is prose."""
    word = beginning["word"].lower()
    bare = word.rstrip(".,:;!?")
    more = [part for part in rest.split() if not part.startswith(("-", "–", "—"))]
    addressed = bool(beginning["sign"])
    exact = _VERBS_BY_WORD.get(bare)
    if exact is not None:
        return exact if addressed or not more or (word.endswith(":") and not beginning["mark"]) else None
    if beginning["mark"]:
        return None
    if len(more) == 1 and (joined := _VERBS_BY_WORD.get(bare + more[0].rstrip(".!"))) is not None:
        return joined
    slip = nearest(bare, _VERBS_BY_WORD) if addressed or not more else None
    return _VERBS_BY_WORD[slip] if slip is not None else None
