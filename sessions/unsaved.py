"""What would be lost with a clone, compared by an index of ours so that nobody's shortcuts count."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sessions.clone_view import Tips
from sessions.git import Git, Scope

SHOWN_MAX: Final = 50
"""How many changed paths, and how many commits, `Unsaved` names; it counts all of them."""

_GITLINK: Final = b"160000 "


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that exists in a clone only; the subject is the agent's text, cut and printable."""

    sha: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """What the removal of a clone would lose.

    `changed` counts paths that differ from the commit checked out (untracked ones included, a new folder as one;
    ignored ones not) and submodules with anything inside, which are not looked into. `unpushed` counts the commits,
    on whatever ref, that the remote is not known to have or have had. At most SHOWN_MAX of each are named.
    """

    changed: int
    changed_paths: tuple[str, ...]
    unpushed: int
    commits: tuple[Commit, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.unpushed)


def unsaved_in(git: Git, scope: Scope, tips: Tips, saved: Iterable[str]) -> Unsaved:
    """Compare, in the scope of a view, the tree with the commit checked out, and the tips with the saved commits."""
    changed = _changed_paths(git, scope, tips)
    unpushed, commits = _commits_only_here(git, scope, tips, saved)
    return Unsaved(
        changed=len(changed),
        changed_paths=tuple(_printable(path) for path in changed[:SHOWN_MAX]),
        unpushed=unpushed,
        commits=commits,
    )


def _changed_paths(git: Git, scope: Scope, tips: Tips) -> list[str]:
    if tips.head is not None:
        git.run(scope, "read-tree", "HEAD")
    how = ("--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames")
    status = git.run(scope, "status", *how).split(b"\0")
    changed = [os.fsdecode(entry[3:]) for entry in status if entry]
    return changed + [f"{name}/" for name in _submodules(git, scope) if _has_anything(scope, name)]


def _submodules(git: Git, scope: Scope) -> list[str]:
    entries = git.run(scope, "ls-files", "--stage", "-z").split(b"\0")
    return [os.fsdecode(entry.partition(b"\t")[2]) for entry in entries if entry.startswith(_GITLINK)]


def _has_anything(scope: Scope, name: str) -> bool:
    try:
        with os.scandir((scope.work_tree or Path()) / name) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


def _commits_only_here(git: Git, scope: Scope, tips: Tips, saved: Iterable[str]) -> tuple[int, tuple[Commit, ...]]:
    mine = sorted({*tips.refs.values(), *filter(None, [tips.head])})
    theirs = sorted(set(saved))
    asked = "".join([*(f"{oid}\n" for oid in mine), *(f"^{oid}\n" for oid in theirs)]).encode()
    count = int(git.text(scope, "rev-list", "--count", "--stdin", stdin=asked))
    shown = (f"--max-count={SHOWN_MAX}", "--no-commit-header", "--format=%H %s", "--stdin")
    lines = git.text(scope, "rev-list", *shown, stdin=asked).split("\n") if count else []
    return count, tuple(Commit(sha=line[:40], subject=_printable(line[41:])) for line in lines)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "�" for sign in text)[:200]
