"""Clones: made whole or not at all, kept while they hold work, pushed to their own branch."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from domain.model import ItemKind
from sessions.git import Remote
from sessions.git_faults import GitFailed, GitFault
from sessions.unsaved import Unsaved
from tests.fakes.repositories import SURROUNDINGS, House, by_hand, commit_file

ROOT = Path(__file__).resolve().parents[3]
NOTHING = Unsaved(changed=0, changed_paths=(), unpushed=0, commits=())


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_clone_is_on_its_items_branch_at_the_default_branchs_commit(house: House) -> None:
    clone = house.prepare()
    assert clone.branch == "the-loop/15"
    assert clone.base_sha == house.at_remote("refs/heads/main")
    assert by_hand(clone.path, "rev-parse", "HEAD") == clone.base_sha
    assert by_hand(clone.path, "symbolic-ref", "HEAD") == "refs/heads/the-loop/15"
    assert by_hand(clone.path, "status", "--porcelain") == ""
    assert (clone.path / "README").read_text() == "hello\n"


def test_a_clone_commits_in_the_name_that_was_ordered_and_knows_no_remote(house: House) -> None:
    clone = house.prepare()
    assert by_hand(clone.path, "config", "user.name") == "the-loop"
    assert by_hand(clone.path, "config", "user.email") == "the-loop@example.org"
    assert by_hand(clone.path, "remote") == ""
    assert str(house.folder) not in (clone.path / ".git" / "config").read_text()
    assert by_hand(clone.path, "rev-parse", "origin/main") == clone.base_sha


def test_a_clone_shares_no_file_with_the_mirror(house: House) -> None:
    clone = house.prepare()
    objects = [path for path in (clone.path / ".git" / "objects").rglob("*") if path.is_file()]
    assert objects
    assert {path.stat().st_nlink for path in objects} == {1}
    assert not (clone.path / ".git" / "objects" / "info" / "alternates").exists()


def test_a_pull_requests_clone_starts_at_its_head_although_no_branch_of_the_remote_holds_it(house: House) -> None:
    head = commit_file(house.person, "from-a-fork", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "HEAD:refs/pull/8/head")
    clone = house.prepare(8, ItemKind.PULL)
    assert clone.base_sha == head
    assert clone.branch == "the-loop/8"
    assert (clone.path / "from-a-fork").read_text() == "x\n"


def test_a_pull_request_without_a_head_is_not_found(house: House) -> None:
    with pytest.raises(GitFailed) as failed:
        house.prepare(9, ItemKind.PULL)
    assert failed.value.fault is GitFault.NOT_FOUND


def test_work_that_was_pushed_before_is_gone_on_with(house: House) -> None:
    commit_file(house.person, "earlier", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "HEAD:refs/heads/the-loop/15")
    commit_file(house.person, "later-on-main", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "HEAD:main")
    assert house.prepare().base_sha == house.at_remote("refs/heads/the-loop/15")


def test_a_pull_request_that_moved_past_our_branch_starts_at_its_head(house: House) -> None:
    commit_file(house.person, "ours", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "HEAD:refs/heads/the-loop/8", "HEAD:refs/pull/8/head")
    head = commit_file(house.person, "theirs", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "HEAD:refs/pull/8/head")
    assert house.prepare(8, ItemKind.PULL).base_sha == head


def test_a_clone_that_stands_is_returned_with_the_work_in_it_and_without_the_remote(house: House) -> None:
    first = house.prepare()
    (first.path / "half-done").write_text("x")
    shutil.rmtree(house.remote_path)
    assert house.prepare() == first
    assert house.clones.find(first.item_id, first.thread) == first
    assert (first.path / "half-done").read_text() == "x"


def test_a_half_made_clone_is_made_anew(house: House) -> None:
    making = house.folder / "clones" / ".1015.making" / ".git"
    making.mkdir(parents=True)
    (making / "HEAD").write_text("half")
    assert (house.prepare().path / "README").exists()
    assert not making.parent.exists()


def test_what_we_did_not_make_is_never_removed_by_preparing(house: House) -> None:
    foreign = house.folder / "clones" / "1015"
    foreign.mkdir(parents=True)
    (foreign / "precious").write_text("x")
    with pytest.raises(GitFailed) as failed:
        house.prepare()
    assert failed.value.fault is GitFault.CLONE_CHANGED
    assert (foreign / "precious").exists()


def test_an_empty_repository_is_said(house: House) -> None:
    by_hand(house.folder, "init", "--quiet", "--bare", "empty.git")
    with pytest.raises(GitFailed) as failed:
        house.clones.prepare(house.order(remote=Remote(address=str(house.folder / "empty.git"))))
    assert failed.value.fault is GitFault.EMPTY_REPOSITORY


def test_a_missing_default_branch_is_said(house: House) -> None:
    by_hand(house.remote_path, "symbolic-ref", "HEAD", "refs/heads/gone")
    with pytest.raises(GitFailed) as failed:
        house.prepare()
    assert failed.value.fault is GitFault.DEFAULT_BRANCH_MISSING


def test_a_remote_that_is_not_there_is_said(house: House) -> None:
    with pytest.raises(GitFailed) as failed:
        house.clones.prepare(house.order(remote=Remote(address=str(house.folder / "nowhere.git"))))
    assert failed.value.fault is GitFault.NOT_FOUND
    assert not (house.folder / "clones" / "1015").exists()


def test_a_full_disk_is_said_and_leaves_no_clone(house: House, tmp_path: Path) -> None:
    small = tmp_path / "clones"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    try:
        (house.person / "large").write_bytes(os.urandom(200_000))
        by_hand(house.person, "add", "large")
        by_hand(house.person, "commit", "--quiet", "-m", "large")
        by_hand(house.person, "push", "--quiet", "origin", "main")
        with pytest.raises(GitFailed) as failed:
            house.prepare()
        assert failed.value.fault is GitFault.DISK_FULL
        assert [path.name for path in small.iterdir() if not path.name.endswith("lock")] == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_two_items_of_one_repository_are_prepared_at_once(house: House) -> None:
    prepared: dict[int, Path] = {}
    gate = threading.Barrier(4)

    def prepare(number: int) -> None:
        gate.wait(10)
        prepared[number] = house.prepare(number).path

    threads = [threading.Thread(target=prepare, args=(number,)) for number in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(prepared) == [1, 2, 3, 4]
    assert {by_hand(path, "status", "--porcelain") for path in prepared.values()} == {""}


def test_one_item_prepared_twice_at_once_is_one_clone(house: House) -> None:
    prepared = []
    gate = threading.Barrier(2)

    def prepare() -> None:
        gate.wait(10)
        prepared.append(house.prepare())

    threads = [threading.Thread(target=prepare) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(prepared) == 2
    assert prepared[0] == prepared[1]


@pytest.mark.parametrize("step", ["fetch", "clone", "read-tree"])
def test_a_service_killed_while_it_prepares_is_followed_by_one_that_prepares(house: House, step: str) -> None:
    """The git that it leaves keeps the repository until it ends too; then everything is made anew."""
    child, git_pid = _prepare_and_hang(house, step)
    try:
        child.send_signal(signal.SIGKILL)
        child.wait(10)
        impatient = House(house.folder, deadline_s=0.3)
        with pytest.raises(GitFailed) as failed:
            impatient.prepare()
        assert failed.value.fault is GitFault.BUSY
    finally:
        os.killpg(git_pid, signal.SIGKILL)
    clone = house.prepare()
    assert by_hand(clone.path, "status", "--porcelain") == ""
    assert house.clones.unsaved(clone) == NOTHING
    leftovers = [*house.folder.glob("*/*.making"), *house.folder.glob("*/*/*.making")]
    assert leftovers == []


def _prepare_and_hang(house: House, step: str) -> tuple[subprocess.Popen[bytes], int]:
    """A process of ours in the midst of preparing, its git hanging right after the step with a lock file left."""
    bin_folder, sign = house.folder / "bin", house.folder / "hanging"
    bin_folder.mkdir()
    real = shutil.which("git")
    wrapper = bin_folder / "git"
    wrapper.write_text(
        f"#!/bin/sh\ncase \" $* \" in *' {step} '*) '{real}' \"$@\"; touch '{house.folder}'/mirrors/github.com/7.git/"
        f"packed-refs.lock 2>/dev/null; echo $$ > '{sign}.new'; mv '{sign}.new' '{sign}'; exec sleep 100;; esac\n"
        f"exec '{real}' \"$@\"\n"
    )
    wrapper.chmod(0o755)
    program = (
        "import sys; from pathlib import Path; from tests.fakes.repositories import House, SURROUNDINGS\n"
        "House(Path(sys.argv[1]), environment={**SURROUNDINGS, 'PATH': sys.argv[2]}).prepare()\n"
    )
    path = f"{bin_folder}:{SURROUNDINGS['PATH']}"
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(house.folder), path],
        env={"PYTHONPATH": str(ROOT), **SURROUNDINGS},
        cwd=house.folder,
    )
    until = time.monotonic() + 30
    while not sign.exists():
        assert child.poll() is None, "the child ended before its git hung"
        assert time.monotonic() < until
        threading.Event().wait(0.01)
    return child, int(sign.read_text())


def test_a_push_brings_the_items_branch_to_the_remote_and_saves_its_commits(house: House) -> None:
    clone = house.prepare()
    commit = commit_file(clone.path, "work", "x\n")
    assert house.clones.push(clone, clone.branch, house.remote) == commit
    assert house.at_remote("refs/heads/the-loop/15") == commit
    assert house.clones.unsaved(clone) == NOTHING
    assert house.clones.push(clone, clone.branch, house.remote) == commit


def test_commits_stay_saved_when_their_branch_was_merged_and_deleted(house: House) -> None:
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    house.clones.push(clone, clone.branch, house.remote)
    by_hand(house.remote_path, "update-ref", "-d", "refs/heads/the-loop/15")
    house.prepare(16)
    assert house.clones.unsaved(clone) == NOTHING


@pytest.mark.parametrize("branch", ["main", "the-loop/16", "refs/heads/the-loop/15", "--force", "the-loop/15:main", ""])
def test_no_other_branch_is_pushed(house: House, branch: str) -> None:
    clone = house.prepare()
    before = by_hand(house.folder, "ls-remote", str(house.remote_path))
    with pytest.raises(ValueError, match="own item's branch"):
        house.clones.push(clone, branch, house.remote)
    assert by_hand(house.folder, "ls-remote", str(house.remote_path)) == before


def test_a_push_over_commits_of_others_is_rejected_until_they_are_known_and_overwriting_is_asked(house: House) -> None:
    clone = house.prepare()
    first = commit_file(clone.path, "work", "x\n")
    house.clones.push(clone, clone.branch, house.remote)
    by_hand(clone.path, "commit", "--quiet", "--amend", "-m", "again")
    with pytest.raises(GitFailed) as failed:
        house.clones.push(clone, clone.branch, house.remote)
    assert failed.value.fault is GitFault.REJECTED
    assert house.at_remote("refs/heads/the-loop/15") == first
    again = house.clones.push(clone, clone.branch, house.remote, overwrite=True)
    assert house.at_remote("refs/heads/the-loop/15") == again

    others = commit_file(house.person, "by-another", "x\n")
    by_hand(house.person, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/the-loop/15")
    with pytest.raises(GitFailed) as failed:
        house.clones.push(clone, clone.branch, house.remote, overwrite=True)
    assert failed.value.fault is GitFault.REJECTED
    assert house.at_remote("refs/heads/the-loop/15") == others


def test_a_push_that_the_remote_declines_is_refused_and_not_called_rejected(house: House) -> None:
    hook = house.remote_path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    clone = house.prepare()
    commit_file(clone.path, "work", "x\n")
    with pytest.raises(GitFailed) as failed:
        house.clones.push(clone, clone.branch, house.remote)
    assert failed.value.fault is GitFault.REFUSED
    assert "protected" in failed.value.detail


def test_a_push_outlives_the_loss_of_the_mirror(house: House) -> None:
    clone = house.prepare()
    commit = commit_file(clone.path, "work", "x\n")
    shutil.rmtree(house.folder / "mirrors")
    assert house.clones.unsaved(clone).unpushed == 1
    assert house.clones.push(clone, clone.branch, house.remote) == commit
    assert house.clones.unsaved(clone) == NOTHING


def test_work_is_called_off_while_it_waits_for_its_turn(house: House) -> None:
    clone = house.prepare()
    cancelled = threading.Event()
    cancelled.set()
    with house.clones._alone(clone.item_id, None), pytest.raises(GitFailed) as failed:
        house.clones.unsaved(clone, cancelled)
    assert failed.value.fault is GitFault.CANCELLED
