"""The clone of each work item: made from the mirror, looked at, pushed from and removed without trusting it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from domain.model import ItemId, ItemKind, Thread
from sessions.clone_view import require_plain, tips_of, view_of
from sessions.folder_lock import alone
from sessions.git import Git, Remote, Scope, item_branch, plain_folder
from sessions.git_faults import GitFailed, GitFault, fault_of
from sessions.mirrors import Mirrors
from sessions.tree_removal import remove_tree
from sessions.unsaved import Unsaved, unsaved_in

_OID: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneOrder:
    """What a clone is made of: the thread that named the item first, the remote, and who commits in it.

    For a pull request the work starts at its head, for an issue at the default branch; where the remote has the item's
    own branch already, the work goes on from there (for a pull request only while that branch contains its head).
    """

    item_id: ItemId
    thread: Thread
    kind: ItemKind
    remote: Remote
    author_name: str
    author_email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedClone:
    """A clone on its item's branch; `base_sha` is the commit of the remote that it started from."""

    item_id: ItemId
    thread: Thread
    path: Path
    branch: str
    base_sha: str


@dataclass(frozen=True, slots=True)
class Clones:
    """The clones in a folder, by the ids of their work items.

    After `prepare` a clone belongs to an agent and nothing in it is believed. Every method takes the clone's own lock;
    each raises GitFailed, `busy` where another one works on it, and each is safe to repeat.
    """

    folder: Path
    git: Git
    mirrors: Mirrors

    def __post_init__(self) -> None:
        plain_folder(self.folder)

    def find(self, item_id: ItemId, thread: Thread) -> PreparedClone | None:
        """The clone that stands there, as it is; None where there is none. Asks no remote."""
        path = self._path(item_id)
        try:
            base = self._base_file(item_id).read_text("ascii").strip()
        except FileNotFoundError:
            return None
        if not path.is_dir() or path.is_symlink():
            return None
        return PreparedClone(
            item_id=item_id, thread=thread, path=path, branch=item_branch(thread.number), base_sha=_oid(base)
        )

    def prepare(self, order: CloneOrder, cancelled: Event | None = None) -> PreparedClone:
        """The item's clone: the one that stands there with the work in it, else a new one.

        A clone appears whole or not at all; what a killed call left is removed. Raises GitFailed with the fault of the
        remote, `empty-repository`, `default-branch-missing`, `disk-full`, or `clone-changed` where something that we
        did not make is in its place: that is never removed here.
        """
        with self._alone(order.item_id, cancelled) as held:
            found = self.find(order.item_id, order.thread)
            if found is not None:
                require_plain(found.path)
                return found
            if os.path.lexists(self._path(order.item_id)):
                raise _foreign()
            refs = (_pull_head(order.thread),) if order.kind is ItemKind.PULL else ()
            default = self.mirrors.refresh(order.thread, order.remote, *refs, cancelled=cancelled)
            with self.mirrors.reading(order.thread, cancelled) as mirror:
                base = self._start_point(order, default, mirror)
                self._make(order, base, mirror, held)
        return PreparedClone(
            item_id=order.item_id,
            thread=order.thread,
            path=self._path(order.item_id),
            branch=item_branch(order.thread.number),
            base_sha=base,
        )

    def unsaved(self, clone: PreparedClone, cancelled: Event | None = None) -> Unsaved:
        """What would be lost if the clone were removed now. Asks no remote."""
        with self._alone(clone.item_id, cancelled) as held:
            return self._unsaved(clone, held, cancelled)

    def push(
        self,
        clone: PreparedClone,
        branch: str,
        remote: Remote,
        *,
        overwrite: bool = False,
        cancelled: Event | None = None,
    ) -> str:
        """Bring the clone's branch to the remote and return the commit that it is now at.

        Only the item's own branch: ValueError for any other name. Raises GitFailed: `rejected` where the remote's
        branch has commits that ours has not and `overwrite` was not asked for (it replaces only what we knew of),
        `refused` where the remote declines, `not-found` where the clone has no such branch.
        """
        if branch != clone.branch or branch != item_branch(clone.thread.number):
            raise ValueError("an agent pushes its own item's branch and no other")
        with self._alone(clone.item_id, cancelled):
            commit = tips_of(clone.path).refs.get(f"refs/heads/{branch}")
            if commit is None:
                raise GitFailed(GitFault.NOT_FOUND, f"the clone has no branch {branch}")
            if not self.mirrors.path(clone.thread).exists():
                self.mirrors.refresh(clone.thread, remote, cancelled=cancelled)
            with self._view(clone, commit) as view:
                self.mirrors.take_in(clone.thread, view, commit, cancelled)
            self.mirrors.push(clone.thread, remote, commit, overwrite=overwrite, cancelled=cancelled)
        return commit

    def remove(self, clone: PreparedClone, cancelled: Event | None = None) -> Unsaved | None:
        """Remove the clone unless work would be lost: then it stays, and what would be lost is returned.

        None says that it is gone, also when it was gone before.
        """
        with self._alone(clone.item_id, cancelled) as held:
            if self.find(clone.item_id, clone.thread) is not None:
                unsaved = self._unsaved(clone, held, cancelled)
                if unsaved:
                    return unsaved
            elif os.path.lexists(clone.path):
                raise _foreign()
            self._remove(clone.item_id)
        return None

    def discard(self, item_id: ItemId, cancelled: Event | None = None) -> None:
        """Remove the clone with whatever is in it, also one that cannot be looked at any more."""
        with self._alone(item_id, cancelled):
            self._remove(item_id)

    @contextmanager
    def _alone(self, item_id: ItemId, cancelled: Event | None) -> Iterator[int]:
        with alone(self._beside(item_id, "git-lock"), self.git.deadline_s, cancelled) as held:
            yield held

    def _path(self, item_id: ItemId) -> Path:
        return self.folder / f"{int(item_id)}"

    def _beside(self, item_id: ItemId, role: str) -> Path:
        return self.folder / f".{int(item_id)}.{role}"

    def _base_file(self, item_id: ItemId) -> Path:
        return self._beside(item_id, "base")

    def _start_point(self, order: CloneOrder, default: str | None, mirror: Scope) -> str:
        own = self.mirrors.commit(mirror, f"refs/heads/{item_branch(order.thread.number)}")
        if order.kind is ItemKind.PULL:
            head = self.mirrors.commit(mirror, _pull_head(order.thread))
            if head is None:
                raise GitFailed(GitFault.NOT_FOUND, "the pull request's head leads to no commit")
            goes_on = own is not None and not self.git.text(mirror, "rev-list", "--max-count=1", head, f"^{own}")
            return own if own is not None and goes_on else head
        if own is not None:
            return own
        base = None if default is None else self.mirrors.commit(mirror, f"refs/heads/{default}")
        if base is None:
            raise GitFailed(GitFault.DEFAULT_BRANCH_MISSING, "the remote's default branch does not exist")
        return base

    def _make(self, order: CloneOrder, base: str, mirror: Scope, held: int) -> None:
        making = self._beside(order.item_id, "making")
        remove_tree(making)
        outside = Scope(held=(*mirror.held, held), cancelled=mirror.cancelled)
        inside = Scope(git_dir=making / ".git", work_tree=making, held=outside.held, cancelled=mirror.cancelled)
        branch = item_branch(order.thread.number)
        source = str(self.mirrors.path(order.thread))
        try:
            self.git.run(
                outside, "clone", "--quiet", "--no-hardlinks", "--no-checkout", "--template=", "--", source, str(making)
            )
            for section in self._sections_of_the_mirror(inside):
                self.git.run(inside, "config", "--remove-section", section)
            self.git.run(inside, "config", "user.name", order.author_name)
            self.git.run(inside, "config", "user.email", order.author_email)
            self.git.run(inside, "update-ref", f"refs/heads/{branch}", base)
            self.git.run(inside, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
            self.git.run(inside, "read-tree", "--reset", "-u", "HEAD")
            self._base_file(order.item_id).write_text(f"{base}\n")
            making.rename(self._path(order.item_id))
        except OSError as error:
            raise GitFailed(
                fault_of(str(error)), f"the clone could not be put in its place: {error.strerror}"
            ) from error
        finally:
            remove_tree(making)

    def _sections_of_the_mirror(self, clone: Scope) -> tuple[str, ...]:
        """Sections of a fresh clone's config that tell where it came from, which is nobody's business."""
        listed = self.git.text(clone, "config", "--local", "--name-only", "-z", "--list").split("\0")
        sections = {name.rpartition(".")[0] for name in listed}
        return tuple(sorted(section for section in sections if section.startswith(("remote.", "branch."))))

    def _unsaved(self, clone: PreparedClone, held: int, cancelled: Event | None) -> Unsaved:
        tips = tips_of(clone.path)
        saved = (clone.base_sha, *self.mirrors.known_to_remote(clone.thread))
        with self._view(clone, tips.head) as view:
            scope = Scope(git_dir=view, work_tree=clone.path, held=(held,), cancelled=cancelled)
            return unsaved_in(self.git, scope, tips, saved)

    def _view(self, clone: PreparedClone, commit: str | None) -> AbstractContextManager[Path]:
        return view_of(clone.path, self._beside(clone.item_id, "view"), self.mirrors.path(clone.thread), commit)

    def _remove(self, item_id: ItemId) -> None:
        """Out of the way in one step, then deleted, so that a killed removal leaves nothing that looks like a clone."""
        path, removing = self._path(item_id), self._beside(item_id, "removing")
        remove_tree(removing)
        if os.path.lexists(path):
            path.rename(removing)
        self._base_file(item_id).unlink(missing_ok=True)
        for leftover in (removing, self._beside(item_id, "making"), self._beside(item_id, "view")):
            remove_tree(leftover)


def _pull_head(thread: Thread) -> str:
    return f"refs/pull/{int(thread.number)}/head"


def _foreign() -> GitFailed:
    return GitFailed(GitFault.CLONE_CHANGED, "something that is no clone of ours is in the clone's place")


def _oid(text: str) -> str:
    if not _OID.fullmatch(text):
        raise GitFailed(GitFault.CLONE_CHANGED, "the note of the commit that the clone started from cannot be read")
    return text
