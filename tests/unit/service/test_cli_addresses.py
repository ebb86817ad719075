"""Whatever people call a work item or a comment by is understood, and everything else is refused with the forms there are."""

from __future__ import annotations

import pytest

from domain.model import Fact, Label
from service.addresses import Comment, Id, NotUnderstood, named, work_item

HOST = "ghe.example:8443"
ITEM = Label(host="github.com", repository="octo/repo", number=15)
HERE = Label(host=HOST, repository="octo/repo", number=15)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        pytest.param("github:octo/repo#15", ITEM, id="ours"),
        pytest.param(f"github:{HOST}/octo/repo#15", HERE, id="ours, another host"),
        pytest.param("octo/repo#15", HERE, id="short: the host of the settings is meant"),
        pytest.param("https://github.com/octo/repo/issues/15", ITEM, id="page of an issue"),
        pytest.param("https://github.com/octo/repo/pull/15/files", ITEM, id="a pull request's files"),
        pytest.param("https://GitHub.com/octo/repo/pull/15?w=1#issuecomment-3", ITEM, id="address of a comment on it"),
        pytest.param(f"http://{HOST}/octo/repo/issues/15", HERE, id="another host's page"),
    ],
)
def test_a_work_item_is_understood_by_any_of_its_names(text, label) -> None:
    assert work_item(text, HOST) == label


@pytest.mark.parametrize(
    "text",
    ["", "15", "#15", "octo/repo", "octo/repo#0", "octo/repo#x", "octo/repo#99999999999999999",
     "https://github.com/octo/repo", "ftp://github.com/octo/repo/issues/1", "--force", "octo/repo#1; rm"],
)  # fmt: skip
def test_what_names_no_work_item_is_refused_with_the_forms_there_are(text) -> None:
    with pytest.raises(NotUnderstood, match="github:\\[host/\\]owner/repo#15"):
        work_item(text, HOST)


@pytest.mark.parametrize(
    ("anchor", "fact", "key"),
    [
        pytest.param("issuecomment-7", Fact.COMMENT, "github.com/issue_comment/7", id="comment"),
        pytest.param("discussion_r7", Fact.INLINE, "github.com/review_comment/7", id="inline comment"),
        pytest.param("r7", Fact.INLINE, "github.com/review_comment/7", id="inline comment among the files"),
        pytest.param("pullrequestreview-7", Fact.REVIEW, "github.com/review/7", id="review"),
    ],
)
def test_a_comment_is_known_by_its_address(anchor, fact, key) -> None:
    meant = named(f"https://github.com/octo/repo/pull/15#{anchor}", HOST)
    assert meant == Comment(item=ITEM, fact=fact, object_id=7)
    assert meant.key == key


@pytest.mark.parametrize(
    "text", ["github.com/issue_comment/7", "72d3162e-cc78-11e3-81ab-4c9367dc0958"], ids=["event key", "delivery id"]
)
def test_what_has_no_other_form_is_a_key_or_an_id(text) -> None:
    assert named(text, HOST) == Id(text)


def test_an_address_of_something_else_is_refused() -> None:
    with pytest.raises(NotUnderstood, match="not the address of an issue"):
        named("https://example.org/about", HOST)
