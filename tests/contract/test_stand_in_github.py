"""The stand-in GitHub answers an unmodified PyGithub as GitHub does."""

import json
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import github
import pytest
from github.IssueComment import IssueComment
from github.PaginatedList import PaginatedList
from github.Repository import Repository

from service.demo.github.records import Permission
from service.demo.github.standin import StandIn
from tests.fakes.github import client

NOON = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
REPO = "octo/app"


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path / "github") as running:
        running.freeze_clock(NOON)
        running.add_account("the-loop-bot", token="loop-token")
        running.add_repository(REPO)
        running.set_permission(REPO, "the-loop-bot", Permission.WRITE)
        running.open_issue("ada", REPO, "An issue", "Its text")
        yield running


@pytest.fixture
def api(stand_in: StandIn) -> github.Github:
    return client(stand_in, "loop-token")


@pytest.fixture
def repository(api: github.Github) -> Repository:
    return api.get_repo(REPO)


def test_the_token_names_its_account(api: github.Github, stand_in: StandIn) -> None:
    me = api.get_user()
    assert (me.login, me.id, me.type) == ("the-loop-bot", stand_in.add_account("the-loop-bot").id, "User")


@pytest.mark.parametrize("token", ["unknown", "revoked"])
def test_an_unknown_or_revoked_token_is_401(stand_in: StandIn, token: str) -> None:
    stand_in.add_account("someone", token="revoked")
    stand_in.revoke_token("revoked")
    with pytest.raises(github.BadCredentialsException):
        client(stand_in, token).get_user().login  # noqa: B018 - PyGithub asks when the attribute is read


def test_a_repository_is_found_by_name_and_by_id_and_can_be_cloned(api: github.Github, tmp_path: Path) -> None:
    by_name = api.get_repo(REPO)
    by_id = api.get_repo(by_name.id)
    assert by_id.full_name == by_name.full_name == REPO
    subprocess.run(["git", "clone", "-q", by_name.clone_url, str(tmp_path / "clone")], check=True, timeout=30)
    assert (tmp_path / "clone" / "README.md").exists()
    assert by_name.default_branch == "main"


def test_a_renamed_repository_is_followed_by_its_former_name(stand_in: StandIn, api: github.Github) -> None:
    before = api.get_repo(REPO)
    stand_in.rename_repository(REPO, "renamed")
    after = api.get_repo(REPO)
    assert (after.id, after.full_name) == (before.id, "octo/renamed")


def test_a_private_repository_is_404_for_strangers(stand_in: StandIn, api: github.Github) -> None:
    stand_in.add_repository("octo/secret", private=True)
    with pytest.raises(github.UnknownObjectException):
        api.get_repo("octo/secret")


def test_a_comment_can_be_written_read_edited_and_deleted(stand_in: StandIn, repository: Repository) -> None:
    comment = repository.get_issue(1).create_comment("first")
    assert (comment.body, comment.user.login, comment.created_at) == ("first", "the-loop-bot", NOON)
    stand_in.advance_clock(5)
    comment.edit("second")
    again = repository.get_issue(1).get_comment(comment.id)
    assert (again.body, again.created_at, again.updated_at) == ("second", NOON, NOON + timedelta(seconds=5))
    assert again.issue_url == f"{stand_in.base_url}/repos/{REPO}/issues/1"
    comment.delete()
    with pytest.raises(github.UnknownObjectException):
        repository.get_issue(1).get_comment(comment.id)


def test_only_the_author_and_writers_may_edit_a_comment(stand_in: StandIn) -> None:
    stand_in.add_account("stranger", token="stranger-token")
    comment = stand_in.comment("ada", REPO, 1, "mine")
    theirs = client(stand_in, "stranger-token").get_repo(REPO).get_issue(1).get_comment(comment.id)
    with pytest.raises(github.GithubException) as refused:
        theirs.edit("yours")
    assert refused.value.status == 403


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x" * 65_537, id="too long"),
        pytest.param("  ", id="blank"),
    ],
)
def test_a_body_out_of_bounds_is_422_and_writes_nothing(stand_in: StandIn, repository: Repository, body: str) -> None:
    with pytest.raises(github.GithubException) as refused:
        repository.get_issue(1).create_comment(body)
    assert (refused.value.status, stand_in.comments(REPO, 1)) == (422, [])


def test_the_longest_body_is_taken(stand_in: StandIn, repository: Repository) -> None:
    repository.get_issue(1).create_comment("😀" * 65_536)
    assert len(stand_in.comments(REPO, 1)[0].body) == 65_536


