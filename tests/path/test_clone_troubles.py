"""A clone that cannot be made is tried again, then said on the thread in our words alone."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain import texts
from domain.model import Phase
from sessions.git_faults import GitFault
from tests.fakes.core import comment
from tests.fakes.repositories import by_hand, commit_file, make_remote
from tests.fakes.service_in_process import ServiceInProcess

FIRST_PAUSE_S = 2
SMALL_BYTES = 65_536


def point_head_nowhere(remote: Path) -> None:
    by_hand(remote, "symbolic-ref", "HEAD", "refs/heads/gone")


def empty(remote: Path) -> None:
    shutil.rmtree(remote)
    by_hand(remote.parent, "init", "--quiet", "--bare", remote.name)


def carry_away(remote: Path) -> None:
    remote.rename(remote.with_name("elsewhere.git"))


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path, remote: Path) -> Iterator[None]:
    """A disk for clones that the repository does not fit on."""
    person = remote.parent / "person"
    commit_file(person, "large", secrets.token_hex(3 * SMALL_BYTES))
    by_hand(person, "push", "--quiet", "origin", "main")
    disk = tmp_path / "state" / "clones"
    disk.mkdir(parents=True)
    disk.parent.chmod(0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES},mode=0700", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    yield
    subprocess.run(["umount", str(disk)], check=True)


def assert_given_up_after_two_tries(folder: Path, fault: GitFault) -> None:
    with ServiceInProcess(folder, real_clones=True, routing={"max_retries": 1}) as service:
        start = comment(1, "the-loop start secret-words")
        service.arrive(start)
        service.settle()
        assert (service.fates(start), service.said("notice")) == (["inflight"], [])
        service.advance(FIRST_PAUSE_S)
        service.settle()
        notice = texts.gave_up((start.url,), 2, f"the clone could not be made: {fault}")
        assert service.said("notice") == [notice]
        assert (service.fates(start), service.phase()) == (["unhandled"], Phase.FAILED)
        assert service.harness.opens == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        pytest.param(point_head_nowhere, GitFault.DEFAULT_BRANCH_MISSING, id="the-default-branch-is-missing"),
        pytest.param(empty, GitFault.EMPTY_REPOSITORY, id="the-repository-is-empty"),
        pytest.param(carry_away, GitFault.NOT_FOUND, id="the-repository-is-not-there"),
    ],
)
def test_a_repository_that_cannot_be_cloned_is_said_after_the_tries_without_words_of_git_or_of_the_comment(
    tmp_path: Path, remote: Path, spoil: Callable[[Path], None], fault: GitFault
) -> None:
    spoil(remote)
    assert_given_up_after_two_tries(tmp_path, fault)


@pytest.mark.usefixtures("small_disk")
def test_a_full_disk_is_said_after_the_tries_without_words_of_git_or_of_the_comment(tmp_path: Path) -> None:
    assert_given_up_after_two_tries(tmp_path, GitFault.DISK_FULL)
