"""What is taken from GitHub's objects, and what of them may be missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain.model import Account, Anchor, Fact, ItemKind, Snapshot
from domain.ports import Said
from githubapi import objects, texts
from githubapi.fields import Fields, Malformed

AT = "2026-03-01T10:00:00Z"
AT_MS = 1_772_359_200_000
ISSUE: dict[str, object] = {
    "number": 15,
    "title": "Sort fails",
    "state": "open",
    "labels": [{"name": "the-loop"}, "bug"],
    "updated_at": AT,
}
PULL: dict[str, object] = {
    **ISSUE,
    "head": {"ref": "fix", "sha": "abc", "repo": {"id": 7}},
    "base": {"ref": "main", "repo": {"id": 7}},
}
COMMENT: dict[str, object] = {
    "id": 9,
    "user": {"login": "Ada", "id": 3, "type": "User"},
    "body": "the-loop start",
    "html_url": "https://github.com/o/r/issues/15#issuecomment-9",
    "created_at": AT,
    "updated_at": AT,
}


def test_an_issue_says_its_title_state_and_labels() -> None:
    assert objects.issue_snapshot(Fields(ISSUE)) == Snapshot(
        kind=ItemKind.ISSUE, title="Sort fails", is_open=True, labels=("the-loop", "bug"), updated_at_ms=AT_MS
    )


def test_an_issue_with_a_pull_request_behind_it_is_a_pull() -> None:
    assert objects.issue_snapshot(Fields({**ISSUE, "pull_request": {}})).kind is ItemKind.PULL


@pytest.mark.parametrize(
    ("head_repository", "from_fork"),
    [
        pytest.param({"id": 7}, False, id="the same repository"),
        pytest.param({"id": 8}, True, id="another repository"),
        pytest.param(None, True, id="a repository that is gone"),
    ],
)
def test_a_pull_request_says_its_branch_and_whether_it_is_a_forks(head_repository: object, from_fork: bool) -> None:
    snapshot = objects.pull_snapshot(Fields({**PULL, "head": {"ref": "fix", "repo": head_repository}}))
    assert (snapshot.kind, snapshot.head_branch, snapshot.from_fork) == (ItemKind.PULL, "fix", from_fork)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"state": "odd"}, id="unknown state"),
        pytest.param({"labels": None}, id="no labels"),
        pytest.param({"labels": [7]}, id="a label that is a number"),
        pytest.param({"title": None}, id="no title"),
    ],
)
def test_an_issue_of_another_shape_is_malformed(change: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        objects.issue_snapshot(Fields({**ISSUE, **change}))


@pytest.mark.parametrize(
    ("user", "author"),
    [
        pytest.param({"login": "Ada", "id": 3, "type": "User"}, Account(login="Ada", id=3), id="a person"),
        pytest.param(
            {"login": "ci[bot]", "id": 4, "type": "Bot"}, Account(login="ci[bot]", id=4, is_bot=True), id="a bot"
        ),
        pytest.param({"login": "Ada", "id": 3}, Account(login="Ada", id=3), id="without a type"),
        pytest.param(None, None, id="a deleted author"),
    ],
)
def test_the_author_of_a_comment_is_an_account_or_nobody(user: object, author: Account | None) -> None:
    assert texts.comment(Fields({**COMMENT, "user": user})).author == author


@pytest.mark.parametrize(
    ("read", "fact"),
    [pytest.param(texts.comment, Fact.COMMENT, id="comment"), pytest.param(texts.inline, Fact.INLINE, id="inline")],
)
def test_a_comment_says_who_wrote_what_and_when(read: Callable[[Fields], Said], fact: Fact) -> None:
    assert read(Fields(COMMENT)) == Said(
        fact=fact,
        id=9,
        author=Account(login="Ada", id=3),
        body="the-loop start",
        url="https://github.com/o/r/issues/15#issuecomment-9",
        created_at_ms=AT_MS,
        updated_at_ms=AT_MS,
    )


def test_a_review_without_a_text_has_an_empty_one() -> None:
    said = texts.review(Fields({**COMMENT, "body": None, "submitted_at": AT}))
    assert said is not None
    assert (said.fact, said.body, said.created_at_ms, said.updated_at_ms) == (Fact.REVIEW, "", AT_MS, AT_MS)


def test_a_review_that_is_still_being_written_is_nobodys_business() -> None:
    assert texts.review(Fields({**COMMENT, "submitted_at": None})) is None


@pytest.mark.parametrize("written", ["CHANGES_REQUESTED", "changes_requested"])
def test_the_state_of_a_review_is_the_same_on_every_road(written: str) -> None:
    assert texts.review_state(Fields({"state": written})) == "changes_requested"


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        pytest.param({"line": 4, "original_line": 2}, 4, id="where it stands now"),
        pytest.param({"line": None, "original_line": 2}, 2, id="where it stood, when the line is outdated"),
        pytest.param({}, None, id="on a whole file"),
    ],
)
def test_an_inline_comment_says_where_it_stands(lines: dict[str, object], line: int | None) -> None:
    anchor = texts.anchor(Fields({"path": "a.py", "pull_request_review_id": 5, **lines}))
    assert anchor == Anchor(path="a.py", line=line, review_id=5)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("https://api.github.com/repos/o/r/issues/", id="no number"),
        pytest.param("https://api.github.com/repos/o/r/issues/15/comments", id="more behind it"),
        pytest.param("https://api.github.com/repos/o/r/issues/0", id="number 0"),
        pytest.param("https://api.github.com/repos/o/r/issues/99999999999999999999", id="too large"),
    ],
)
def test_an_address_that_names_no_thread_is_malformed(address: str) -> None:
    with pytest.raises(Malformed):
        texts.thread_number(Fields({"issue_url": address}), "issue_url")


@pytest.mark.parametrize("name", ["o/r/../x", "o", "../r", "o/..", "o/r?x", "ö/r", ""])
def test_what_is_no_owner_and_repo_is_no_name_of_a_repository(name: str) -> None:
    with pytest.raises(Malformed):
        objects.full_name(Fields({"full_name": name}))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://GitHub.com/o/r", "github.com"),
        ("https://ghe.example:8443/o/r", "ghe.example:8443"),
        ("https://github.com@evil.example/o/r", "evil.example"),
        ("o/r", ""),
        ("http://[bad", ""),
    ],
)
def test_the_host_of_an_address_is_where_it_leads(url: str, host: str) -> None:
    assert objects.host_of(url) == host
