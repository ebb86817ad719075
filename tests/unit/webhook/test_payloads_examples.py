"""Every example payload that GitHub's own users collected is read, and its texts arrive unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Change, Event, Fact, PassReason
from webhook.payloads import READERS, read
from webhook.payloads.results import Passed, Pong

PACKAGE = Path(".tools", "webhooks-examples", "node_modules", "@octokit", "webhooks-examples")
COUNT = 329
CREATED_OR_DELETED = ("created", "deleted", "submitted")

Example = tuple[str, dict[str, object]]


@pytest.fixture(scope="module")
def examples(pytestconfig: pytest.Config) -> list[Example]:
    """All payloads of github.com with the names of their events."""
    index = pytestconfig.rootpath / PACKAGE / "api.github.com" / "index.json"
    if not index.exists():
        pytest.skip("the npm package @octokit/webhooks-examples is not installed (make test installs it)")
    entries = json.loads(index.read_text(encoding="utf-8"))
    return [(entry["name"], payload) for entry in entries for payload in entry["examples"]]


def _read_as(examples: list[Example], *names: str) -> Iterator[tuple[dict[str, object], object]]:
    return ((payload, read(name, payload, "github.com")) for name, payload in examples if name in names)


def test_every_example_gives_an_ordinary_result(examples: list[Example]) -> None:
    results = [(name, read(name, payload, "github.com")) for name, payload in examples]
    assert len(results) == COUNT
    # The reviews among the examples have no text, and so are no events.
    assert {name for name, result in results if isinstance(result, Event | Pong)} == set(READERS) - {
        "pull_request_review"
    }
    assert {result for name, result in results if name not in READERS} == {Passed(PassReason.NOT_FOR_US)}


@pytest.mark.parametrize(
    ("event_name", "part", "fact"),
    [
        ("issue_comment", "comment", Fact.COMMENT),
        ("pull_request_review", "review", Fact.REVIEW),
        ("pull_request_review_comment", "comment", Fact.INLINE),
    ],
)
def test_the_texts_of_comments_and_reviews_are_those_of_the_payload(
    examples: list[Example], event_name: str, part: str, fact: Fact
) -> None:
    read_texts = []
    for payload, result in _read_as(examples, event_name):
        said = payload[part]
        assert isinstance(said, dict)
        if payload["action"] not in CREATED_OR_DELETED or (payload["action"] != "deleted" and not said["body"]):
            assert result == Passed(PassReason.NOT_FOR_US)
            continue
        assert isinstance(result, Event)
        assert result.change is (Change.DELETED if payload["action"] == "deleted" else Change.CREATED)
        assert (result.fact, result.object_id, result.url) == (fact, said["id"], said["html_url"])
        assert result.body == (said["body"] or "")
        read_texts.append(result.body)
    assert read_texts or fact is Fact.REVIEW


def test_closings_name_who_closed_the_item(examples: list[Example]) -> None:
    closings = [
        (payload["sender"]["id"], result.actor.id)  # type: ignore[index, union-attr]
        for payload, result in _read_as(examples, "issues", "pull_request")
        if isinstance(result, Event) and result.fact is Fact.CLOSURE
    ]
    assert closings
    assert all(sender == actor for sender, actor in closings)
