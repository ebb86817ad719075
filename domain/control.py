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
from domain.markdown import Line, Piece, Place, read_lines

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
    return "the-loop" in body.lower() or (not body.isascii() and "the-loop" in _INVISIBLE.sub("", body).lower())


def read(body: str) -> Reading:
    """Read one body. Total and deterministic; a body that does not mention us is not parsed.

    A near miss is a line that begins with our name and a word which is a slip of the hand away from a verb (one letter
    or swap, two from five letters on, or a mark glued to it), and which then ends, goes on with flags, or began with
    `/`. Anything else that begins so is prose: a verb with an ending ("starts", "stopped") is never a slip.
    """
    if not mentions(body):
        return Reading(remainder=body, truncated=_readable(body) < len(body))
    end = _readable(body)
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
    """How many characters of `body` are read: all, or as many whole lines as fit, ended by a blank one where there is
    one, so that no block is cut in which an opening mark would lose its end."""
    if len(body) * 4 <= BODY_BYTES_MAX:
        return len(body)
    encoded = body.encode("utf-8", "surrogatepass")
    if len(encoded) <= BODY_BYTES_MAX:
        return len(body)
    end = BODY_BYTES_MAX
    while encoded[end] & 0xC0 == 0x80:
        end -= 1
    fitting = encoded[:end].decode("utf-8", "surrogatepass")
    endings = _BLANK_LINE.search(fitting[::-1]) or _LINE_END.search(fitting[::-1])
    return len(fitting) - endings.start() if endings else len(fitting)


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


@dataclass(frozen=True, slots=True)
class _Seen:
    """The text of a line without what has no width; `origin` leads back to the positions in the line's own text."""

    text: str
    origin: Sequence[int]


_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_NAME = r"(?<![\w/@.-])/?(?ai:the-loop)"
_BEGINNING = re.compile(r"\s*(?P<own>/?(?ai:the-loop)(?P<mark>[:,]?)\s+(?P<word>\S+))\s*")
_ANYWHERE = re.compile(rf"{_NAME}\s+(?ai:{'|'.join(Verb)})(?![\w-])")
_FLAG = re.compile(r"(?:--|[—–])(?P<name>[a-zA-Z-]+)\.*(?=\s|$)\s*")
_LINE_END = re.compile(r"[\r\n]")
_BLANK_LINE = re.compile(r"(?:\n\r?|\r)[ \t]*(?:\n\r?|\r)")
_WRITTEN_CHARACTERS_MAX = 80
_VERBS_BY_WORD: Mapping[str, Verb] = MappingProxyType({str(verb): verb for verb in Verb})
_ENDINGS = frozenset({"s", "es", "d", "ed", "ped", "ing", "ping"})


def _read_line(line: Line, tail: int | None) -> Iterator[_Found | NearMiss | Ignored]:
    if "loop" not in line.text.lower() and line.text.isascii():
        return
    seen = _see(line.text)
    beginning = _BEGINNING.match(seen.text)
    begun = None
    if beginning:
        begun = _read_beginning(line, seen, beginning, tail)
        if begun is not None:
            yield begun
    start = beginning.end() if beginning and begun is not None else 0
    for words in _ANYWHERE.finditer(seen.text, start):
        place = _place_of(line, seen, words.start(), words.end(), tail)
        yield Ignored(
            written=words[0][:_WRITTEN_CHARACTERS_MAX], because=place or Because.MID_SENTENCE, line=line.number
        )


def _read_beginning(
    line: Line, seen: _Seen, beginning: re.Match[str], tail: int | None
) -> _Found | NearMiss | Ignored | None:
    place = _place_of(line, seen, beginning.start("own"), beginning.end("own"), tail)
    if place is not None:
        return None
    verb = _VERBS_BY_WORD.get(beginning["word"].rstrip(".").lower())
    if verb is not None and not beginning["mark"]:
        return _found(line, seen, beginning, verb)
    rest = seen.text[beginning.end() :].rstrip()
    meant = _meant(
        beginning["word"].lower(), rest.lower(), slash=beginning["own"].startswith("/"), marked=bool(beginning["mark"])
    )
    written = f"{beginning['own']} {rest}".rstrip()[:_WRITTEN_CHARACTERS_MAX]
    if meant is not None:
        return NearMiss(written=written, meant=meant)
    return Ignored(written=written, because=Because.PROSE, line=line.number)


