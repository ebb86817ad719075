"""A clone whose parts lead elsewhere is refused, kept, and discarded on demand; elsewhere nothing is read or changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sessions.clones import PreparedClone
from sessions.git_faults import GitFailed, GitFault
from tests.fakes.repositories import House, make_remote


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def _git_file(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git").rename(clone.path / "away")
    (clone.path / ".git").write_text(f"gitdir: {foreign}\n")


def _git_link(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git").rename(clone.path / "away")
    (clone.path / ".git").symlink_to(foreign)


def _no_git(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git").rename(clone.path / "away")


def _alternates(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "objects" / "info" / "alternates").write_text(f"{foreign}/objects\n")


def _commondir(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "commondir").write_text(f"{foreign}\n")


def _linked_objects(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "objects").rename(clone.path / "away")
    (clone.path / ".git" / "objects").symlink_to(foreign / "objects")


def _linked_object(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "objects" / "pack" / "x.pack").symlink_to(foreign / "HEAD")


def _linked_object_folder(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "objects" / "zz").symlink_to(foreign / "objects")


def _object_pipe(clone: PreparedClone, foreign: Path) -> None:
    os.mkfifo(clone.path / ".git" / "objects" / "pack" / "x.idx")


def _linked_refs(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "refs").rename(clone.path / "away")
    (clone.path / ".git" / "refs").symlink_to(foreign / "refs")


def _linked_heads(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "refs" / "heads").rename(clone.path / "away")
    (clone.path / ".git" / "refs" / "heads").symlink_to(foreign / "refs" / "heads")


def _linked_ref(clone: PreparedClone, foreign: Path) -> None:
    _own_ref(clone).unlink()
    _own_ref(clone).symlink_to(foreign / "refs" / "heads" / "main")


def _ref_pipe(clone: PreparedClone, foreign: Path) -> None:
    _own_ref(clone).unlink()
    os.mkfifo(_own_ref(clone))


def _absurd_ref(clone: PreparedClone, foreign: Path) -> None:
    _own_ref(clone).write_text("--upload-pack=touch\n")


def _huge_ref(clone: PreparedClone, foreign: Path) -> None:
    _own_ref(clone).write_text("a" * 100_000)


def _absurd_packed_refs(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "packed-refs").write_text("--exec refs/heads/x\n")


def _head_elsewhere(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "HEAD").write_text("ref: ../../../foreign/HEAD\n")


def _head_link(clone: PreparedClone, foreign: Path) -> None:
    (clone.path / ".git" / "HEAD").unlink()
    (clone.path / ".git" / "HEAD").symlink_to(foreign / "HEAD")


def _own_ref(clone: PreparedClone) -> Path:
    return clone.path / ".git" / "refs" / "heads" / "the-loop" / "15"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change, id=change.__name__.removeprefix("_"))
        for change in (
            *(_git_file, _git_link, _no_git, _alternates, _commondir, _linked_objects, _linked_object),
            *(_linked_object_folder, _object_pipe, _linked_refs, _linked_heads, _linked_ref, _ref_pipe, _absurd_ref),
            *(_huge_ref, _absurd_packed_refs, _head_elsewhere, _head_link),
        )
    ],
)
def test_a_clone_that_leads_elsewhere_is_refused_kept_and_discarded_on_demand(
    house: House, tmp_path: Path, change: Callable[[PreparedClone, Path], None]
) -> None:
    (tmp_path / "other").mkdir()
    foreign = make_remote(tmp_path / "other")
    before = sorted(str(path) for path in foreign.rglob("*"))
    clone = house.prepare()
    change(clone, foreign)
    for act in (
        lambda: house.clones.unsaved(clone),
        lambda: house.clones.push(clone, clone.branch, house.remote),
        lambda: house.clones.remove(clone),
    ):
        with pytest.raises(GitFailed) as failed:
            act()
        assert failed.value.fault is GitFault.CLONE_CHANGED
    assert clone.path.exists()
    assert house.at_remote("refs/heads/the-loop/15") == ""
    house.clones.discard(clone.item_id)
    assert not clone.path.exists()
    assert sorted(str(path) for path in foreign.rglob("*")) == before


def test_a_link_in_the_clones_place_is_refused(house: House, tmp_path: Path) -> None:
    clone = house.prepare()
    clone.path.rename(tmp_path / "moved")
    clone.path.symlink_to(tmp_path / "moved")
    for act in (lambda: house.prepare(), lambda: house.clones.unsaved(clone), lambda: house.clones.remove(clone)):
        with pytest.raises(GitFailed) as failed:
            act()
        assert failed.value.fault is GitFault.CLONE_CHANGED
