"""Whether a shell command is one plain command, and which words it has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_OPERATORS = frozenset(";&|<>()\n\r")
_SUBSTITUTIONS = frozenset("$`")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*", re.DOTALL)


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of one plain command; None where it is anything more.

    More is: an operator, a redirection, a substitution or variable, a second line, an assignment before the
    command, an open quote. What stands inside quotes is text, but a substitution works inside double quotes too.
    """
    if "\0" in command or _has_shell_syntax(command):
        return None
    try:
        words = tuple(shlex.split(command, posix=True))
    except ValueError:
        return None
    if not words or _ASSIGNMENT.fullmatch(words[0]):
        return None
    return words


def begins_with_one_of(words: tuple[str, ...], entries: Iterable[str]) -> bool:
    """True where the command's first words are the words of an entry: `git add` is `git add x`, not `git addx`."""
    return any(entry and words[: len(entry)] == entry for entry in (tuple(item.split()) for item in entries))


def _has_shell_syntax(command: str) -> bool:
    quote = ""
    escaped = False
    for character in command:
        if escaped:
            escaped = False
            if character in "\n\r":
                return True
        elif character == "\\" and quote != "'":
            escaped = True
        elif character == quote:
            quote = ""
        elif quote == "'":
            continue
        elif character in _SUBSTITUTIONS:
            return True
        elif quote:
            continue
        elif character in "'\"":
            quote = character
        elif character in _OPERATORS:
            return True
    return bool(quote) or escaped
