"""One fact is one event with one key, whichever road it came by."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from domain.control import Verb
from domain.model import Account, Change, Event, EventKey, Fact, Label, Place, Thread
from domain.ports import Repository, Said
from githubapi import events
from githubapi.events import Site
from githubapi.fields import Malformed

REPOSITORY = Repository(host="github.com", id=7, name="o/r", default_branch="main", clone_url="")
SITE = Site(
    thread=Thread(host="github.com", repository_id=7, number=15),
    label=Label(host="github.com", repository="o/r", number=15),
)
ADA = Account(login="Ada", id=3)
SAID = Said(
    fact=Fact.COMMENT, id=9, author=ADA, body="the-loop start", url="u", created_at_ms=60_000, updated_at_ms=60_000
)
LISTED: dict[str, object] = {
    "id": 9,
    "user": {"login": "Ada", "id": 3},
    "body": "the-loop start",
    "html_url": "u",
    "issue_url": "https://api.github.com/repos/o/r/issues/15",
    "created_at": "1970-01-01T00:01:00Z",
    "updated_at": "1970-01-01T00:01:00Z",
}
DIGEST = hashlib.sha256(b"the-loop start").hexdigest()
EVENT = Event(
    key=EventKey("github.com/issue_comment/9"),
    fact=Fact.COMMENT,
    change=Change.CREATED,
    thread=SITE.thread,
    label=SITE.label,
    object_id=9,
    place=Place(at_ms=60_000, fact=Fact.COMMENT, number=9),
    updated_at_ms=60_000,
    actor=ADA,
    body="the-loop start",
    body_sha256=DIGEST,
    url="u",
)


def test_a_comment_is_the_same_event_written_and_listed() -> None:
    assert events.created(SITE, SAID) == EVENT
    assert events.listed_comment(LISTED, REPOSITORY) == EVENT


def test_a_listed_comment_that_was_changed_is_an_edit_by_nobody_knows_whom() -> None:
    listed = events.listed_comment({**LISTED, "updated_at": "1970-01-01T00:02:00Z"}, REPOSITORY)
    assert listed == replace(
        EVENT,
        key=EventKey(f"github.com/issue_comment/9/edited/120/{DIGEST[:32]}"),
        change=Change.EDITED,
        place=Place(at_ms=120_000, fact=Fact.COMMENT, number=9),
        updated_at_ms=120_000,
    )


@pytest.mark.parametrize("body", [None, "", " \r\n\t"])
def test_an_empty_body_is_no_event(body: str | None) -> None:
    assert events.listed_comment({**LISTED, "body": body}, REPOSITORY) is None
    assert events.listed_comment({**LISTED, "body": body, "updated_at": "1970-01-01T00:02:00Z"}, REPOSITORY) is None


def test_a_deletion_names_who_deleted_and_keeps_whose_text_it_was() -> None:
    bob = Account(login="bob", id=4)
    deleted = events.deleted(SITE, SAID, bob)
    assert (deleted.key, deleted.change, deleted.actor, deleted.editor) == (
        "github.com/issue_comment/9/deleted",
        Change.DELETED,
        ADA,
        bob,
    )


def test_a_listed_comment_without_its_thread_is_malformed() -> None:
    with pytest.raises(Malformed):
        events.listed_comment({**LISTED, "issue_url": None}, REPOSITORY)


def test_commands_are_read_only_where_the_body_names_us() -> None:
    read = events.with_reading(EVENT)
    assert read.reading is not None
    assert [command.verb for command in read.reading.commands] == [Verb.START]
    other = replace(EVENT, body="please start")
    assert events.with_reading(other) is other
