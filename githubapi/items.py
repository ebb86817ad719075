"""Asks about accounts, repositories, issues, pull requests and single comments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from domain.model import Account, Fact, ItemKind, Thread
from domain.ports import ItemFacts, Missing, NoAnswer, Repository, Said
from githubapi import failures, objects, texts
from githubapi.addresses import repository_address
from githubapi.door import GitHub
from githubapi.failures import CallFailed
from githubapi.fields import Fields, Malformed

_Found = TypeVar("_Found")

_TEXT_PLACES: dict[Fact, tuple[str, Callable[[Fields], Said | None]]] = {
    Fact.COMMENT: ("issues/comments/{id}", texts.comment),
    Fact.INLINE: ("pulls/comments/{id}", texts.inline),
    Fact.REVIEW: ("pulls/{number}/reviews/{id}", texts.review),
}


class GitHubItems:
    """The item port of one host. Nothing is remembered but who we are, per token."""

    def __init__(self, github: GitHub) -> None:
        self._github = github
        self._me: tuple[str, Account] | None = None

    def me(self) -> Account | NoAnswer:
        """The account of our token, asked once."""
        token_id = self._github.token_id
        known = self._me
        if known is not None and known[0] == token_id:
            return known[1]
        account = self._ask("/user", objects.account)
        if isinstance(account, Missing):
            return NoAnswer(failures.NOT_FOUND)
        if isinstance(account, Account):
            self._me = (token_id, account)
        return account

    def item(self, thread: Thread, repository: str) -> ItemFacts | Missing | NoAnswer:
        """An item as it stands; one that was transferred away answers from its new place and is missing here."""
        address = f"{repository_address(thread)}/issues/{thread.number}"
        found = self._ask(address, lambda fields: (fields, objects.issue_facts(fields)))
        if not isinstance(found, tuple):
            return found
        fields, facts = found
        if self._is_elsewhere(fields, thread, repository):
            return Missing()
        if facts.snapshot.kind is ItemKind.ISSUE:
            return facts
        return self._ask(f"{repository_address(thread)}/pulls/{thread.number}", objects.pull_facts)

    def repository(self, name: str) -> Repository | Missing | NoAnswer:
        """A repository by name, or by a former name."""
        if not objects.is_full_name(name):
            return Missing()
        return self._ask(f"/repos/{name}", lambda fields: objects.repository(fields, self._github.host))

    def comment(self, thread: Thread, repository: str, fact: Fact, object_id: int) -> Said | Missing | NoAnswer:
        """A comment, an inline comment or a review; Missing only while its repository can still be seen.

        Raises KeyError for a fact that is no text.
        """
        place, reader = _TEXT_PLACES[fact]
        address = f"{repository_address(thread)}/{place.format(id=object_id, number=thread.number)}"
        found = self._ask(address, reader)
        if isinstance(found, Missing) and not self._is_visible(thread):
            return NoAnswer("repository-not-visible")
        return found

    def _is_visible(self, thread: Thread) -> bool:
        """GitHub answers 404 for what is gone and for what our token may no longer see."""
        return self._ask(repository_address(thread), lambda fields: fields.id("id")) == thread.repository_id

    def _is_elsewhere(self, fields: Fields, thread: Thread, repository: str) -> bool:
        address = fields.values.get("repository_url")
        if fields.values.get("number") != thread.number:
            return True
        if not isinstance(address, str) or address.lower().endswith(f"/repos/{repository.lower()}"):
            return False
        name = self._ask(repository_address(thread), objects.full_name)
        return isinstance(name, str) and not address.lower().endswith(f"/repos/{name.lower()}")

    def _ask(self, address: str, reader: Callable[[Fields], _Found | None]) -> _Found | Missing | NoAnswer:
        try:
            answer = self._github.read(address)
            found = reader(Fields(answer.content if isinstance(answer.content, dict) else {}))
        except CallFailed as problem:
            return failures.absent_or_no_answer(problem.failure)
        except Malformed:
            return NoAnswer("unreadable-answer")
        return found if found is not None else NoAnswer("unreadable-answer")
