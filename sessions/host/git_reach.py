"""What of a git command reaches beyond the clone, or runs a program, though its beginning is allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_OPTIONS = (
    "contents", "exec", "exec-path", "ext-diff", "extcmd", "file", "no-index", "open-files-in-pager", "output",
    "output-directory", "pathspec-from-file", "receive-pack", "template", "textconv", "upload-pack",
)  # fmt: skip
"""The long options, of whatever verb, that write to a file, read one from anywhere, or run something."""

_HARMLESS = ("text",)
"""A whole name that begins one of those."""

_OF_A_DIFF = re.compile(r"-[^\WBCGILMSUXl_]*?O")
_LETTERS = {
    "commit": re.compile(r"-[^\WCScmu_]*?[Ft]"),
    "diff": _OF_A_DIFF,
    "grep": re.compile(r"-[^\WABCem_]*?[Of]"),
    "log": _OF_A_DIFF,
    "show": _OF_A_DIFF,
    "tag": re.compile(r"-[^\Wmu_]*?F"),
}
"""Verb → a word of letters with one that does the same: it ends where a letter takes the rest for its value."""

_BEFORE_THE_VERB = ("-C", "-c", "--config-env", "--git-dir", "--work-tree")
"""The options of git itself that name another folder or setting, each with a value."""


def reach_of(words: Sequence[str], entry: Sequence[str], clone: Path) -> str | None:
    """What reaches out of a command that begins with the words of `entry`; None where nothing does.

    What the entry says itself is not asked about. An option is known by its beginning, as git knows it, and wherever
    it stands: that it is the value of another option is git's to decide.
    """
    if Path(words[0]).name != "git":
        return None
    verb_at = _verb_position(words)
    verb = words[verb_at] if verb_at < len(words) else ""
    for position, word in enumerate(words[len(entry) :], start=len(entry)):
        if option := _option(word, verb) or (_global(word) if position < verb_at else None):
            return option
    names_an_option = any(_option(word, verb) for word in entry)
    if verb == "diff" and not names_an_option and any(_leads_out(word, clone) for word in words[len(entry) :]):
        return "path outside the clone"
    return None


def _verb_position(words: Sequence[str]) -> int:
    position = 1
    while position < len(words) and words[position].startswith("-"):
        position += 2 if words[position] in _BEFORE_THE_VERB else 1
    return position


def _option(word: str, verb: str) -> str | None:
    """The option of the tables that this word is, by its whole name."""
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        named = (option for option in _OPTIONS if name and name not in _HARMLESS and option.startswith(name))
        return next((f"--{option}" for option in named), None)
    letters = _LETTERS.get(verb)
    found = letters.match(word) if letters is not None else None
    return f"-{found.group()[-1]}" if found else None


def _global(word: str) -> str | None:
    name = word.partition("=")[0]
    return name if name in _BEFORE_THE_VERB else None


def _leads_out(operand: str, clone: Path) -> bool:
    """Whether git would look beside the clone: where one of two paths lies there, it compares any two files."""
    if operand.startswith("-"):
        return False
    try:
        return operand.startswith("~") or not (clone / operand).resolve().is_relative_to(clone.resolve())
    except (OSError, ValueError, RuntimeError):
        return True
