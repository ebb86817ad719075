"""Our ports to GitHub, over real HTTP against the stand-in: what is asked, what is said, and what is found again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from domain.model import Account, Fact, ItemKind, Thread
from domain.ports import Missing, NoAnswer, Posted, Refused, Repository
from githubapi import conditional, events
from githubapi.door import GitHub
from githubapi.items import GitHubItems
from githubapi.pulls import GitHubPulls
from githubapi.threads import GitHubThreads
from service.demo.github.acts.reviews import Inline
from service.demo.github.records import Permission, Subject
from service.demo.github.standin import StandIn
from tests.fakes.github import Inbox
from webhook import payloads

NAME = "octo/demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A stand-in with one repository and one issue, and our ports to it."""

    stand_in: StandIn
    github: GitHub
    items: GitHubItems
    threads: GitHubThreads
    pulls: GitHubPulls
    repository: Repository
    issue: Thread

    def thread(self, number: int) -> Thread:
        return replace(self.issue, number=number)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with StandIn(tmp_path) as stand_in:
        stand_in.add_account("loop", token="loop-token")
        stand_in.add_repository(NAME)
        for login in ("loop", "ada"):
            stand_in.set_permission(NAME, login, Permission.WRITE)
        number = stand_in.open_issue("ada", NAME, "Sort fails", "It does.", labels=("the-loop",)).number
        host = stand_in.base_url.removeprefix("http://")
        github = GitHub(host, stand_in.base_url, lambda: "loop-token", seconds_between_writes=0)
        items = GitHubItems(github)
        repository = items.repository(NAME)
        assert isinstance(repository, Repository)
        yield World(
            stand_in=stand_in,
            github=github,
            items=items,
            threads=GitHubThreads(github, items),
            pulls=GitHubPulls(github),
            repository=repository,
            issue=Thread(host=host, repository_id=repository.id, number=number),
        )
        github.close()


def test_who_we_are_is_asked_once(world: World) -> None:
    account = world.stand_in.add_account("loop")
    assert [world.items.me(), world.items.me()] == [Account(login="loop", id=account.id)] * 2
    assert len(world.stand_in.requests("GET", "/user")) == 1


def test_an_issue_is_read_as_it_stands(world: World) -> None:
    facts = world.items.item(world.issue, NAME)
    assert not isinstance(facts, Missing | NoAnswer)
    assert (facts.snapshot.kind, facts.snapshot.title, facts.snapshot.labels) == (
        ItemKind.ISSUE,
        "Sort fails",
        ("the-loop",),
    )
    assert (facts.body, facts.url, facts.closed_at_ms) == (
        "It does.",
        f"{world.stand_in.base_url}/{NAME}/issues/1",
        None,
    )
    assert facts.author is not None
    assert facts.author.login == "ada"


def test_a_pull_request_says_its_head_and_whether_it_is_a_forks(world: World) -> None:
    own = world.stand_in.open_pull("ada", NAME, "Mine", branch="topic")
    fork = world.stand_in.open_fork_pull("eve", NAME, "Theirs")
    facts = [world.items.item(world.thread(pull.number), NAME) for pull in (own, fork)]
    assert own.pull is not None
    assert [
        (f.head_sha == own.pull.head_sha, f.snapshot.from_fork) for f in facts if not isinstance(f, Missing | NoAnswer)
    ] == [
        (True, False),
        (False, True),
    ]


def test_an_item_that_is_not_there_is_missing(world: World) -> None:
    assert world.items.item(world.thread(99), NAME) == Missing()


def test_a_repository_is_found_by_its_name_and_by_its_former_name(world: World) -> None:
    world.stand_in.rename_repository(NAME, "renamed")
    assert world.items.repository(NAME) == replace(world.repository, name="octo/renamed")
    assert world.items.repository("octo/nothing") == Missing()


