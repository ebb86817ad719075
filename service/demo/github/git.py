"""The real bare git repositories behind the stand-in's repositories, written with plumbing only."""

import os
import subprocess
from datetime import datetime
from pathlib import Path

GIT_TIMEOUT_S = 30
SAFE_CONFIG = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")


class GitFailed(Exception):
    """A git command of the stand-in ended with an error."""


def run_git(folder: Path, *arguments: str, text: str = "", environment: dict[str, str] | None = None) -> str:
    """Run git on a bare repository and return what it printed, without the last line's end."""
    allowed = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    finished = subprocess.run(
        ["git", *SAFE_CONFIG, "--git-dir", str(folder), *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=GIT_TIMEOUT_S,
        check=False,
        env={
            **allowed,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            **(environment or {}),
        },
    )
    if finished.returncode != 0:
        raise GitFailed(f"git {arguments[0]}: {finished.stderr.strip()}")
    return finished.stdout.rstrip("\n")


def make_repository(folder: Path, default_branch: str, moment: datetime) -> str:
    """Make a bare repository with one commit on its default branch and return the commit's sha."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "--quiet", "--bare", "--initial-branch", default_branch, str(folder))
    return commit_file(
        folder,
        branch=default_branch,
        parent=None,
        path="README.md",
        text=f"# {folder.stem}\n",
        message="Begin",
        moment=moment,
    )


def branch_sha(folder: Path, branch: str) -> str | None:
    """The commit at a branch's tip, or None where there is no such branch."""
    return ref_sha(folder, f"refs/heads/{branch}")


def ref_sha(folder: Path, ref: str) -> str | None:
    """The commit that a full ref name points to, or None where there is no such ref."""
    return run_git(folder, "for-each-ref", "--format=%(objectname)", ref) or None


def set_ref(folder: Path, ref: str, sha: str) -> None:
    """Let a full ref name (`refs/…`) point to a commit."""
    run_git(folder, "update-ref", ref, sha)


def commit_file(
    folder: Path, *, branch: str | None, parent: str | None, path: str, text: str, message: str, moment: datetime
) -> str:
    """Commit one file's new text on top of `parent` (None: a first commit) and return the sha.

    `branch` is moved to the commit; None leaves all branches as they are.
    """
    blob = run_git(folder, "hash-object", "-w", "--stdin", text=text)
    index = folder / "stand-in-index"
    with_index = {"GIT_INDEX_FILE": str(index)}
    run_git(folder, "read-tree", *([parent] if parent else ["--empty"]), environment=with_index)
    run_git(folder, "update-index", "--add", "--index-info", text=f"100644 {blob}\t{path}\n", environment=with_index)
    tree = run_git(folder, "write-tree", environment=with_index)
    index.unlink(missing_ok=True)
    sha = commit_tree(folder, tree, [parent] if parent else [], message, moment)
    if branch is not None:
        set_ref(folder, f"refs/heads/{branch}", sha)
    return sha


def merge(folder: Path, *, base: str, head_sha: str, message: str, moment: datetime) -> str:
    """Move the branch `base` to a merge commit that has the head's tree, and return its sha."""
    base_sha = run_git(folder, "rev-parse", f"refs/heads/{base}")
    sha = commit_tree(folder, f"{head_sha}^{{tree}}", [base_sha, head_sha], message, moment)
    set_ref(folder, f"refs/heads/{base}", sha)
    return sha


def commit_tree(folder: Path, tree: str, parents: list[str], message: str, moment: datetime) -> str:
    """Write a commit by the stand-in's own author at a given time, and return its sha."""
    people = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", "Stand-in"), ("EMAIL", "stand-in@localhost"), ("DATE", moment.isoformat()))
    }
    options = [option for parent in parents for option in ("-p", parent)]
    return run_git(folder, "commit-tree", tree, *options, text=message, environment=people)
