"""Speaks on threads, and reads what was said there."""

from __future__ import annotations

from collections.abc import Callable

from domain.model import Fact, ItemKind, Thread
from domain.ports import InDoubt, ItemPort, Listing, Missing, NoAnswer, Posted, Refused, Said, SendResult
from githubapi import conditional, failures, texts
from githubapi.addresses import repository_address, since_text
from githubapi.door import Answer, GitHub
from githubapi.failures import CallFailed
from githubapi.fields import Fields, Malformed

_REACTION_PLACES = {
    Fact.COMMENT: "issues/comments/{id}/reactions",
    Fact.INLINE: "pulls/comments/{id}/reactions",
    Fact.SNAPSHOT: "issues/{number}/reactions",
}

_Reader = Callable[[Fields], Said | None]


class GitHubThreads:
    """The thread port of one host. Threads are addressed by the repository's id, which survives its renames."""

    def __init__(self, github: GitHub, items: ItemPort) -> None:
        self._github = github
        self._items = items

    def post(self, thread: Thread, repository: str, body: str) -> SendResult:
        """Post a comment."""
        address = f"{repository_address(thread)}/issues/{thread.number}/comments"
        return self._send(address, {"body": body})

    def react(self, thread: Thread, repository: str, fact: Fact, object_id: int, content: str) -> SendResult:
        """Put a reaction; over REST a review takes none."""
        place = _REACTION_PLACES.get(fact)
        if place is None:
            return Refused("takes-no-reactions")
        address = f"{repository_address(thread)}/{place.format(id=object_id, number=thread.number)}"
        return self._send(address, {"content": content})

    def own_comments(self, thread: Thread, repository: str, since_ms: int) -> Listing | NoAnswer:
        """Our account's comments; where one cannot be read, the listing is not complete."""
        me = self._items.me()
        if isinstance(me, NoAnswer):
            return me
        try:
            listing = self._list(f"issues/{thread.number}/comments", thread, texts.comment, since_text(since_ms))
        except CallFailed as problem:
            return failures.no_answer(problem.failure)
        own = tuple(said for said in listing.said if said.author is not None and said.author.id == me.id)
        return Listing(said=own, complete=listing.complete)

    def said(self, thread: Thread, repository: str, kind: ItemKind) -> Listing | Missing | NoAnswer:
        """All texts that are not empty."""
        try:
            listings = [self._list(f"issues/{thread.number}/comments", thread, texts.comment)]
            if kind is ItemKind.PULL:
                listings.append(self._list(f"pulls/{thread.number}/reviews", thread, texts.review))
                listings.append(self._list(f"pulls/{thread.number}/comments", thread, texts.inline))
        except CallFailed as problem:
            return failures.absent_or_no_answer(problem.failure)
        said = [said for listing in listings for said in listing.said if said.body.strip()]
        return Listing(
            said=tuple(sorted(said, key=lambda text: (text.created_at_ms, text.id))),
            complete=all(listing.complete for listing in listings),
        )

    def _list(self, place: str, thread: Thread, reader: _Reader, since: str | None = None) -> Listing:
        """What can be read of a listing; complete only if that was everything."""
        parameters = {"since": since} if since else {}
        fetched = conditional.full_list(self._github, f"{repository_address(thread)}/{place}", parameters)
        said = [_read(values, reader) for values in fetched.objects]
        return Listing(
            said=[text for text in said if isinstance(text, Said)],
            complete=fetched.complete and not any(isinstance(text, Malformed) for text in said),
        )

    def _send(self, address: str, content: dict[str, object]) -> SendResult:
        try:
            return _posted(self._github.write("POST", address, content))
        except CallFailed as problem:
            return problem.failure


def _posted(answer: Answer) -> Posted | InDoubt:
    try:
        fields = Fields(answer.content if isinstance(answer.content, dict) else {})
        url = fields.optional_text("html_url") or ""
        return Posted(id=fields.id("id"), url=url, server_time_ms=answer.server_time_ms)
    except Malformed:
        return InDoubt("unreadable-answer", answer.server_time_ms)


def _read(values: dict[str, object], reader: _Reader) -> Said | Malformed | None:
    try:
        return reader(Fields(values))
    except Malformed as problem:
        return problem