def test_a_locked_thread_refuses_those_who_may_not_push(stand_in: StandIn, repository: Repository) -> None:
    stand_in.lock_thread("octo", REPO, 1)
    stand_in.set_permission(REPO, "the-loop-bot", Permission.READ)
    with pytest.raises(github.GithubException) as refused:
        repository.get_issue(1).create_comment("may I")
    assert refused.value.status == 403


def test_a_deleted_issue_is_410(stand_in: StandIn, repository: Repository) -> None:
    stand_in.delete_issue("octo", REPO, 1)
    with pytest.raises(github.GithubException) as refused:
        repository.get_issue(1)
    assert refused.value.status == 410


def test_what_a_deleted_account_wrote_has_a_null_author(stand_in: StandIn, repository: Repository) -> None:
    comment = stand_in.comment("ghost-to-be", REPO, 1, "I was here")
    stand_in.remove_account("ghost-to-be")
    assert repository.get_issue(1).get_comment(comment.id).raw_data["user"] is None


def test_comments_written_at_the_same_time_are_all_kept_under_ids_of_their_own(stand_in: StandIn) -> None:
    def write(name: str) -> None:
        thread = client(stand_in, "loop-token").get_repo(REPO).get_issue(1)
        for index in range(10):
            thread.create_comment(f"{name} {index}")

    writers = [threading.Thread(target=write, args=(f"writer {number}",)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    written = stand_in.comments(REPO, 1)
    assert len({comment.id for comment in written}) == len(written) == 80
    assert {comment.body for comment in written} == {f"writer {n} {i}" for n in range(8) for i in range(10)}


def test_a_listing_of_250_comments_has_three_pages_of_a_hundred(stand_in: StandIn, api: github.Github) -> None:
    written = [stand_in.comment("ada", REPO, 1, f"number {index}").id for index in range(250)]
    per_hundred = github.Github(
        auth=github.Auth.Token("loop-token"),
        base_url=stand_in.base_url,
        per_page=100,
        seconds_between_requests=0,
        retry=None,
    )
    stand_in.clear_requests()
    listed = per_hundred.get_repo(REPO).get_issues_comments(sort="updated", direction="asc")
    assert [comment.id for comment in listed] == written
    pages = stand_in.requests("GET", f"/repos/{REPO}/issues/comments")
    assert [served.query.get("page") for served in pages] == [None, "2", "3"]


def test_the_default_page_has_thirty_and_links_to_the_others(stand_in: StandIn, api: github.Github) -> None:
    for index in range(31):
        stand_in.comment("ada", REPO, 1, f"number {index}")
    headers, content = api.requester.requestJsonAndCheck("GET", f"/repos/{REPO}/issues/comments")
    assert len(content) == 30
    address = f"{stand_in.base_url}/repositories/{api.get_repo(REPO).id}/issues/comments"
    assert headers["link"] == f'<{address}?page=2>; rel="next", <{address}?page=2>; rel="last"'


def test_since_includes_the_second_that_it_names(stand_in: StandIn, repository: Repository) -> None:
    before = stand_in.comment("ada", REPO, 1, "before")
    stand_in.advance_clock(1)
    at = stand_in.comment("ada", REPO, 1, "at")
    stand_in.advance_clock(1)
    after = stand_in.comment("ada", REPO, 1, "after")
    found = repository.get_issues_comments(sort="updated", direction="asc", since=NOON + timedelta(seconds=1))
    assert [comment.id for comment in found] == [at.id, after.id]
    assert before.id < at.id


def test_since_goes_by_the_last_edit(stand_in: StandIn, repository: Repository) -> None:
    old = stand_in.comment("ada", REPO, 1, "old")
    stand_in.advance_clock(60)
    new = stand_in.comment("ada", REPO, 1, "new")
    stand_in.advance_clock(60)
    stand_in.edit_comment("ada", old.id, "edited")
    found = repository.get_issues_comments(sort="updated", direction="asc", since=NOON + timedelta(seconds=1))
    assert [comment.id for comment in found] == [new.id, old.id]


def test_issues_are_listed_by_state_with_pull_requests_among_them(stand_in: StandIn, repository: Repository) -> None:
    pull = stand_in.open_pull("octo", REPO, "A change", "change")
    stand_in.close("octo", REPO, 1)
    listed = {issue.number: issue.pull_request is not None for issue in repository.get_issues(state="all")}
    assert listed == {1: False, pull.number: True}
    assert [issue.number for issue in repository.get_issues(state="closed")] == [1]


def test_the_same_listing_is_304_until_something_changes(stand_in: StandIn, api: github.Github) -> None:
    stand_in.comment("ada", REPO, 1, "one")
    path, query = f"/repos/{REPO}/issues/comments", {"since": "2030-01-01T12:00:00Z"}
    status, headers, _ = api.requester.requestJson("GET", path, query)
    assert status == 200
    known = {"If-None-Match": headers["etag"]}
    status, headers, content = api.requester.requestJson("GET", path, query, headers=known)
    assert (status, content, headers["etag"]) == (304, "", known["If-None-Match"])
    stand_in.comment("ada", REPO, 1, "two")
    status, headers, content = api.requester.requestJson("GET", path, query, headers=known)
    comments: PaginatedList[IssueComment] = PaginatedList(
        IssueComment, api.requester, path, query, firstData=json.loads(content), firstHeaders=headers
    )
    assert (status, [comment.body for comment in comments]) == (200, ["one", "two"])


def test_an_etag_is_of_one_token(stand_in: StandIn, api: github.Github) -> None:
    stand_in.add_account("the-loop-bot", token="another-token")
    _, headers, _ = api.requester.requestJson("GET", f"/repos/{REPO}")
    other = client(stand_in, "another-token").requester
    status, _, _ = other.requestJson("GET", f"/repos/{REPO}", headers={"If-None-Match": headers["etag"]})
    assert status == 200


def test_a_304_costs_nothing_of_the_budget(api: github.Github) -> None:
    _, first, _ = api.requester.requestJson("GET", f"/repos/{REPO}")
    _, second, _ = api.requester.requestJson("GET", f"/repos/{REPO}", headers={"If-None-Match": first["etag"]})
    _, third, _ = api.requester.requestJson("GET", f"/repos/{REPO}")
    remaining = [int(headers["x-ratelimit-remaining"]) for headers in (first, second, third)]
    assert remaining == [4999, 4999, 4998]


def test_answers_carry_the_stand_ins_time_and_a_request_id(api: github.Github) -> None:
    headers, _ = api.requester.requestJsonAndCheck("GET", "/user")
    assert parsedate_to_datetime(headers["date"]) == NOON
    assert headers["x-github-request-id"]


def test_a_spent_budget_is_403_until_it_is_renewed(stand_in: StandIn, api: github.Github) -> None:
    stand_in.set_remaining("loop-token", 0)
    with pytest.raises(github.RateLimitExceededException):
        api.get_repo(REPO)
    assert api.get_rate_limit().resources.core.remaining == 0
    stand_in.advance_clock(3601)
    assert api.get_repo(REPO).full_name == REPO


def test_labels_are_added_listed_and_removed(repository: Repository) -> None:
    issue = repository.get_issue(1)
    issue.add_to_labels("the-loop", "bug")
    issue.remove_from_labels("bug")
    assert [label.name for label in issue.get_labels()] == ["the-loop"]
    assert [label.name for label in repository.get_issue(1).labels] == ["the-loop"]


def test_the_same_reaction_twice_is_one(stand_in: StandIn, repository: Repository) -> None:
    comment = stand_in.comment("ada", REPO, 1, "start")
    read = repository.get_issue(1).get_comment(comment.id)
    first, second = read.create_reaction("eyes"), read.create_reaction("eyes")
    read.create_reaction("rocket")
    assert first.id == second.id
    assert [reaction.content for reaction in read.get_reactions()] == ["eyes", "rocket"]


def test_inline_comments_take_reactions_and_reviews_do_not(stand_in: StandIn, api: github.Github) -> None:
    pull = stand_in.open_pull("octo", REPO, "A change", "change")
    inline = stand_in.inline_comment("ada", REPO, pull.number, "here")
    read = api.get_repo(REPO).get_pull(pull.number).get_review_comment(inline.id)
    assert read.create_reaction("eyes").content == "eyes"
    path = f"/repos/{REPO}/pulls/{pull.number}/reviews/{inline.review_id}/reactions"
    status, _, _ = api.requester.requestJson("POST", path, input={"content": "eyes"})
    assert status == 404


def test_a_pull_request_of_a_pushed_branch_has_its_head_in_git(repository: Repository, tmp_path: Path) -> None:
    sha = pushed_with_git(repository, tmp_path, "the-loop/1")
    pull = repository.create_pull(title="Done", body="Closes #1", head="the-loop/1", base="main", draft=True)
    assert (pull.head.sha, pull.base.ref, pull.draft, pull.state) == (sha, "main", True, "open")
    listed = subprocess.run(
        ["git", "ls-remote", repository.clone_url, f"refs/pull/{pull.number}/head"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert listed.stdout.split() == [sha, f"refs/pull/{pull.number}/head"]
    assert [found.number for found in repository.get_pulls(head="octo:the-loop/1")] == [pull.number]


def test_a_pull_request_without_a_branch_or_a_second_one_is_422(stand_in: StandIn, repository: Repository) -> None:
    stand_in.open_pull("octo", REPO, "A change", "change")
    for head in ("missing", "main", "change"):
        with pytest.raises(github.GithubException) as refused:
            repository.create_pull(title="Again", body="", head=head, base="main")
        assert refused.value.status == 422


def test_a_pull_request_follows_what_is_pushed_with_git(repository: Repository, tmp_path: Path) -> None:
    pushed_with_git(repository, tmp_path, "work")
    pull = repository.create_pull(title="Work", body="", head="work", base="main")
    sha = pushed_with_git(repository, tmp_path, "work")
    assert repository.get_pull(pull.number).head.sha == sha != pull.head.sha


def test_a_fork_is_told_by_its_heads_repository(stand_in: StandIn, repository: Repository) -> None:
    fork = stand_in.open_fork_pull("stranger", REPO, "From outside")
    pull = repository.get_pull(fork.number)
    assert (pull.head.repo.fork, pull.head.repo.full_name, pull.head.user.login) == (True, "stranger/app", "stranger")
    assert pull.head.repo.id != pull.base.repo.id == repository.id


def test_merging_closes_and_says_when(stand_in: StandIn, repository: Repository) -> None:
    opened = stand_in.open_pull("octo", REPO, "A change", "change")
    stand_in.merge("octo", REPO, opened.number)
    pull = repository.get_pull(opened.number)
    assert (pull.state, pull.merged, pull.merged_at, pull.closed_at) == ("closed", True, NOON, NOON)


def test_reviews_are_listed_per_pull_request_only(stand_in: StandIn, repository: Repository) -> None:
    pull = stand_in.open_pull("octo", REPO, "A change", "change")
    stand_in.review("ada", REPO, pull.number, "Looks right", "APPROVE")
    repository.get_pull(pull.number).create_review(body="Noted", event="COMMENT")
    reviews = list(repository.get_pull(pull.number).get_reviews())
    assert [(review.user.login, review.state, review.body) for review in reviews] == [
        ("ada", "APPROVED", "Looks right"),
        ("the-loop-bot", "COMMENTED", "Noted"),
    ]
    assert reviews[0].submitted_at == NOON


def test_inline_comments_are_listed_per_pull_request_and_for_the_repository(
    stand_in: StandIn, repository: Repository
) -> None:
    pull = stand_in.open_pull("octo", REPO, "A change", "change")
    inline = stand_in.inline_comment("ada", REPO, pull.number, "why?", path="README.md", line=3)
    answer = repository.get_pull(pull.number).create_review_comment_reply(inline.id, "because")
    found = list(repository.get_pulls_comments(sort="updated", direction="asc", since=NOON))
    assert [(comment.id, comment.path, comment.raw_data["line"]) for comment in found] == [
        (inline.id, "README.md", 3),
        (answer.id, "README.md", 3),
    ]
    assert [comment.id for comment in repository.get_pull(pull.number).get_review_comments()] == [inline.id, answer.id]


def test_an_issue_is_closed_reopened_and_edited(repository: Repository) -> None:
    issue = repository.get_issue(1)
    issue.edit(state="closed", state_reason="not_planned")
    closed = repository.get_issue(1)
    assert (closed.state, closed.state_reason, closed.closed_at) == ("closed", "not_planned", NOON)
    issue.edit(state="open", title="Another title")
    reopened = repository.get_issue(1)
    assert (reopened.state, reopened.title) == ("open", "Another title")
    assert reopened.raw_data["closed_at"] is None


@pytest.mark.parametrize(
    ("login", "permission"),
    [
        pytest.param("octo", "admin", id="owner"),
        pytest.param("the-loop-bot", "write", id="collaborator"),
        pytest.param("stranger", "read", id="stranger"),
    ],
)
def test_the_permission_of_an_account_is_told(
    stand_in: StandIn, repository: Repository, login: str, permission: str
) -> None:
    stand_in.add_account("stranger")
    assert repository.get_collaborator_permission(login) == permission


def pushed_with_git(repository: Repository, folder: Path, branch: str) -> str:
    """Commit on a branch in a clone and push it, as our own code does; the sha that was pushed."""
    clone = folder / "pushing"
    run = ["git", "-c", "user.name=A Person", "-c", "user.email=person@localhost", "-C", str(clone)]
    if not clone.exists():
        subprocess.run(["git", "clone", "-q", repository.clone_url, str(clone)], check=True, timeout=30)
    for step in (["checkout", "-qB", branch], ["commit", "-q", "--allow-empty", "-m", "Work"]):
        subprocess.run([*run, *step], check=True, timeout=30)
    subprocess.run([*run, "push", "-q", "origin", branch], check=True, timeout=30)
    head = subprocess.run([*run, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=30)
    return head.stdout.strip()
