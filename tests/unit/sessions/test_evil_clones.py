"""Nothing that an agent leaves in its clone runs in our hands, and nothing leads us out of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sessions.clones import PreparedClone
from sessions.git_faults import GitFailed, GitFault
from tests.fakes.repositories import House, by_hand, commit_file


class Trap:
    """A program that leaves a canary when it is run."""

    def __init__(self, folder: Path) -> None:
        self.canary = folder / "canary"
        self.program = folder / "trap"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.canary}\ncat\n')
        self.program.chmod(0o755)

    def sprung(self) -> str:
        return self.canary.read_text() if self.canary.exists() else ""


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def _hooks(clone: PreparedClone, trap: Trap) -> None:
    hooks = clone.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        *("pre-commit", "post-checkout", "post-index-change", "pre-push", "reference-transaction", "pre-receive"),
        *(
            "update",
            "post-update",
            "post-receive",
            "post-merge",
            "pre-auto-gc",
            "fsmonitor-watchman",
            "sendemail-validate",
        ),
    ):
        (hooks / name).symlink_to(trap.program)
    _set(clone, "core.hooksPath", str(hooks))


def _fsmonitor(clone: PreparedClone, trap: Trap) -> None:
    _set(clone, "core.fsmonitor", str(trap.program))


def _filters(clone: PreparedClone, trap: Trap) -> None:
    _attributes(clone, "* filter=evil")
    for part in ("clean", "smudge", "process"):
        _set(clone, f"filter.evil.{part}", str(trap.program))
    _set(clone, "filter.evil.required", "true")


def _textconv(clone: PreparedClone, trap: Trap) -> None:
    _attributes(clone, "* diff=evil merge=evil")
    for name in ("diff.evil.textconv", "diff.evil.command", "diff.external", "merge.evil.driver"):
        _set(clone, name, str(trap.program))


def _commands(clone: PreparedClone, trap: Trap) -> None:
    for name in (
        *("core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager", "core.alternateRefsCommand"),
        *("credential.helper", "uploadpack.packObjectsHook", "gpg.program", "alias.status", "remote.origin.uploadpack"),
        *("remote.origin.receivepack", "sequence.editor", "interactive.diffFilter", "pager.status", "pager.rev-list"),
    ):
        _set(clone, name, str(trap.program))
    _set(clone, "remote.origin.url", f"ext::{trap.program}")
    _set(clone, "url.ext::sh.insteadOf", str(clone.path.parent))


def _included(clone: PreparedClone, trap: Trap) -> None:
    (clone.path / "more").write_text(f"[core]\n\tfsmonitor = {trap.program}\n\thooksPath = {trap.program.parent}\n")
    _set(clone, "include.path", str(clone.path / "more"))
    _set(clone, "extensions.worktreeConfig", "true")
    (clone.path / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {trap.program}\n")


def _promisor(clone: PreparedClone, trap: Trap) -> None:
    """Lack an object, and offer a program that would fetch it."""
    lacking = by_hand(clone.path, "rev-parse", "HEAD:work")
    by_hand(clone.path, "config", "core.repositoryformatversion", "1")
    for name, text in {
        "extensions.partialClone": "evil",
        "remote.evil.url": str(clone.path),
        "remote.evil.promisor": "true",
        "remote.evil.uploadpack": str(trap.program),
    }.items():
        _set(clone, name, text)
    (clone.path / ".git" / "objects" / lacking[:2] / lacking[2:]).unlink()


def _submodule(clone: PreparedClone, trap: Trap) -> None:
    inner = clone.path / "inner"
    by_hand(clone.path, "init", "--quiet", "inner")
    commit_file(inner, "a", "x\n")
    by_hand(clone.path, "add", "inner")
    (clone.path / ".gitmodules").write_text(
        f'[submodule "inner"]\n\tpath = inner\n\turl = ext::x\n\tupdate = !{trap.program}\n\tignore = none\n'
    )
    by_hand(clone.path, "add", ".gitmodules")
    by_hand(clone.path, "commit", "--quiet", "-m", "inner")
    by_hand(inner, "config", "core.fsmonitor", str(trap.program))
    by_hand(inner, "config", "filter.evil.clean", str(trap.program))
    (inner / ".gitattributes").write_text("* filter=evil\n")
    (inner / "a").write_text("y\n")
    _set(clone, "submodule.recurse", "true")
    _set(clone, "submodule.inner.update", f"!{trap.program}")


def _set(clone: PreparedClone, name: str, text: str) -> None:
    by_hand(clone.path, "config", name, text)


def _attributes(clone: PreparedClone, line: str) -> None:
    (clone.path / ".gitattributes").write_text(f"{line}\n")
    (clone.path / ".git" / "info").mkdir(exist_ok=True)
    (clone.path / ".git" / "info" / "attributes").write_text(f"{line}\n")


Evil = Callable[[PreparedClone, Trap], None]
TRAPS = pytest.mark.parametrize(
    "evil",
    [
        pytest.param(evil, id=evil.__name__.removeprefix("_"))
        for evil in (_hooks, _fsmonitor, _filters, _textconv, _commands, _included, _promisor, _submodule)
    ],
)


@TRAPS
def test_no_trap_in_a_clone_is_sprung(house: House, trap: Trap, evil: Evil) -> None:
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    evil(clone, trap)
    trap.canary.unlink(missing_ok=True)
    (clone.path / "README").write_text("changed after the trap was laid\n")
    _do_everything(house, clone)
    assert trap.sprung() == ""
    assert not clone.path.exists()


def test_the_traps_work_in_hands_less_careful(house: House, trap: Trap) -> None:
    clone = house.prepare()
    _fsmonitor(clone, trap)
    _hooks(clone, trap)
    by_hand(clone.path, "status")
    assert trap.sprung() != ""


def test_the_filter_traps_work_in_hands_less_careful(house: House, trap: Trap) -> None:
    clone = house.prepare()
    _attributes(clone, "* filter=evil")
    _set(clone, "filter.evil.clean", str(trap.program))
    (clone.path / "README").write_text("HELLO\n")
    by_hand(clone.path, "status")
    assert trap.sprung() != ""


def _do_everything(house: House, clone: PreparedClone) -> None:
    """Each thing that we ever do to a clone; a fault is an answer too."""
    for act in (
        lambda: house.prepare(),
        lambda: house.clones.unsaved(clone),
        lambda: house.clones.push(clone, clone.branch, house.remote),
        lambda: house.clones.push(clone, clone.branch, house.remote, overwrite=True),
        lambda: house.clones.remove(clone),
    ):
        with suppress(GitFailed):
            act()
    house.clones.discard(clone.item_id)


@TRAPS
def test_a_trap_hides_no_unsaved_work(house: House, trap: Trap, evil: Evil) -> None:
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    evil(clone, trap)
    (clone.path / "README").write_text("changed\n")
    unsaved = house.clones.unsaved(clone)
    assert "README" in unsaved.changed_paths
    assert unsaved.unpushed >= 1


@pytest.mark.parametrize("lacking", ["HEAD", "HEAD^{tree}"])
def test_a_clone_that_lacks_what_its_refs_name_is_not_called_saved(house: House, lacking: str) -> None:
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    oid = by_hand(clone.path, "rev-parse", lacking)
    (clone.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(GitFailed):
        house.clones.remove(clone)
    assert clone.path.exists()


def test_a_submodule_with_anything_inside_is_unsaved(house: House) -> None:
    clone = house.prepare()
    by_hand(clone.path, "init", "--quiet", "inner")
    commit_file(clone.path / "inner", "a", "x\n")
    by_hand(clone.path, "add", "inner")
    by_hand(clone.path, "commit", "--quiet", "-m", "inner")
    house.clones.push(clone, clone.branch, house.remote)
    assert house.clones.unsaved(clone).changed_paths == ("inner/",)


def test_the_worktree_is_ours_to_name(house: House, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    clone = house.prepare()
    _set(clone, "core.worktree", str(elsewhere))
    assert not house.clones.unsaved(clone)
    (clone.path / "README").write_text("changed\n")
    assert house.clones.unsaved(clone).changed_paths == ("README",)


def test_a_replaced_commit_is_seen_as_it_is(house: House) -> None:
    clone = house.prepare()
    work = commit_file(clone.path, "work", "x\n")
    by_hand(clone.path, "replace", work, clone.base_sha)
    unsaved = house.clones.unsaved(clone)
    assert work in {commit.sha for commit in unsaved.commits}


def test_odd_but_true_refs_are_data(house: House, trap: Trap) -> None:
    clone = house.prepare()
    work = commit_file(clone.path, "work", "x\n")
    refs = clone.path / ".git" / "refs"
    for name in ("--exec=touch", "$(touch canary)", "-x", "a b", "ünï", "x;y", "HEAD"):
        (refs / "heads" / name).write_text(f"{work}\n")
    (refs / "heads" / "symbolic").write_text("ref: refs/heads/nowhere\n")
    (refs / "heads" / "busy.lock").write_text("")
    assert house.clones.unsaved(clone).unpushed == 1
    assert house.clones.push(clone, clone.branch, house.remote) == work
    assert by_hand(house.folder, "ls-remote", str(house.remote_path)).count("the-loop") == 1


def test_a_pipe_in_the_tree_cannot_hang_us_beyond_the_deadline(house: House) -> None:
    clone = house.prepare()
    os.mkfifo(clone.path / ".gitattributes")
    os.mkfifo(clone.path / ".gitignore")
    impatient = House(house.folder, deadline_s=1.0)
    with pytest.raises(GitFailed) as failed:
        impatient.clones.unsaved(clone)
    assert failed.value.fault is GitFault.TIMEOUT
    house.clones.discard(clone.item_id)


def test_malformed_objects_do_not_enter_the_mirror(house: House) -> None:
    clone = house.prepare()
    tree = by_hand(clone.path, "rev-parse", "HEAD^{tree}")
    blob = by_hand(clone.path, "rev-parse", "HEAD:README")
    entry = b"100644 .git\0" + bytes.fromhex(blob)
    (clone.path / "tree").write_bytes(entry)
    evil_tree = by_hand(clone.path, "hash-object", "-t", "tree", "-w", "--literally", "tree")
    assert evil_tree != tree
    commit = by_hand(clone.path, "commit-tree", evil_tree, "-p", "HEAD", "-m", "evil")
    by_hand(clone.path, "update-ref", "refs/heads/the-loop/15", commit)
    with pytest.raises(GitFailed, match=r"hasDotgit"):
        house.clones.push(clone, clone.branch, house.remote)
    assert house.at_remote("refs/heads/the-loop/15") == ""


@pytest.mark.parametrize("attribute", ["filter=lfs", "text eol=crlf", "ident"])
def test_a_strangers_tree_is_checked_out_without_running_anything(house: House, trap: Trap, attribute: str) -> None:
    (house.person / ".gitattributes").write_text(f"* {attribute}\n")
    (house.person / ".lfsconfig").write_text(f"[lfs]\n\turl = ext::{trap.program}\n")
    (house.person / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = ext::{trap.program}\n')
    by_hand(house.person, "add", "--all")
    by_hand(house.person, "commit", "--quiet", "-m", "attributes")
    by_hand(house.person, "push", "--quiet", "origin", "main")
    clone = house.prepare()
    assert trap.sprung() == ""
    assert not house.clones.unsaved(clone)
