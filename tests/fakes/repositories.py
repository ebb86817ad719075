"""A real remote, a person's hand on real repositories, and the rooms' objects over them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from domain.model import ItemId, ItemKind, Thread
from sessions.clones import CloneOrder, Clones, PreparedClone
from sessions.git import Git, Remote
from sessions.mirrors import Mirrors

SURROUNDINGS = {"PATH": os.environ["PATH"], "TMPDIR": os.environ.get("TMPDIR", "/tmp")}

PERSON = {
    **SURROUNDINGS,
    "HOME": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "A person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


def by_hand(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    """A git call as a person or an agent makes it, with the folder's own configuration; its output, stripped."""
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=PERSON, input=stdin, check=True, capture_output=True, text=True
    ).stdout.strip()


def make_remote(folder: Path) -> Path:
    """A bare repository whose branch `main` has one commit with two files."""
    by_hand(folder, "init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
    by_hand(folder, "init", "--quiet", "--initial-branch=main", "person")
    commit_file(folder / "person", "README", "hello\n")
    commit_file(folder / "person", "src.txt", "one\n")
    by_hand(folder / "person", "remote", "add", "origin", str(folder / "remote.git"))
    by_hand(folder / "person", "push", "--quiet", "origin", "main")
    return folder / "remote.git"


def commit_file(repository: Path, name: str, text: str) -> str:
    """Write and commit one file; the id of the commit."""
    (repository / name).write_text(text)
    by_hand(repository, "add", "--", name)
    by_hand(repository, "commit", "--quiet", "-m", f"Write {name}")
    return by_hand(repository, "rev-parse", "HEAD")


@dataclass
class House:
    """A remote with a person's own repository beside it, and our mirrors and clones."""

    folder: Path
    deadline_s: float = 30.0
    environment: dict[str, str] = field(default_factory=lambda: dict(SURROUNDINGS))

    def __post_init__(self) -> None:
        self.remote_path = self.folder / "remote.git"
        if not self.remote_path.exists():
            make_remote(self.folder)
        self.person = self.folder / "person"
        self.remote = Remote(address=str(self.remote_path))
        self.git = Git(deadline_s=self.deadline_s, environment=self.environment)
        self.mirrors = Mirrors(self.folder / "mirrors", self.git)
        self.clones = Clones(self.folder / "clones", self.git, self.mirrors)

    def order(self, number: int = 15, kind: ItemKind = ItemKind.ISSUE, remote: Remote | None = None) -> CloneOrder:
        return CloneOrder(
            item_id=ItemId(number + 1000),
            thread=Thread(host="github.com", repository_id=7, number=number),
            kind=kind,
            remote=remote or self.remote,
            author_name="the-loop",
            author_email="the-loop@example.org",
        )

    def prepare(self, number: int = 15, kind: ItemKind = ItemKind.ISSUE) -> PreparedClone:
        return self.clones.prepare(self.order(number, kind))

    def at_remote(self, ref: str) -> str:
        """The commit of a ref of the remote; empty where there is none."""
        return by_hand(self.folder, "ls-remote", str(self.remote_path), ref).partition("\t")[0]