def test_what_can_be_no_name_is_missing_and_nobody_is_asked(world: World) -> None:
    world.stand_in.clear_requests()
    assert world.items.repository("octo/demo/../../user") == Missing()
    assert world.stand_in.requests() == []


def test_a_post_stands_on_the_thread_by_githubs_own_answer(world: World) -> None:
    posted = world.threads.post(world.issue, NAME, "Done.\n\u00e9 😀")
    (comment,) = world.stand_in.comments(NAME, world.issue.number)
    assert isinstance(posted, Posted)
    assert (posted.id, comment.body) == (comment.id, "Done.\n\u00e9 😀")
    assert posted.url.endswith(f"/{NAME}/issues/1#issuecomment-{comment.id}")
    assert posted.server_time_ms is not None
    assert abs(posted.server_time_ms - comment.created_at.timestamp() * 1000) < 2000


def test_a_thread_is_found_after_its_repository_was_renamed(world: World) -> None:
    world.stand_in.rename_repository(NAME, "renamed")
    assert isinstance(world.threads.post(world.issue, NAME, "Still here."), Posted)
    assert not isinstance(world.items.item(world.issue, NAME), Missing | NoAnswer)


def test_reactions_go_to_comments_inline_comments_and_items(world: World) -> None:
    pull = world.thread(world.stand_in.open_pull("ada", NAME, "Mine", branch="topic").number)
    comment = world.stand_in.comment("ada", NAME, world.issue.number, "hello")
    inline = world.stand_in.inline_comment("ada", NAME, pull.number, "here")
    results = [
        world.threads.react(world.issue, NAME, Fact.COMMENT, comment.id, "eyes"),
        world.threads.react(pull, NAME, Fact.INLINE, inline.id, "rocket"),
        world.threads.react(world.issue, NAME, Fact.SNAPSHOT, 0, "eyes"),
        world.threads.react(world.issue, NAME, Fact.COMMENT, comment.id, "eyes"),
    ]
    assert all(isinstance(result, Posted) for result in results)
    assert [reaction.content for reaction in world.stand_in.reactions(comment.id)] == ["eyes"]
    assert [reaction.content for reaction in world.stand_in.reactions(inline.id, Subject.REVIEW_COMMENT)] == ["rocket"]


def test_a_review_takes_no_reactions_and_nobody_is_asked(world: World) -> None:
    world.stand_in.clear_requests()
    assert world.threads.react(world.issue, NAME, Fact.REVIEW, 5, "eyes") == Refused("takes-no-reactions")
    assert world.stand_in.requests() == []


def test_our_own_comments_are_found_on_every_page_and_nobody_elses(world: World) -> None:
    for index in range(230):
        world.stand_in.comment("loop" if index % 2 else "ada", NAME, world.issue.number, f"comment {index}")
    listing = world.threads.own_comments(world.issue, NAME, 0)
    assert not isinstance(listing, NoAnswer)
    assert listing.complete
    assert [said.body for said in listing.said] == [f"comment {index}" for index in range(1, 230, 2)]


def test_our_own_comments_are_those_since_a_time(world: World) -> None:
    world.stand_in.comment("loop", NAME, world.issue.number, "old")
    later = world.stand_in.advance_clock(60)
    world.stand_in.comment("loop", NAME, world.issue.number, "new")
    listing = world.threads.own_comments(world.issue, NAME, round(later.timestamp() * 1000))
    assert not isinstance(listing, NoAnswer)
    assert [said.body for said in listing.said] == ["new"]


