"""One bare mirror per repository: where clones come from, and the only place that meets a remote."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Final

from domain.model import Thread
from sessions.folder_lock import alone, among_readers
from sessions.git import Git, Remote, Scope, is_branch_name, item_branch, plain_folder
from sessions.git_faults import GitFailed, GitFault

_HOST: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?(?::[0-9]{1,5})?")
_REFSPECS: Final = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_FETCH: Final = ("fetch", "--quiet", "--no-write-fetch-head", "--no-recurse-submodules")
_LEFTOVERS: Final = (
    *("*.lock", "packed-refs.new", "gc.pid", "refs/**/*.lock"),
    *("objects/tmp_*", "objects/*/tmp_*", "objects/*/*.lock"),
)
_OID: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The mirrors in a folder, by host and numeric repository id; no outside name becomes a path."""

    folder: Path
    git: Git

    def __post_init__(self) -> None:
        plain_folder(self.folder)

    def path(self, thread: Thread) -> Path:
        """Where the mirror of the thread's repository lies, made or not. ValueError for a host that is none."""
        if not _HOST.fullmatch(thread.host) or ".." in thread.host:
            raise ValueError("a host is a lower-case name, with a port at most")
        return self.folder / thread.host.replace(":", "_") / f"{int(thread.repository_id)}.git"

    def refresh(self, thread: Thread, remote: Remote, *refs: str, cancelled: Event | None = None) -> str | None:
        """Bring branches, tags and the further `refs` of the remote into the mirror, making it where it is missing.

        Returns the name of the default branch, None where the remote's HEAD points to no branch that exists. What an
        earlier call that was killed left half made is removed first. Raises GitFailed, `empty-repository` among them,
        and then a mirror that was there stays as it was. Safe to repeat.
        """
        with self._alone(thread, cancelled) as scope:
            default = self._default_branch(remote, replace(scope, git_dir=None))
            mirror = self.path(thread)
            if _is_whole(mirror):
                _sweep(mirror)
                self._fetch(scope, remote, refs, default)
            else:
                self._make(mirror, scope, remote, refs, default)
        return default

    @contextmanager
    def reading(self, thread: Thread, cancelled: Event | None = None) -> Iterator[Scope]:
        """The mirror for calls that change nothing in it, and change nothing under them meanwhile."""
        mirror = self.path(thread)
        with among_readers(_lock_of(mirror), self.git.deadline_s, cancelled) as held:
            yield Scope(git_dir=mirror, held=(held,), cancelled=cancelled)

    def commit(self, scope: Scope, ref: str) -> str | None:
        """The commit that the full ref name leads to in the mirror; None where there is no such ref."""
        try:
            return self.git.text(scope, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        except GitFailed as error:
            if error.fault is GitFault.OTHER:
                return None
            raise

    def known_to_remote(self, thread: Thread) -> tuple[str, ...]:
        """Ids of everything that the remote is known to have or have had; empty without a mirror. No network."""
        if not _is_whole(self.path(thread)):
            return ()
        shown = ("refs/heads", "refs/tags", "refs/pull", f"{_private(thread)}/pushed")
        with self.reading(thread) as scope:
            return tuple(self.git.text(scope, "for-each-ref", "--format=%(objectname)", *shown).split())

    def take_in(self, thread: Thread, source: Path, commit: str, cancelled: Event | None = None) -> None:
        """Fetch a commit, checked object by object, from a git directory of ours into the item's private refs."""
        with self._alone(thread, cancelled) as scope:
            _sweep(self.path(thread))
            refspec = f"+{_oid(commit)}:{_private(thread)}/head"
            checked = replace(scope, settings=("fetch.fsckObjects=true",))
            self.git.run(checked, *_FETCH, "--no-tags", "--", str(source), refspec)

    def push(self, thread: Thread, remote: Remote, commit: str, *, overwrite: bool, cancelled: Event | None) -> None:
        """Push a commit that was taken in to the item's own branch, and to no other.

        `overwrite` replaces commits of the branch that are not in ours, but only those that we know of. Raises
        GitFailed: `rejected` where the remote has more, `refused` where it declines.
        """
        target = f"refs/heads/{item_branch(thread.number)}"
        with self._alone(thread, cancelled) as scope:
            _sweep(self.path(thread))
            pushed = f"{_private(thread)}/pushed"
            known = self.commit(scope, pushed) or self.commit(scope, target) or ""
            lease = (f"--force-with-lease={target}:{known}",) if overwrite else ()
            refspec = f"{_oid(commit)}:{target}"
            self.git.run(
                scope, "push", "--porcelain", "--no-verify", *lease, "--", remote.address, refspec, remote=remote
            )
            self.git.run(scope, "update-ref", pushed, commit)

    @contextmanager
    def _alone(self, thread: Thread, cancelled: Event | None) -> Iterator[Scope]:
        mirror = self.path(thread)
        with alone(_lock_of(mirror), self.git.deadline_s, cancelled) as held:
            yield Scope(git_dir=mirror, held=(held,), cancelled=cancelled)

    def _make(self, mirror: Path, scope: Scope, remote: Remote, refs: tuple[str, ...], default: str | None) -> None:
        making = mirror.with_suffix(".making")
        for leftover in (making, mirror):
            if leftover.exists():
                shutil.rmtree(leftover)
        try:
            self.git.run(replace(scope, git_dir=None), "init", "--quiet", "--bare", "--template=", "--", str(making))
            self._fetch(replace(scope, git_dir=making), remote, refs, default)
            making.rename(mirror)
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _fetch(self, scope: Scope, remote: Remote, refs: tuple[str, ...], default: str | None) -> None:
        wanted = (*_REFSPECS, *(f"+{ref}:{ref}" for ref in refs))
        self.git.run(scope, *_FETCH, "--prune", "--", remote.address, *wanted, remote=remote)
        if default is not None:
            self.git.run(scope, "symbolic-ref", "HEAD", f"refs/heads/{default}")

    def _default_branch(self, remote: Remote, scope: Scope) -> str | None:
        """Where the remote's HEAD leads, for what it leads to exists."""
        listing = self.git.run(
            scope, "ls-remote", "--symref", "--", remote.address, "HEAD", "refs/heads/*", remote=remote
        ).decode("utf-8", "surrogateescape")
        lines = [line.split("\t") for line in listing.splitlines()]
        branches = {ref.removeprefix("refs/heads/") for _, ref in lines if ref.startswith("refs/heads/")}
        if not branches:
            raise GitFailed(GitFault.EMPTY_REPOSITORY, "the remote has no branch yet")
        heads = (
            left.removeprefix("ref: refs/heads/") for left, ref in lines if ref == "HEAD" and left.startswith("ref")
        )
        default = next(heads, None)
        return default if default in branches and is_branch_name(default) else None


def _private(thread: Thread) -> str:
    """The refs that are ours alone: no clone and no remote sees them."""
    return f"refs/the-loop/{int(thread.number)}"


def _lock_of(mirror: Path) -> Path:
    return mirror.with_suffix(".lock")


def _oid(text: str) -> str:
    if not _OID.fullmatch(text):
        raise ValueError("an object id is 40 hexadecimal digits")
    return text


def _is_whole(mirror: Path) -> bool:
    return (mirror / "HEAD").is_file() and (mirror / "objects").is_dir() and (mirror / "refs").is_dir()


def _sweep(mirror: Path) -> None:
    """Remove what a killed git left: whoever holds the mirror's lock knows that no git is at work in it."""
    for pattern in _LEFTOVERS:
        for leftover in mirror.glob(pattern):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)
