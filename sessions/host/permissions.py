"""What an agent may do without asking a person: one pure table of modes and tool kinds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sessions.host.commands import begins_with_one_of, plain_words
from sessions.host.git_reach import reach_of

OPERATOR_VERBS = frozenset({"sessions", "serve", "init", "demo", "telegram"})
"""What of the command line moves something and is the operator's alone."""
SEAT_COMMANDS = tuple(f"the-loop {verb}" for verb in ("thread", "reply", "ask", "push", "pr", "events"))
DEFAULT_ALLOW_COMMANDS = ("the-loop", "git add", "git commit", "git status", "git diff", "git log")

_READING = frozenset({"read", "search", "think"})
_EDITING = frozenset({"edit", "delete", "move"})
_SETTING = "sessions.permissions"
_COMMANDS_SETTING = "sessions.allow_commands"


class PermissionMode(StrEnum):
    """How much an agent may do by itself (`sessions.permissions`)."""

    DENY = "deny"
    """Look and think; for trees that we do not trust."""
    ALLOW_EDITS = "allow_edits"
    """Also change files inside the clone and run the allowed commands."""
    ALLOW_ALL = "allow_all"
    """Everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRules:
    """What one session's requests are judged by."""

    mode: PermissionMode
    allow_commands: tuple[str, ...]
    clone: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """What the agent wants to do, as far as it said; every text is the agent's own."""

    kind: str
    """The protocol's tool kind; `other` where the agent gave none."""
    title: str
    command: str | None
    """The shell command of an `execute`; None where the agent did not say."""
    paths: tuple[str, ...]
    """The files that would be touched."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer and its reason; a refusal's reason names the setting that would change it."""

    allowed: bool
    reason: str


PermissionPort = Callable[[PermissionRequest], Awaitable[Verdict]]


def judge(request: PermissionRequest, rules: PermissionRules) -> Verdict:
    """Answer a request by mode and tool kind; total, the same for the same request and the same links on disk."""
    words = plain_words(request.command) if request.kind == "execute" and request.command is not None else None
    if words is not None and begins_with_one_of(words, SEAT_COMMANDS):
        return Verdict(True, "a verb of the seat")
    if rules.mode is PermissionMode.ALLOW_ALL:
        return Verdict(True, f"{_SETTING} is {rules.mode}")
    if request.kind in _READING:
        return Verdict(True, f"{request.kind} changes nothing")
    if rules.mode is PermissionMode.DENY:
        return _refuse(rules, f"allows no {request.kind}")
    if request.kind in _EDITING:
        return _judge_edit(request, rules)
    if request.kind == "execute":
        return _judge_command(words, rules)
    return _refuse(rules, f"allows no {request.kind}")


def inside(clone: Path, path: str) -> bool:
    """True where the path, links and `..` followed, lies below the clone; a relative path counts from the clone.

    A path that begins with `~` is outside: who expands it is not known.
    """
    try:
        root, target = clone.resolve(), (clone / path).resolve()
    except (OSError, ValueError, RuntimeError):
        return False
    return target != root and target.is_relative_to(root) and not path.startswith("~")


def _judge_edit(request: PermissionRequest, rules: PermissionRules) -> Verdict:
    if not request.paths:
        return _refuse(rules, f"allows {request.kind} inside the clone only, and the agent named no file")
    if not all(inside(rules.clone, path) for path in request.paths):
        return _refuse(rules, f"allows {request.kind} inside the clone only")
    if any(_is_gits_own(rules.clone, path) for path in request.paths):
        return _refuse(rules, f"allows {request.kind} of no file of git's own: its settings and hooks run programs")
    return Verdict(True, f"{request.kind} inside the clone")


def _is_gits_own(clone: Path, path: str) -> bool:
    """Whether a path inside the clone, links followed, is git's folder or lies in one; some disks know no capitals."""
    below = (clone / path).resolve().relative_to(clone.resolve())
    return any(part.casefold() == ".git" for part in below.parts)


def _judge_command(words: tuple[str, ...] | None, rules: PermissionRules) -> Verdict:
    if words is None:
        return _refuse(rules, "allows one plain command only, without operator, substitution or redirection")
    if words[0] == "the-loop" and OPERATOR_VERBS & set(words[1:]):
        return _refuse(rules, "allows an agent none of the operator's verbs")
    begun = [entry for entry in rules.allow_commands if begins_with_one_of(words, (entry,))]
    if not begun:
        return Verdict(False, f"{_COMMANDS_SETTING} has no entry that this command begins with")
    reaches = [reach_of(words, entry.split(), rules.clone) for entry in begun]
    if None not in reaches:
        return Verdict(False, f"{_COMMANDS_SETTING} allows no {reaches[0]}, unless an entry names it")
    return Verdict(True, f"a command of {_COMMANDS_SETTING}")


def _refuse(rules: PermissionRules, what: str) -> Verdict:
    return Verdict(False, f"{_SETTING} is {rules.mode}, which {what}")
