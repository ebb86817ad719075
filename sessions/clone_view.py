"""A look at a clone that an agent had: its refs read as data, its objects and tree through a git directory of ours.

No git of ours runs with the clone's own configuration. Fetching from the clone by its path would: `git upload-pack`
starts inside it and reads its config. Measured with git 2.39.5 and an evil clone: `uploadpack.packObjectsHook`,
`core.fsmonitor`, `core.sshCommand` and `core.alternateRefsCommand` of the clone did not run in such a fetch, but a
promisor remote with `remote.<name>.uploadpack` did as soon as lazy fetching was allowed, which only newer gits forbid
by themselves; and `-c` overrides do not reach the other side of a fetch at all. So the view is a git directory that
holds our config, the ids that we read, and the clone's `objects` as an alternate. What could not be made to run
through it, with git 2.39.5: hooks, fsmonitor, filters, textconv, external diffs, helpers, lazy fetches, anything by
`include.path`; `core.worktree`, replaced objects and submodules lead nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sessions.git_faults import GitFailed, GitFault, fault_of

REFS_MAX: Final = 20_000
_PACKED_REFS_BYTES_MAX: Final = 8 * 1024 * 1024
_REF_BYTES_MAX: Final = 1024
_OID: Final = re.compile(r"[0-9a-f]{40}")
_CONFIG: Final = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\thooksPath = /dev/null
\tfsmonitor = false
\tcommitGraph = false
\tmultiPackIndex = false
\talternateRefsCommand = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
"""Also for the far side of a fetch, which is told nothing on its command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tips:
    """Where a clone's refs lead: `head` is the commit checked out (None before the first one), `refs` the others."""

    head: str | None
    refs: dict[str, str]


def tips_of(clone: Path) -> Tips:
    """Read the clone's refs as files, those that follow a remote left out. Raises GitFailed `clone-changed`."""
    require_plain(clone)
    git_dir = clone / ".git"
    refs = _packed_refs(git_dir)
    for path in _loose_refs(git_dir):
        text = _read(path, _REF_BYTES_MAX).strip()
        name = str(path.relative_to(git_dir))
        if _OID.fullmatch(text):
            refs[name] = text
        elif not text.startswith("ref: "):
            raise _changed(f"the ref {name!r} holds no object id")
    head = _head(git_dir, refs)
    for path in sorted(git_dir.glob("worktrees/*/HEAD")):
        text = _read(path, _REF_BYTES_MAX).strip()
        if _OID.fullmatch(text):
            refs[str(path.relative_to(git_dir))] = text
    kept = {name: oid for name, oid in refs.items() if not name.startswith("refs/remotes/")}
    return Tips(head=head, refs=kept)


@contextmanager
def view_of(clone: Path, at: Path, mirror: Path, commit: str | None) -> Iterator[Path]:
    """A git directory of ours at `at`, gone afterwards, with the objects of the clone and of the mirror.

    Its HEAD, and its one branch `work`, are at the commit; None leaves it unborn. Raises GitFailed `clone-changed`.
    """
    require_plain(clone)
    _require_plain_objects(clone / ".git" / "objects")
    shutil.rmtree(at, ignore_errors=True)
    try:
        _build(at, (mirror / "objects", clone / ".git" / "objects"), commit)
        yield at
    finally:
        shutil.rmtree(at, ignore_errors=True)


def _build(at: Path, stores: tuple[Path, ...], commit: str | None) -> None:
    try:
        (at / "refs" / "heads").mkdir(parents=True, mode=0o700)
        (at / "objects" / "info").mkdir(parents=True)
        alternates = "".join(f"{store}\n" for store in stores if store.is_dir())
        (at / "objects" / "info" / "alternates").write_text(alternates)
        (at / "config").write_text(_CONFIG)
        (at / "HEAD").write_text("ref: refs/heads/work\n")
        if commit is not None:
            (at / "refs" / "heads" / "work").write_text(f"{commit}\n")
    except OSError as error:
        raise GitFailed(fault_of(str(error)), f"the clone cannot be looked at: {error.strerror}") from error


def require_plain(clone: Path) -> None:
    """Raise GitFailed `clone-changed` where a part of the clone is not its own and would lead us elsewhere."""
    for part in (clone, clone / ".git", clone / ".git" / "objects", clone / ".git" / "refs"):
        if not _is(part, stat.S_ISDIR):
            raise _changed(f"{part.relative_to(clone.parent)} is not a folder of its own")
    for borrowed in ("objects/info/alternates", "commondir"):
        if os.path.lexists(clone / ".git" / borrowed):
            raise _changed(f".git/{borrowed} points to another repository")


def _require_plain_objects(objects: Path) -> None:
    """Refuse links and special files among the objects: the one would be read outside, the other would hang us."""
    for folder, folders, files in os.walk(objects, followlinks=False):
        for name in folders:
            if Path(folder, name).is_symlink():
                raise _changed("a folder of its objects is a link")
        for name in files:
            if not _is(Path(folder, name), stat.S_ISREG):
                raise _changed("one of its objects is no plain file")


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except OSError:
        return False


def _loose_refs(git_dir: Path) -> Iterator[Path]:
    count = 0
    for folder, folders, files in os.walk(git_dir / "refs", followlinks=False):
        if any(Path(folder, name).is_symlink() for name in folders):
            raise _changed("a folder of its refs is a link")
        for name in files:
            count += 1
            if count > REFS_MAX:
                raise _changed(f"it has more than {REFS_MAX} refs")
            if not name.endswith(".lock"):
                yield Path(folder, name)


def _packed_refs(git_dir: Path) -> dict[str, str]:
    path = git_dir / "packed-refs"
    if not os.path.lexists(path):
        return {}
    refs = {}
    for line in _read(path, _PACKED_REFS_BYTES_MAX).splitlines():
        oid, _, name = line.partition(" ")
        if _OID.fullmatch(oid) and name:
            refs[name] = oid
        elif not line.startswith(("#", "^")):
            raise _changed("its packed-refs cannot be read")
    return refs


def _head(git_dir: Path, refs: dict[str, str]) -> str | None:
    text = _read(git_dir / "HEAD", _REF_BYTES_MAX).strip()
    if _OID.fullmatch(text):
        return text
    if text.startswith("ref: refs/heads/"):
        return refs.get(text.removeprefix("ref: "))
    raise _changed("its HEAD leads to no branch and no commit")


def _read(path: Path, bytes_max: int) -> str:
    """A plain file's text, never through a link, never waiting on a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(bytes_max + 1) if is_plain else b""
    except OSError as error:
        raise _changed(f".git/{path.name} cannot be read") from error
    if not is_plain or len(content) > bytes_max:
        raise _changed(f".git/{path.name} is no plain file of ordinary size")
    return content.decode("utf-8", "replace")


def _changed(why: str) -> GitFailed:
    return GitFailed(GitFault.CLONE_CHANGED, f"the clone is not what was made for the agent: {why}")
