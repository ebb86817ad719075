"""The stand-in GitHub's state: its tables, its ids, its clock, and who hears what happened."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from service.demo.github.clock import Clock
from service.demo.github.failures import Failure
from service.demo.github.records import (
    Account,
    Comment,
    Delivery,
    Hook,
    Issue,
    Permission,
    Reaction,
    Repository,
    Review,
    ReviewComment,
)
from service.demo.github.wire import JsonObject

Record = TypeVar("Record")

# Comments, reviews and inline comments begin at the same id on purpose, as each kind has a series of its own on GitHub
# too: whoever takes the bare id for an identity is found out. It is above 2^31, as GitHub's are.
FIRST_IDS = {
    "account": 1001,
    "repository": 500_001,
    "issue": 2_600_000_001,
    "pull": 2_700_000_001,
    "comment": 2_900_000_001,
    "review": 2_900_000_001,
    "review_comment": 2_900_000_001,
    "reaction": 300_000_001,
    "hook": 400_001,
    "delivery": 160_000_000_001,
}


@dataclass(slots=True)
class Tables:
    """Everything that a restart of the stand-in keeps."""

    accounts: dict[int, Account] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)
    former_names: dict[str, int] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    review_comments: dict[int, ReviewComment] = field(default_factory=dict)
    reactions: dict[int, Reaction] = field(default_factory=dict)
    hooks: dict[int, Hook] = field(default_factory=dict)
    deliveries: dict[int, Delivery] = field(default_factory=dict)
    issue_numbers: dict[str, int] = field(default_factory=dict)
    next_ids: dict[str, int] = field(default_factory=lambda: dict(FIRST_IDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that hooks are told: GitHub's event and action, who did it, and the payload's own parts."""

    event: str
    action: str
    repository_id: int
    sender_id: int
    parts: JsonObject


class State:
    """The tables behind one lock, and the questions that every room of the stand-in asks of them.

    `lock` is held by whoever reads or changes the tables; it may be taken again by its holder.
    """

    def __init__(self, *, folder: Path, clock: Clock, tables: Tables | None = None) -> None:
        self.folder = folder
        self.clock = clock
        self.tables = tables if tables is not None else Tables()
        self.lock = threading.RLock()
        self.base_url = ""
        self.late_by_s: Callable[[], float] = lambda: 0.0
        self.tell: Callable[[Happening], None] = lambda happening: None

    def now(self) -> datetime:
        return self.clock.now()

    def new_id(self, kind: str) -> int:
        """The next id of a kind of `FIRST_IDS`; never given twice, also after a restart."""
        found = self.tables.next_ids[kind]
        self.tables.next_ids[kind] = found + 1
        return found

    def account(self, login: str) -> Account:
        """The account with this login, compared without case; 404 when there is none."""
        wanted = login.lower()
        for account in self.tables.accounts.values():
            if account.login.lower() == wanted:
                return account
        raise Failure(404, "Not Found")

    def account_by_id(self, account_id: int | None) -> Account | None:
        """The account with this id, or None for an account that is gone."""
        return self.tables.accounts.get(account_id) if account_id is not None else None

    def full_name(self, repository: Repository) -> str:
        return f"{self.tables.accounts[repository.owner_id].login}/{repository.name}"

    def repository(self, full_name: str) -> Repository:
        """The repository that has this `owner/name` now, compared without case; 404 when there is none."""
        wanted = full_name.lower()
        for repository in self.tables.repositories.values():
            if self.full_name(repository).lower() == wanted:
                return repository
        raise Failure(404, "Not Found")

    def issue(self, repository: Repository, number: int) -> Issue:
        """The issue or pull request with this number; 404 when there is none, 410 when it was deleted."""
        issue = self.tables.issues.get(self.tables.issue_numbers.get(f"{repository.id}#{number}", 0))
        if issue is None:
            raise Failure(404, "Not Found")
        if issue.deleted:
            raise Failure(410, "This issue was deleted")
        return issue

    def issues(self, repository: Repository) -> list[Issue]:
        """All issues and pull requests of a repository that were not deleted, oldest first."""
        return [
            issue for issue in self.tables.issues.values() if issue.repository_id == repository.id and not issue.deleted
        ]

    def permission(self, repository: Repository, account: Account) -> Permission:
        """What an account may do: the owner is admin, strangers read what is public."""
        if account.id == repository.owner_id:
            return Permission.ADMIN
        stranger = Permission.NONE if repository.private else Permission.READ
        return repository.permissions.get(account.id, stranger)


def found(table: dict[int, Record], record_id: int) -> Record:
    """The record with this id; 404 when there is none."""
    record = table.get(record_id)
    if record is None:
        raise Failure(404, "Not Found")
    return record
