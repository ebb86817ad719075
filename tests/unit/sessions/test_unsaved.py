"""What the removal of a clone would lose is known and said; on demand, and when nothing would be lost, it goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from domain.model import ItemId
from sessions.unsaved import Unsaved
from tests.fakes.repositories import House, by_hand, commit_file

NOTHING = Unsaved(changed=0, changed_paths=(), unpushed=0, commits=())


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_fresh_clone_has_nothing_unsaved(house: House) -> None:
    assert house.clones.unsaved(house.prepare()) == NOTHING


def test_changed_deleted_untracked_and_staged_files_are_unsaved_and_ignored_ones_are_not(house: House) -> None:
    commit_file(house.person, ".gitignore", "*.log\n")
    by_hand(house.person, "push", "--quiet", "origin", "main")
    clone = house.prepare()
    (clone.path / "README").write_text("other\n")
    (clone.path / "src.txt").unlink()
    (clone.path / "new folder").mkdir()
    (clone.path / "new folder" / "a").write_text("x")
    (clone.path / "staged\x1b[2J").write_text("x")
    by_hand(clone.path, "add", "staged\x1b[2J")
    (clone.path / "noise.log").write_text("x")
    unsaved = house.clones.unsaved(clone)
    assert set(unsaved.changed_paths) == {"README", "src.txt", "new folder/", "staged�[2J"}
    assert (unsaved.changed, unsaved.unpushed) == (4, 0)


def test_a_change_that_the_agents_index_hides_is_unsaved(house: House) -> None:
    clone = house.prepare()
    by_hand(clone.path, "update-index", "--assume-unchanged", "README")
    (clone.path / "README").write_text("hidden\n")
    assert by_hand(clone.path, "status", "--porcelain") == ""
    assert house.clones.unsaved(clone).changed_paths == ("README",)


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param([], id="on the item's branch"),
        pytest.param([["switch", "-c", "side"]], id="on another branch"),
        pytest.param([["switch", "--detach"]], id="on no branch"),
    ],
)
def test_commits_that_the_remote_has_not_are_unsaved_wherever_they_are(house: House, commands: list[list[str]]) -> None:
    clone = house.prepare()
    for command in commands:
        by_hand(clone.path, *command)
    commit = commit_file(clone.path, "work", "x\n")
    unsaved = house.clones.unsaved(clone)
    assert [(found.sha, found.subject) for found in unsaved.commits] == [(commit, "Write work")]
    assert (unsaved.changed, unsaved.unpushed) == (0, 1)


@pytest.mark.parametrize(
    "hide",
    [
        pytest.param(["stash"], id="a stash"),
        pytest.param(["worktree", "add", "--detach", "../elsewhere"], id="a worktree"),
    ],
)
def test_commits_off_every_branch_are_unsaved(house: House, hide: list[str]) -> None:
    clone = house.prepare()
    if hide[0] == "stash":
        (clone.path / "README").write_text("stashed\n")
    by_hand(clone.path, *hide)
    if hide[0] == "worktree":
        commit_file(house.folder / "clones" / "elsewhere", "there", "x\n")
    assert house.clones.unsaved(clone).unpushed >= 1


def test_packed_refs_are_seen(house: House) -> None:
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    by_hand(clone.path, "pack-refs", "--all")
    by_hand(clone.path, "gc", "--quiet")
    assert house.clones.unsaved(clone).unpushed == 1
    assert house.clones.push(clone, clone.branch, house.remote) == house.at_remote("refs/heads/the-loop/15")


def test_a_clone_with_unsaved_work_stays_and_says_what_would_be_lost(house: House) -> None:
    clone = house.prepare()
    (clone.path / "work").write_text("x")
    assert house.clones.remove(clone) == Unsaved(changed=1, changed_paths=("work",), unpushed=0, commits=())
    assert (clone.path / "work").exists()


def test_a_saved_clone_is_removed_and_so_is_one_that_is_gone(house: House) -> None:
    clone = house.prepare()
    assert house.clones.remove(clone) is None
    assert house.clones.remove(clone) is None
    assert house.clones.find(clone.item_id, clone.thread) is None
    assert {path.name for path in (house.folder / "clones").iterdir()} == {".1015.git-lock"}
    assert house.prepare() == clone


def test_a_discarded_clone_is_gone_with_its_work(house: House) -> None:
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    house.clones.discard(clone.item_id)
    assert not clone.path.exists()
    house.clones.discard(clone.item_id)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is locked against root")
def test_a_discarded_clone_is_gone_although_its_folders_were_locked(house: House) -> None:
    clone = house.prepare()
    (clone.path / "a" / "b").mkdir(parents=True)
    (clone.path / "a" / "b" / "c").write_text("x")
    (clone.path / "a").chmod(0o000)
    house.clones.discard(clone.item_id)
    assert not clone.path.exists()


def test_a_removal_that_was_killed_is_finished_by_the_next(house: House) -> None:
    clone = house.prepare()
    clone.path.rename(house.folder / "clones" / ".1015.removing")
    assert house.clones.remove(clone) is None
    assert not (house.folder / "clones" / ".1015.removing").exists()


def test_removal_follows_no_link_out_of_the_clone(house: House) -> None:
    outside = house.folder / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    clone = house.prepare()
    (clone.path / "link").symlink_to(outside)
    (clone.path / ".git" / "link").symlink_to(outside)
    house.clones.discard(clone.item_id)
    linked = house.folder / "clones" / "77"
    linked.symlink_to(outside)
    house.clones.discard(ItemId(77))
    assert not os.path.lexists(linked)
    assert (outside / "precious").read_text() == "x"
