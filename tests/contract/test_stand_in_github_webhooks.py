"""The stand-in GitHub tells hooks what happened as GitHub does: signed over the raw bytes, once, in GitHub's shapes."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import github
import pytest

from service.demo.github.records import Permission
from service.demo.github.standin import StandIn
from tests.fakes.github import Inbox, Received, client

SECRET = "a webhook secret"
REPO = "octo/app"
EXAMPLES = Path(__file__).parents[2] / ".tools" / "webhooks-examples"


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with Inbox() as receiving:
        yield receiving


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path / "github") as running:
        running.add_repository(REPO)
        running.add_account("octo", token="owner-token")
        running.set_permission(REPO, "ada", Permission.WRITE)
        running.open_issue("ada", REPO, "An issue", "Its text")
        running.open_pull("ada", REPO, "A change", "change")
        yield running


def content(received: Received) -> dict[str, object]:
    read = json.loads(received.body)
    assert isinstance(read, dict)
    return read


def test_a_new_hook_is_pinged_with_its_events(stand_in: StandIn, inbox: Inbox) -> None:
    repository = client(stand_in, "owner-token").get_repo(REPO)
    config = {"url": inbox.url, "content_type": "json", "secret": SECRET}
    hook = repository.create_hook("web", config, ["issue_comment"], active=True)
    (ping,) = inbox.wait_for_count(1)
    told = content(ping)
    assert ping.headers["x-github-event"] == "ping"
    assert told["hook_id"] == hook.id
    assert isinstance(told["hook"], dict)
    assert told["hook"]["events"] == ["issue_comment"]
    (listed,) = repository.get_hooks()
    assert (listed.events, listed.config["url"], listed.config["secret"]) == (["issue_comment"], inbox.url, "********")


def test_hooks_are_hidden_from_those_who_do_not_administer(stand_in: StandIn) -> None:
    stand_in.add_account("ada", token="ada-token")
    with pytest.raises(github.UnknownObjectException):
        list(client(stand_in, "ada-token").get_repo(REPO).get_hooks())


def test_a_delivery_is_signed_over_its_raw_bytes(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "naïve – 😀")
    (received,) = inbox.wait_for_count(1)
    expected = hmac.new(SECRET.encode(), received.body, hashlib.sha256).hexdigest()
    assert received.headers["x-hub-signature-256"] == f"sha256={expected}"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].startswith("GitHub-Hookshot/")
    assert len(received.headers["x-github-delivery"]) == 36
    assert content(received)["comment"]["body"] == "naïve – 😀"  # type: ignore[index]


def test_a_hook_without_a_secret_is_not_signed(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, None, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    (received,) = inbox.wait_for_count(1)
    assert "x-hub-signature-256" not in received.headers


def test_form_encoding_carries_the_same_payload_signed_as_it_is_sent(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, content_type="form", ping=False)
    stand_in.comment("ada", REPO, 1, "a & b = c + 😀")
    (received,) = inbox.wait_for_count(1)
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"
    expected = hmac.new(SECRET.encode(), received.body, hashlib.sha256).hexdigest()
    assert received.headers["x-hub-signature-256"] == f"sha256={expected}"
    (payload,) = parse_qs(received.body.decode())["payload"]
    assert json.loads(payload)["comment"]["body"] == "a & b = c + 😀"


def test_a_hook_gets_only_the_events_that_it_wants_and_none_while_inactive(stand_in: StandIn, inbox: Inbox) -> None:
    hook = stand_in.add_hook(REPO, inbox.url, SECRET, events=("issues",), ping=False)
    stand_in.comment("ada", REPO, 1, "not wanted")
    stand_in.set_hook_active(hook.id, active=False)
    stand_in.close("ada", REPO, 1)
    stand_in.set_hook_active(hook.id, active=True)
    stand_in.reopen("ada", REPO, 1)
    assert stand_in.wait_for_webhooks()
    assert [(told.event, told.action) for told in stand_in.deliveries(hook.id)] == [("issues", "reopened")]


def edit_a_comment(stand_in: StandIn) -> None:
    comment = stand_in.comment("ada", REPO, 1, "before")
    stand_in.edit_comment("octo", comment.id, "after")


def delete_a_comment(stand_in: StandIn) -> None:
    stand_in.delete_comment("ada", stand_in.comment("ada", REPO, 1, "text").id)


def delete_an_inline_comment(stand_in: StandIn) -> None:
    stand_in.delete_inline_comment("ada", stand_in.inline_comment("ada", REPO, 2, "text").id)


def unlabel(stand_in: StandIn) -> None:
    stand_in.label("ada", REPO, 1, "the-loop")
    stand_in.unlabel("ada", REPO, 1, "the-loop")


def reopen(stand_in: StandIn) -> None:
    stand_in.close("ada", REPO, 2)
    stand_in.reopen("ada", REPO, 2)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        pytest.param(lambda s: s.comment("ada", REPO, 1, "x"), ["issue_comment.created"], id="comment"),
        pytest.param(lambda s: s.comment("ada", REPO, 2, "x"), ["issue_comment.created"], id="comment on a pull"),
        pytest.param(edit_a_comment, ["issue_comment.created", "issue_comment.edited"], id="edit"),
        pytest.param(delete_a_comment, ["issue_comment.created", "issue_comment.deleted"], id="delete"),
        pytest.param(lambda s: s.open_issue("ada", REPO, "T"), ["issues.opened"], id="open issue"),
        pytest.param(lambda s: s.close("ada", REPO, 1), ["issues.closed"], id="close issue"),
        pytest.param(unlabel, ["issues.labeled", "issues.unlabeled"], id="labels"),
        pytest.param(lambda s: s.label("ada", REPO, 2, "x"), ["pull_request.labeled"], id="label of a pull"),
        pytest.param(lambda s: s.open_pull("ada", REPO, "T", "other"), ["pull_request.opened"], id="open pull"),
        pytest.param(reopen, ["pull_request.closed", "pull_request.reopened"], id="close and reopen pull"),
        pytest.param(lambda s: s.merge("ada", REPO, 2), ["pull_request.closed"], id="merge"),
        pytest.param(
            lambda s: s.push("ada", REPO, "change", "new.txt", "x\n"), ["pull_request.synchronize"], id="push"
        ),
        pytest.param(lambda s: s.review("eve", REPO, 2, "x"), ["pull_request_review.submitted"], id="review"),
        pytest.param(
            delete_an_inline_comment,
            [
                "pull_request_review.submitted",
                "pull_request_review_comment.created",
                "pull_request_review_comment.deleted",
            ],
            id="inline comment",
        ),
    ],
)
def test_every_act_is_told_by_its_event(
    stand_in: StandIn, inbox: Inbox, act: Callable[[StandIn], object], told: list[str]
) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    act(stand_in)
    received = inbox.wait_for_count(len(told))
    assert stand_in.wait_for_webhooks()
    assert [f"{one.headers['x-github-event']}.{content(one)['action']}" for one in received] == told
    assert len(stand_in.deliveries()) == len(told)


def test_what_is_done_over_rest_is_told_with_its_sender(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    client(stand_in, "owner-token").get_repo(REPO).get_issue(1).create_comment("by REST")
    (received,) = inbox.wait_for_count(1)
    assert content(received)["sender"]["login"] == "octo"  # type: ignore[index]


def test_a_comment_has_a_realistic_size(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    (received,) = inbox.wait_for_count(1)
    assert 8_000 < len(received.body) < 20_000


def test_a_failed_delivery_is_logged_and_not_repeated(stand_in: StandIn, inbox: Inbox) -> None:
    inbox.status = 503
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    assert stand_in.wait_for_webhooks()
    (delivery,) = stand_in.deliveries()
    assert (delivery.status_code, delivery.status, delivery.redelivery) == (
        503,
        "Invalid HTTP Response: 503",
        False,
    )


def test_a_hook_that_nobody_answers_is_logged_without_a_status(stand_in: StandIn) -> None:
    with Inbox() as gone:
        url = gone.url
    stand_in.add_hook(REPO, url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    assert stand_in.wait_for_webhooks()
    (delivery,) = stand_in.deliveries()
    assert (delivery.status_code, delivery.status.partition(":")[0]) == (0, "failed to connect to host")


def test_a_redelivery_over_rest_has_the_same_guid_and_bytes(stand_in: StandIn, inbox: Inbox) -> None:
    hook = stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    assert stand_in.wait_for_webhooks()
    api = client(stand_in, "owner-token")
    (listed,) = api.get_repo(REPO).get_hook_deliveries(hook.id)
    api.requester.requestJsonAndCheck("POST", f"/repos/{REPO}/hooks/{hook.id}/deliveries/{listed.id}/attempts")
    first, second = inbox.wait_for_count(2)
    assert first.body == second.body
    assert first.headers["x-github-delivery"] == second.headers["x-github-delivery"] == listed.guid
    assert stand_in.wait_for_webhooks()
    assert [delivery.redelivery for delivery in stand_in.deliveries()] == [False, True]


def test_the_same_fact_can_be_delivered_under_another_guid(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    assert stand_in.wait_for_webhooks()
    stand_in.deliver_as_new(stand_in.deliveries()[0].id)
    first, second = inbox.wait_for_count(2)
    assert first.body == second.body
    assert first.headers["x-github-delivery"] != second.headers["x-github-delivery"]


@pytest.mark.parametrize(
    ("newest_first", "drop", "bodies"),
    [
        pytest.param(False, False, ["one", "two", "three"], id="in order"),
        pytest.param(True, False, ["two", "one", "three"], id="newest first"),
        pytest.param(False, True, ["three"], id="lost"),
    ],
)
def test_held_deliveries_come_late_out_of_order_or_never(
    stand_in: StandIn, inbox: Inbox, newest_first: bool, drop: bool, bodies: list[str]
) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.hold_webhooks()
    stand_in.comment("ada", REPO, 1, "one")
    stand_in.comment("ada", REPO, 1, "two")
    stand_in.release_webhooks(newest_first=newest_first, drop=drop)
    stand_in.comment("ada", REPO, 1, "three")
    received = inbox.wait_for_count(len(bodies))
    assert [content(one)["comment"]["body"] for one in received] == bodies  # type: ignore[index]


READ_FIELDS = {
    "issue_comment": ["issue.number", "issue.state", "issue.labels", "issue.user.login", "comment.id"]
    + [f"comment.{name}" for name in ("node_id", "body", "created_at", "updated_at", "html_url", "url", "issue_url")]
    + [f"comment.user.{name}" for name in ("login", "id", "type")],
    "issues": ["issue.id", "issue.node_id", "issue.number", "issue.state", "issue.user.id", "issue.updated_at"],
    "pull_request": ["number"]
    + [f"pull_request.{name}" for name in ("number", "state", "merged", "draft")]
    + [f"pull_request.{name}" for name in ("head.sha", "head.ref", "head.repo.fork", "base.ref", "html_url")],
    "pull_request_review": ["pull_request.number"]
    + [f"review.{name}" for name in ("id", "node_id", "state", "submitted_at", "html_url", "user.login", "user.id")],
    "pull_request_review_comment": ["pull_request.number", "comment.user.type"]
    + [f"comment.{name}" for name in ("id", "node_id", "body", "path", "pull_request_review_id", "created_at")]
    + [f"comment.{name}" for name in ("updated_at", "html_url", "url", "user.login", "user.id")],
}
COMMON_FIELDS = ["action", "repository.id", "repository.full_name", "repository.html_url", "repository.url"] + [
    f"{part}.{name}" for part in ("repository.owner", "sender") for name in ("login", "id", "type")
]
ACTS: dict[str, Callable[[StandIn], object]] = {
    "issue_comment": lambda s: s.comment("ada", REPO, 1, "text"),
    "issues": lambda s: s.open_issue("ada", REPO, "Title", "text"),
    "pull_request": lambda s: s.merge("ada", REPO, 2),
    "pull_request_review": lambda s: s.review("eve", REPO, 2, "text"),
    "pull_request_review_comment": lambda s: s.inline_comment("ada", REPO, 2, "text"),
}


def at(payload: object, path: str) -> object:
    """What stands at a dotted path; a KeyError where nothing does."""
    for name in path.split("."):
        assert isinstance(payload, dict), f"{path}: nothing below a {type(payload).__name__}"
        payload = payload[name]
    return payload


def example_of(event: str) -> object:
    """GitHub's own first example of an event, or a skip where the package of examples is not installed."""
    found = next(iter(EXAMPLES.rglob("api.github.com/index.json")), None)
    if found is None:
        pytest.skip("the npm package @octokit/webhooks-examples is not in .tools/webhooks-examples")
    (examples,) = [entry["examples"] for entry in json.loads(found.read_bytes()) if entry["name"] == event]
    return examples[0]


