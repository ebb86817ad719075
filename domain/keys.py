"""The identity of a fact, computed the same way on every road; every key starts with the host."""

from __future__ import annotations

import hashlib

from domain.model import Change, EventKey, Fact, Thread

_KINDS = {Fact.COMMENT: "issue_comment", Fact.REVIEW: "review", Fact.INLINE: "review_comment"}


def body_digest(body: str) -> str:
    """The sha256 of a text in hex; half surrogate pairs have been replaced by the reader before."""
    return hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()


def text_key(host: str, fact: Fact, object_id: int) -> EventKey:
    """The key of a comment, an inline comment or a review that was created."""
    return EventKey(f"{host}/{_KINDS[fact]}/{object_id}")


def edit_key(host: str, fact: Fact, object_id: int, updated_at_ms: int, digest: str) -> EventKey:
    """The key of one edit: the version of the object and what it then said."""
    return EventKey(f"{text_key(host, fact, object_id)}/edited/{updated_at_ms // 1000}/{digest[:32]}")


def deletion_key(host: str, fact: Fact, object_id: int) -> EventKey:
    """The key of a deletion; there can be only one."""
    return EventKey(f"{text_key(host, fact, object_id)}/deleted")


def closure_key(thread: Thread, closed_at_ms: int) -> EventKey:
    """The key of one closing or merging; closing again later is another fact."""
    return EventKey(f"{thread.host}/closed/{thread.repository_id}/{thread.number}/{closed_at_ms // 1000}")


def operator_key(host: str, client_id: str) -> EventKey:
    """The key of an operator's command: the id that the client made and repeats."""
    return EventKey(f"{host}/operator/{client_id}")


def key_of_change(host: str, fact: Fact, change: Change, object_id: int, updated_at_ms: int, digest: str) -> EventKey:
    """The key of what happened to a text."""
    match change:
        case Change.CREATED:
            return text_key(host, fact, object_id)
        case Change.EDITED:
            return edit_key(host, fact, object_id, updated_at_ms, digest)
        case Change.DELETED:
            return deletion_key(host, fact, object_id)