def _found(line: Line, seen: _Seen, beginning: re.Match[str], verb: Verb) -> _Found:
    end, flags = beginning.end(), set[str]()
    while (flag := _FLAG.match(seen.text, end)) and f"--{flag['name'].lower()}" in VERBS[verb].flags:
        flags.add(f"--{flag['name'].lower()}")
        end = flag.end()
    command = Command(verb=verb, argument=seen.text[end:].rstrip(), flags=frozenset(flags))
    spans = _spans(line.pieces, seen.origin[beginning.start("own")], seen.origin[end - 1] + 1)
    return _Found(command, tuple(spans))


def _see(text: str) -> _Seen:
    if text.isascii():
        return _Seen(text, range(len(text)))
    origin = [index for index, character in enumerate(text) if not _INVISIBLE.match(character)]
    return _Seen("".join(text[index] for index in origin), origin)


def _place_of(line: Line, seen: _Seen, start: int, end: int, tail: int | None) -> Place | None:
    """Where the words between two positions stand; None: in plain text."""
    if line.place is not None:
        return line.place
    first, last, position = seen.origin[start], seen.origin[end - 1], 0
    for piece in line.pieces:
        if piece.place is not None and position <= last and position + len(piece.text) > first:
            return piece.place
        position += len(piece.text)
    return Place.EMAIL_TAIL if tail is not None and line.number >= tail else None


def _spans(pieces: Sequence[Piece], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the source has the text between two positions, and the emphasis that would be left around nothing."""
    openers: list[Piece] = []
    position = 0
    for piece in pieces:
        start, position = position, position + len(piece.text)
        if piece.opens and start < end:
            openers.append(piece)
        elif piece.opens is False and start <= end and openers:
            opener = openers.pop()
            yield opener.start, opener.end
            yield piece.start, piece.end
        elif start < end and position > first:
            written_plainly = len(piece.text) == piece.end - piece.start
            yield (
                piece.start + max(0, first - start),
                piece.start + min(end - start, len(piece.text)) if written_plainly else piece.end,
            )


# --- near misses ---


def _meant(word: str, rest: str, *, slash: bool, marked: bool) -> Verb | None:
    """The verb that a line beginning with our name was meant to have; None: it is prose. All in lower case."""
    bare = word.rstrip(".,:;!?")
    words = [part for part in rest.split() if not part.startswith(("-", "–", "—"))]
    exact = _VERBS_BY_WORD.get(bare)
    if exact is not None:
        return exact if not words or slash or (word.endswith(":") and not marked) else None
    if marked:
        return None
    if len(words) == 1:
        joined = _VERBS_BY_WORD.get(bare + words[0].rstrip(".!"))
        if joined is not None:
            return joined
    return _nearest(bare) if not words or slash else None


def _nearest(word: str) -> Verb | None:
    """The verb that is a slip of the hand away; the nearest, then the first of the table."""
    if any(word.startswith(verb) and word[len(verb) :] in _ENDINGS for verb in Verb):
        return None
    near = [(distance, verb) for verb in Verb if (distance := _distance(word, verb)) <= _slips_max(word, verb)]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _slips_max(word: str, verb: str) -> int:
    return 2 if min(len(word), len(verb)) >= 5 else 1


def _distance(left: str, right: str) -> int:
    """How many letters must be put in, left out, changed or swapped with their neighbour; 3 stands for more than 2."""
    if abs(len(left) - len(right)) > 2:
        return 3
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        upper, row = row, [i]
        for j, other in enumerate(right, start=1):
            cost = min(upper[j] + 1, row[j - 1] + 1, upper[j - 1] + (letter != other))
            swapped = i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other
            row.append(min(cost, before[j - 2] + 1) if swapped else cost)
        before = upper
    return min(row[-1], 3)
