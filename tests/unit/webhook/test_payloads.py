"""Each GitHub event becomes an event, a pass with a reason, or a pong; what we read is read strictly, the rest not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

from domain.keys import body_digest
from domain.model import (
    Account,
    Anchor,
    Change,
    Event,
    EventKey,
    Fact,
    ItemKind,
    Label,
    PassReason,
    Place,
    Snapshot,
    Thread,
)
from githubapi.fields import Malformed
from webhook.payloads import READERS, read
from webhook.payloads.origin import header_agrees
from webhook.payloads.results import Passed, Pong

Document = dict[str, object]

AT_MS = 1_772_359_200_000
ADA = Account(login="Ada", id=3)
BOB = Account(login="bob", id=4)
THREAD = Thread(host="github.com", repository_id=7, number=15)
LABEL = Label(host="github.com", repository="o/r", number=15)
ISSUE_SNAPSHOT = Snapshot(
    kind=ItemKind.ISSUE, title="Sort fails", is_open=True, labels=("the-loop",), updated_at_ms=AT_MS + 1000
)
PULL_SNAPSHOT = replace(ISSUE_SNAPSHOT, kind=ItemKind.PULL, head_branch="fix", from_fork=True)

ADA_OBJECT: Document = {"login": "Ada", "id": 3, "type": "User"}
BOB_OBJECT: Document = {"login": "bob", "id": 4, "type": "User"}
REPOSITORY: Document = {"id": 7, "full_name": "o/r", "html_url": "https://github.com/o/r"}
ISSUE: Document = {
    "id": 1500,
    "number": 15,
    "title": "Sort fails",
    "state": "open",
    "labels": [{"name": "the-loop"}],
    "html_url": "https://github.com/o/r/issues/15",
    "updated_at": "2026-03-01T10:00:01Z",
    "closed_at": None,
}
PULL: Document = {**ISSUE, "head": {"ref": "fix", "repo": {"id": 8}}, "base": {"repo": {"id": 7}}}
TEXT: Document = {
    "id": 9,
    "user": ADA_OBJECT,
    "body": "also cover the empty list",
    "html_url": "https://github.com/o/r/issues/15#issuecomment-9",
    "created_at": "2026-03-01T10:00:00Z",
    "updated_at": "2026-03-01T10:00:00Z",
}
INLINE: Document = {**TEXT, "path": "sort.py", "line": 4, "pull_request_review_id": 12}
REVIEW: Document = {**TEXT, "state": "approved", "submitted_at": "2026-03-01T10:00:00Z"}
AROUND: Document = {"repository": REPOSITORY, "sender": ADA_OBJECT}
COMMENTED: Document = {"action": "created", "issue": ISSUE, "comment": TEXT, **AROUND}

EVENT = Event(
    key=EventKey("github.com/issue_comment/9"),
    fact=Fact.COMMENT,
    change=Change.CREATED,
    thread=THREAD,
    label=LABEL,
    object_id=9,
    place=Place(at_ms=AT_MS, fact=Fact.COMMENT, number=9),
    updated_at_ms=AT_MS,
    actor=ADA,
    body="also cover the empty list",
    body_sha256=body_digest("also cover the empty list"),
    url="https://github.com/o/r/issues/15#issuecomment-9",
    title="Sort fails",
    snapshot=ISSUE_SNAPSHOT,
)


def test_a_comment_on_an_issue_is_an_event_with_the_issues_state() -> None:
    assert read("issue_comment", COMMENTED, "github.com") == EVENT


def test_a_comment_on_a_pull_request_is_known_by_the_issue_that_stands_behind_it() -> None:
    event = read("issue_comment", {**COMMENTED, "issue": {**ISSUE, "pull_request": {"url": "u"}}}, "github.com")
    assert event == replace(EVENT, snapshot=replace(ISSUE_SNAPSHOT, kind=ItemKind.PULL))


def test_an_inline_comment_says_where_it_stands_and_whose_head_it_is() -> None:
    payload = {"action": "created", "pull_request": PULL, "comment": INLINE, **AROUND}
    assert read("pull_request_review_comment", payload, "github.com") == replace(
        EVENT,
        key=EventKey("github.com/review_comment/9"),
        fact=Fact.INLINE,
        place=Place(at_ms=AT_MS, fact=Fact.INLINE, number=9),
        anchor=Anchor(path="sort.py", line=4, review_id=12),
        snapshot=PULL_SNAPSHOT,
    )


def test_a_submitted_review_is_an_event_with_its_state() -> None:
    payload = {"action": "submitted", "pull_request": PULL, "review": REVIEW, **AROUND}
    assert read("pull_request_review", payload, "github.com") == replace(
        EVENT,
        key=EventKey("github.com/review/9"),
        fact=Fact.REVIEW,
        place=Place(at_ms=AT_MS, fact=Fact.REVIEW, number=9),
        review_state="approved",
        snapshot=PULL_SNAPSHOT,
    )


def test_a_deleted_comment_counts_for_its_author_and_names_who_deleted_it() -> None:
    payload = {**COMMENTED, "action": "deleted", "sender": BOB_OBJECT}
    assert read("issue_comment", payload, "github.com") == replace(
        EVENT, key=EventKey("github.com/issue_comment/9/deleted"), change=Change.DELETED, editor=BOB
    )


@pytest.mark.parametrize(
    ("event_name", "item_name", "item", "snapshot"),
    [
        pytest.param("issues", "issue", ISSUE, ISSUE_SNAPSHOT, id="issue"),
        pytest.param("pull_request", "pull_request", PULL, PULL_SNAPSHOT, id="pull request"),
    ],
)
def test_a_closing_is_an_event_of_who_closed_it(
    event_name: str, item_name: str, item: Document, snapshot: Snapshot
) -> None:
    closed = {**item, "state": "closed", "closed_at": "2026-03-01T10:00:00Z"}
    payload = {"action": "closed", item_name: closed, "repository": REPOSITORY, "sender": BOB_OBJECT}
    assert read(event_name, payload, "github.com") == Event(
        key=EventKey(f"github.com/closed/7/15/{AT_MS // 1000}"),
        fact=Fact.CLOSURE,
        change=Change.CREATED,
        thread=THREAD,
        label=LABEL,
        object_id=15,
        place=Place(at_ms=AT_MS, fact=Fact.CLOSURE, number=15),
        updated_at_ms=AT_MS + 1000,
        actor=BOB,
        url="https://github.com/o/r/issues/15",
        title="Sort fails",
        snapshot=replace(snapshot, is_open=False),
    )


@pytest.mark.parametrize("action", ["opened", "reopened", "labeled", "unlabeled", "edited", "assigned", "unassigned"])
@pytest.mark.parametrize(("event_name", "item_name"), [("issues", "issue"), ("pull_request", "pull_request")])
def test_what_changes_an_items_state_is_noted_without_a_key(event_name: str, item_name: str, action: str) -> None:
    event = read(event_name, {"action": action, item_name: PULL, **AROUND}, "github.com")
    assert isinstance(event, Event)
    assert (event.key, event.fact, event.object_id, event.place.at_ms) == (None, Fact.SNAPSHOT, 15, AT_MS + 1000)


@pytest.mark.parametrize(
    ("event_name", "payload"),
    [
        pytest.param("push", {"ref": 7}, id="another event, whatever its shape"),
        pytest.param("issue_comment", {"action": "pinned"}, id="another action, whatever else it says"),
        pytest.param("issues", {"action": "locked"}, id="an action that changes no state of ours"),
        pytest.param("pull_request_review", {"action": "dismissed"}, id="a dismissed review"),
        pytest.param("issue_comment", {**COMMENTED, "comment": {**TEXT, "body": None}}, id="a comment without a text"),
        pytest.param(
            "pull_request_review",
            {"action": "submitted", "pull_request": PULL, "review": {**REVIEW, "body": None}, **AROUND},
            id="a review without a text",
        ),
    ],
)
def test_what_holds_nothing_for_us_is_passed(event_name: str, payload: Document) -> None:
    assert read(event_name, payload, "github.com") == Passed(PassReason.NOT_FOR_US)


def test_a_deleted_author_is_nobody() -> None:
    event = read("issue_comment", {**COMMENTED, "comment": {**TEXT, "user": None}, "sender": None}, "github.com")
    assert event == replace(EVENT, actor=None)


def _without(*path: str) -> Callable[[Document], None]:
    def remove(document: Document) -> None:
        *parents, last = path
        for name in parents:
            document = document[name]  # type: ignore[assignment]
        del document[last]

    return remove


def _with(value: object, *path: str) -> Callable[[Document], None]:
    def put(document: Document) -> None:
        *parents, last = path
        for name in parents:
            document = document[name]  # type: ignore[assignment]
        document[last] = value

    return put


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        pytest.param(_without("action"), "action", id="no action"),
        pytest.param(_with(7, "action"), "action", id="an action that is a number"),
        pytest.param(_without("repository"), "repository", id="no repository"),
        pytest.param(_with([], "repository"), "repository", id="a repository that is a list"),
        pytest.param(_with(True, "repository", "id"), "repository.id", id="a repository's id that is true"),
        pytest.param(_with("../x", "repository", "full_name"), "repository.full_name", id="a name that is a path"),
        pytest.param(
            _with("https://evil.example/o/r", "repository", "html_url"), "repository.html_url", id="another host"
        ),
        pytest.param(_with("15", "issue", "number"), "issue.number", id="a number that is a text"),
        pytest.param(_with(2**53 + 1, "comment", "id"), "comment.id", id="an id above 2^53"),
        pytest.param(_with({}, "comment", "body"), "comment.body", id="a body that is an object"),
        pytest.param(_with("gestern", "comment", "created_at"), "comment.created_at", id="a time that is none"),
        pytest.param(_with("Ada", "comment", "user"), "comment.user", id="an author that is a text"),
        pytest.param(_with(None, "comment", "user", "login"), "comment.user.login", id="an author without a login"),
        pytest.param(_with("merged", "issue", "state"), "issue.state", id="a state that is none"),
        pytest.param(_with([{"name": 1}], "issue", "labels"), "issue.labels.name", id="a label that is a number"),
    ],
)
def test_another_shape_than_the_one_we_read_is_malformed(damage: Callable[[Document], None], field: str) -> None:
    payload = copy.deepcopy(COMMENTED)
    damage(payload)
    with pytest.raises(Malformed) as caught:
        read("issue_comment", payload, "github.com")
    assert caught.value.field == field


def test_unknown_fields_may_have_any_shape() -> None:
    payload = {**COMMENTED, "new": [None], "comment": {**TEXT, "reactions": "many", "author_association": 7}}
    assert read("issue_comment", payload, "github.com") == EVENT


def test_the_host_of_a_port_of_its_own_is_another_host() -> None:
    payload = {**COMMENTED, "repository": {**REPOSITORY, "html_url": "https://ghe.example:8443/o/r"}}
    event = read("issue_comment", payload, "ghe.example:8443")
    assert isinstance(event, Event)
    assert event.key == "ghe.example:8443/issue_comment/9"
    with pytest.raises(Malformed):
        read("issue_comment", payload, "ghe.example")


@pytest.mark.parametrize(
    ("header", "host", "agrees"),
    [
        (None, "github.com", True),
        ("ghe.example", "github.com", False),
        ("GHE.example", "ghe.example", True),
        ("ghe.example", "ghe.example:8443", True),
        ("other.example", "ghe.example", False),
        ("", "github.com", False),
    ],
)
def test_the_enterprise_header_may_only_object(header: str | None, host: str, agrees: bool) -> None:
    assert header_agrees(header, host) is agrees


ABOUT_WORK = tuple(sorted(set(READERS) - {"ping"}))


@pytest.mark.parametrize(
    ("hook", "pong"),
    [
        pytest.param(
            {"events": ["*"], "config": {"content_type": "json"}},
            Pong(missing_events=(), content_type="json"),
            id="sends everything",
        ),
        pytest.param(
            {"events": [*ABOUT_WORK, "push"], "config": {"content_type": "form"}},
            Pong(missing_events=(), content_type="form"),
            id="sends what we need",
        ),
        pytest.param(
            {"events": ["push", "issue_comment"]},
            Pong(
                missing_events=("issues", "pull_request", "pull_request_review", "pull_request_review_comment"),
                content_type=None,
            ),
            id="lacks some",
        ),
    ],
)
def test_a_ping_tells_which_events_the_hook_does_not_send_although_we_need_them(hook: Document, pong: Pong) -> None:
    assert read("ping", {"zen": "z", "hook": hook}, "github.com") == pong