@pytest.mark.parametrize("event", sorted(READ_FIELDS))
def test_what_our_readers_read_has_the_type_of_githubs_own_examples(
    stand_in: StandIn, inbox: Inbox, event: str
) -> None:
    example = example_of(event)
    stand_in.add_hook(REPO, inbox.url, SECRET, events=(event,), ping=False)
    ACTS[event](stand_in)
    told = content(inbox.wait_for_count(1)[0])
    fields = COMMON_FIELDS + READ_FIELDS[event]
    assert {path: type(at(told, path)) for path in fields} == {path: type(at(example, path)) for path in fields}


def test_a_comment_on_a_pull_request_says_so_and_one_on_an_issue_does_not(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    stand_in.comment("ada", REPO, 1, "text")
    stand_in.comment("ada", REPO, 2, "text")
    issue, pull = (content(one)["issue"] for one in inbox.wait_for_count(2))
    assert isinstance(issue, dict)
    assert isinstance(pull, dict)
    assert "pull_request" not in issue
    assert pull["pull_request"]["url"] == f"{stand_in.base_url}/repos/{REPO}/pulls/2"


def test_an_edit_tells_the_former_text_and_its_editor(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, ping=False)
    edit_a_comment(stand_in)
    told = content(inbox.wait_for_count(2)[1])
    assert at(told, "changes.body.from") == "before"
    assert (at(told, "comment.user.login"), at(told, "sender.login")) == ("ada", "octo")


def test_a_review_is_told_in_small_letters_and_with_null_for_no_text(stand_in: StandIn, inbox: Inbox) -> None:
    stand_in.add_hook(REPO, inbox.url, SECRET, events=("pull_request_review",), ping=False)
    stand_in.review("eve", REPO, 2, "", "APPROVE")
    told = content(inbox.wait_for_count(1)[0])
    assert (at(told, "review.state"), at(told, "review.body")) == ("approved", None)