def test_all_that_was_said_on_a_pull_request_comes_in_order_and_without_empty_texts(world: World) -> None:
    pull = world.thread(world.stand_in.open_pull("ada", NAME, "Mine", branch="topic").number)
    world.stand_in.comment("ada", NAME, pull.number, "first")
    world.stand_in.advance_clock(5)
    world.stand_in.review("bob", NAME, pull.number, "", "APPROVE", (Inline(path="README.md", line=1, body="inline"),))
    world.stand_in.advance_clock(5)
    world.stand_in.review("bob", NAME, pull.number, "review")
    listing = world.threads.said(pull, NAME, ItemKind.PULL)
    assert not isinstance(listing, Missing | NoAnswer)
    assert listing.complete
    assert [(said.fact, said.body) for said in listing.said] == [
        (Fact.COMMENT, "first"),
        (Fact.INLINE, "inline"),
        (Fact.REVIEW, "review"),
    ]


def test_a_thread_that_is_not_there_is_missing(world: World) -> None:
    assert world.threads.said(world.thread(99), NAME, ItemKind.ISSUE) == Missing()


@pytest.mark.parametrize("fact", [Fact.COMMENT, Fact.INLINE, Fact.REVIEW])
def test_one_text_is_read_as_it_stands(world: World, fact: Fact) -> None:
    pull = world.thread(world.stand_in.open_pull("ada", NAME, "Mine", branch="topic").number)
    object_id = _write(world, pull, fact, "text")
    said = world.items.comment(pull, NAME, fact, object_id)
    assert not isinstance(said, Missing | NoAnswer)
    assert (said.fact, said.id, said.body) == (fact, object_id, "text")


def _write(world: World, pull: Thread, fact: Fact, body: str) -> int:
    if fact is Fact.COMMENT:
        return world.stand_in.comment("bob", NAME, pull.number, body).id
    if fact is Fact.INLINE:
        return world.stand_in.inline_comment("bob", NAME, pull.number, body).id
    return world.stand_in.review("bob", NAME, pull.number, body).id


def test_a_deleted_comment_is_missing(world: World) -> None:
    comment = world.stand_in.comment("ada", NAME, world.issue.number, "hello")
    world.stand_in.delete_comment("ada", comment.id)
    assert world.items.comment(world.issue, NAME, Fact.COMMENT, comment.id) == Missing()


def test_a_comment_that_we_may_no_longer_see_was_not_deleted(world: World) -> None:
    comment = world.stand_in.comment("ada", NAME, world.issue.number, "hello")
    hidden = replace(world.issue, repository_id=world.issue.repository_id + 1)
    assert world.items.comment(hidden, NAME, Fact.COMMENT, comment.id) == NoAnswer("repository-not-visible")


def test_a_pull_request_is_opened_once_and_found_by_its_branch(world: World) -> None:
    world.stand_in.push("ada", NAME, "the-loop/1", "fix.py", "fixed\n")
    assert world.pulls.find_pull(world.repository, "the-loop/1") is None
    number = world.pulls.open_pull(world.repository, "the-loop/1", "main", "Fix", "It sorts.")
    assert isinstance(number, int)
    assert world.pulls.find_pull(world.repository, "the-loop/1") == number
    assert world.pulls.find_pull(world.repository, "the-loop/2") is None
    assert world.pulls.open_pull(world.repository, "the-loop/1", "main", "Fix", "Again.") == Refused("unprocessable")


def test_a_comment_is_the_same_fact_by_webhook_and_by_poll(world: World) -> None:
    with Inbox() as inbox:
        world.stand_in.add_hook(NAME, inbox.url, events=("issue_comment",), ping=False)
        world.stand_in.comment("ada", NAME, world.issue.number, "the-loop start")
        assert world.stand_in.wait_for_webhooks()
        (delivery,) = inbox.wait_for_count(1)
    pushed = payloads.read("issue_comment", json.loads(delivery.body), world.issue.host)
    fetched = conditional.conditional_list(
        world.github, f"/repositories/{world.repository.id}/issues/comments", {"sort": "updated", "direction": "asc"}
    )
    assert isinstance(fetched, conditional.Fetched)
    polled = events.listed_comment(fetched.objects[0], world.repository)
    assert polled is not None
    assert pushed == replace(polled, title="Sort fails", snapshot=getattr(pushed, "snapshot", None))
