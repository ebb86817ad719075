"""Opening, pushing to and merging pull requests, with real commits behind them."""

from dataclasses import dataclass, replace
from pathlib import Path

from service.demo.github import git
from service.demo.github.acts.issues import new_number, tell_thread, touch
from service.demo.github.acts.rights import require_write
from service.demo.github.failures import Failure
from service.demo.github.records import Account, Issue, Pull, Repository
from service.demo.github.shapes.pulls import pull_of
from service.demo.github.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequested:
    """What a new pull request asks for: `head` is a branch, or `owner:branch` with the repository's own owner."""

    title: str
    body: str | None
    head: str
    base: str
    draft: bool = False


def open_pull(state: State, actor: Account, repository: Repository, wanted: PullRequested) -> Issue:
    """Open a pull request of a branch; 422 for a missing branch, nothing new, or one that is open already."""
    owner, _, branch = wanted.head.rpartition(":")
    if owner and owner.lower() != state.tables.accounts[repository.owner_id].login.lower():
        raise Failure(422, "Validation Failed: head is invalid")
    head_sha = git.branch_sha(Path(repository.folder), branch)
    base_sha = git.branch_sha(Path(repository.folder), wanted.base)
    if head_sha is None or base_sha is None:
        raise Failure(422, f"Validation Failed: {'head' if head_sha is None else 'base'} is invalid")
    if head_sha == base_sha:
        raise Failure(422, f"Validation Failed: No commits between {wanted.base} and {branch}")
    if any(is_open_pull_of(issue, branch, wanted.base) for issue in state.issues(repository)):
        login = state.tables.accounts[repository.owner_id].login
        raise Failure(422, f"Validation Failed: A pull request already exists for {login}:{branch}.")
    pull = Pull(
        id=state.new_id("pull"),
        head_ref=branch,
        head_sha=head_sha,
        head_owner_id=repository.owner_id,
        base_ref=wanted.base,
        base_sha=base_sha,
        fork=False,
        draft=wanted.draft,
    )
    return store_pull(state, actor, repository, wanted.title, wanted.body, pull)


def is_open_pull_of(issue: Issue, head: str, base: str) -> bool:
    """Whether an issue is an open pull request from this branch of the repository itself to that one."""
    pull = issue.pull
    return (
        pull is not None and issue.state == "open" and not pull.fork and pull.head_ref == head and pull.base_ref == base
    )


def open_fork_pull(state: State, actor: Account, repository: Repository, title: str, body: str | None) -> Issue:
    """Open a pull request from the actor's fork; its head is in this repository only as `refs/pull/N/head`."""
    folder = Path(repository.folder)
    base_sha = git.branch_sha(folder, repository.default_branch)
    if base_sha is None:
        raise Failure(422, "Validation Failed: base is invalid")
    pull_id = state.new_id("pull")
    head_sha = git.commit_file(
        folder,
        branch=None,
        parent=base_sha,
        path=f"fork-{pull_id}.txt",
        text="written in a fork\n",
        message="Written in a fork",
        moment=state.now(),
    )
    pull = Pull(
        id=pull_id,
        head_ref="patch-1",
        head_sha=head_sha,
        head_owner_id=actor.id,
        base_ref=repository.default_branch,
        base_sha=base_sha,
        fork=True,
    )
    return store_pull(state, actor, repository, title, body, pull)


def store_pull(state: State, actor: Account, repository: Repository, title: str, body: str | None, pull: Pull) -> Issue:
    """Give a pull request its issue, its number and its `refs/pull/N/head`."""
    issue_id = state.new_id("issue")
    now = state.now()
    issue = Issue(
        id=issue_id,
        repository_id=repository.id,
        number=new_number(state, repository, issue_id),
        title=title,
        body=body,
        author_id=actor.id,
        created_at=now,
        updated_at=now,
        pull=pull,
    )
    git.set_ref(Path(repository.folder), f"refs/pull/{issue.number}/head", pull.head_sha)
    state.tables.issues[issue.id] = issue
    tell_thread(state, actor, repository, issue, "opened")
    return issue


def push(state: State, actor: Account, repository: Repository, branch: str, path: str, text: str) -> str:
    """Commit a file to a branch, made from the default branch where it is missing, and return the sha."""
    require_write(state, actor, repository)
    folder = Path(repository.folder)
    parent = git.branch_sha(folder, branch) or git.branch_sha(folder, repository.default_branch)
    sha = git.commit_file(
        folder,
        branch=branch,
        parent=parent,
        path=path,
        text=text,
        message=f"Change {path}",
        moment=state.now(),
    )
    notice_pushes(state, actor, repository)
    return sha


def notice_pushes(state: State, actor: Account, repository: Repository) -> None:
    """Let open pull requests follow their branches, and tell of each that moved (`synchronize`)."""
    for issue in state.issues(repository):
        pull = issue.pull
        if pull is None or pull.fork or issue.state != "open":
            continue
        sha = git.branch_sha(Path(repository.folder), pull.head_ref)
        if sha is None or sha == pull.head_sha:
            continue
        git.set_ref(Path(repository.folder), f"refs/pull/{issue.number}/head", sha)
        moved = touch(state, replace(issue, pull=replace(pull, head_sha=sha)))
        tell_thread(state, actor, repository, moved, "synchronize", {"before": pull.head_sha, "after": sha})


def merge_pull(state: State, actor: Account, repository: Repository, issue: Issue) -> Issue:
    """Merge a pull request into its base, which closes it."""
    require_write(state, actor, repository)
    pull = pull_of(issue)
    if issue.state != "open":
        raise Failure(405, "Pull Request is not mergeable")
    now = state.now()
    sha = git.merge(
        Path(repository.folder),
        base=pull.base_ref,
        head_sha=pull.head_sha,
        message=f"Merge pull request #{issue.number}",
        moment=now,
    )
    merged = replace(
        issue,
        state="closed",
        closed_at=now,
        closed_by_id=actor.id,
        pull=replace(pull, merged_at=now, merge_commit_sha=sha),
    )
    merged = touch(state, merged)
    tell_thread(state, actor, repository, merged, "closed")
    return merged
