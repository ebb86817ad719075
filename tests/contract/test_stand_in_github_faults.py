"""The stand-in GitHub's troubles, as PyGithub meets them, and what each has left behind."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import github
import pytest
import requests
from github.Issue import Issue

from service.demo.github.door import RemoteStandIn
from service.demo.github.failures import Failure
from service.demo.github.faults import Trouble
from service.demo.github.standin import StandIn
from tests.fakes.github import Inbox, client

REPO = "octo/app"
COMMENTS = f"/repos/{REPO}/issues/1/comments"
NOON = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
LIMIT_S = 20.0


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path / "github") as running:
        running.freeze_clock(NOON)
        running.add_account("octo", token="token")
        running.add_repository(REPO)
        running.open_issue("ada", REPO, "An issue")
        yield running


@pytest.fixture
def issue(stand_in: StandIn) -> Issue:
    return client(stand_in, "token", timeout_s=2).get_repo(REPO).get_issue(1)


@pytest.mark.parametrize(
    ("trouble", "status", "written"),
    [
        pytest.param(Trouble.ERROR, 500, [], id="500 before"),
        pytest.param(Trouble.BAD_GATEWAY, 502, [], id="502 before"),
        pytest.param(Trouble.COMMIT_THEN_ERROR, 500, ["text"], id="500 after"),
        pytest.param(Trouble.COMMIT_THEN_BAD_GATEWAY, 502, ["text"], id="502 after"),
        pytest.param(Trouble.TOO_MANY_REQUESTS, 429, [], id="429"),
        pytest.param(Trouble.UNAUTHORIZED, 401, [], id="401"),
        pytest.param(Trouble.FORBIDDEN, 403, [], id="403"),
        pytest.param(Trouble.LOCKED, 403, [], id="locked"),
        pytest.param(Trouble.NOT_FOUND, 404, [], id="404"),
        pytest.param(Trouble.GONE, 410, [], id="410"),
    ],
)
def test_a_refused_write_leaves_what_the_trouble_says(
    stand_in: StandIn, issue: Issue, trouble: Trouble, status: int, written: list[str]
) -> None:
    stand_in.fault(trouble, "POST", COMMENTS, seconds=7)
    with pytest.raises(github.GithubException) as refused:
        issue.create_comment("text")
    assert refused.value.status == status
    assert [comment.body for comment in stand_in.comments(REPO, 1)] == written


@pytest.mark.parametrize(
    ("trouble", "problem", "written"),
    [
        pytest.param(Trouble.RESET, requests.ConnectionError, [], id="reset before"),
        pytest.param(Trouble.COMMIT_THEN_RESET, requests.ConnectionError, ["text"], id="reset after"),
        pytest.param(Trouble.COMMIT_THEN_HANG, requests.ReadTimeout, ["text"], id="silence after"),
    ],
)
def test_a_write_without_an_answer_leaves_what_the_trouble_says(
    stand_in: StandIn, issue: Issue, trouble: Trouble, problem: type[Exception], written: list[str]
) -> None:
    stand_in.fault(trouble, "POST", COMMENTS, seconds=60)
    with pytest.raises(problem):
        issue.create_comment("text")
    assert [comment.body for comment in stand_in.comments(REPO, 1)] == written
    assert [(served.status, served.trouble) for served in stand_in.requests("POST")] == [(0, trouble)]


def test_a_reset_is_a_reset_and_no_orderly_end(stand_in: StandIn) -> None:
    stand_in.fault(Trouble.RESET, "GET", "/user")
    host, _, port = stand_in.base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
        connection.sendall(b"GET /user HTTP/1.1\r\nHost: stand-in\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_a_silent_request_ends_with_the_stand_in(stand_in: StandIn) -> None:
    stand_in.fault(Trouble.COMMIT_THEN_HANG, "POST", COMMENTS, seconds=3600)
    patient = client(stand_in, "token", timeout_s=60).get_repo(REPO).get_issue(1)
    ended = threading.Event()

    def write() -> None:
        try:
            patient.create_comment("text")
        except requests.ConnectionError:
            ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not stand_in.requests("POST"):
        assert not ended.wait(0.01)
    stand_in.stop()
    writer.join(LIMIT_S)
    assert ended.is_set()


def test_the_secondary_limit_says_how_long_to_wait(stand_in: StandIn, issue: Issue) -> None:
    stand_in.fault(Trouble.SECONDARY_LIMIT, "POST", COMMENTS, seconds=60)
    with pytest.raises(github.RateLimitExceededException) as refused:
        issue.create_comment("text")
    assert (refused.value.status, (refused.value.headers or {})["retry-after"]) == (403, "60")


def test_the_primary_limit_says_when_it_ends(stand_in: StandIn, issue: Issue) -> None:
    stand_in.fault(Trouble.PRIMARY_LIMIT, "GET", seconds=90)
    with pytest.raises(github.RateLimitExceededException) as refused:
        issue.update()
    headers = refused.value.headers or {}
    assert headers["x-ratelimit-remaining"] == "0"
    assert int(headers["x-ratelimit-reset"]) == int(NOON.timestamp()) + 90


def test_a_slow_answer_is_right_when_it_comes(stand_in: StandIn, issue: Issue) -> None:
    stand_in.fault(Trouble.SLOW, "POST", COMMENTS, seconds=0.2)
    assert issue.create_comment("text").body == "text"


def test_a_new_comment_is_missing_from_listings_until_its_time(stand_in: StandIn, issue: Issue) -> None:
    stand_in.fault(Trouble.LATE_LISTING, seconds=30)
    late = issue.create_comment("late")
    prompt = issue.create_comment("prompt")
    assert issue.get_comment(late.id).body == "late"
    assert [comment.id for comment in issue.get_comments()] == [prompt.id]
    stand_in.advance_clock(30)
    assert [comment.id for comment in issue.get_comments()] == [late.id, prompt.id]


def test_one_page_of_a_listing_fails_and_the_others_do_not(stand_in: StandIn, issue: Issue) -> None:
    for index in range(65):
        stand_in.comment("ada", REPO, 1, f"number {index}")
    stand_in.fault(Trouble.BAD_GATEWAY, "GET", COMMENTS, page=2)
    listing = issue.get_comments()
    read = iter(listing)
    assert [next(read).body for _ in range(30)] == [f"number {index}" for index in range(30)]
    with pytest.raises(github.GithubException):
        next(read)
    assert len(list(issue.get_comments())) == 65


def test_a_fault_is_met_as_often_as_it_was_asked_for_and_only_where(stand_in: StandIn, issue: Issue) -> None:
    stand_in.fault(Trouble.BAD_GATEWAY, "GET", f"/repos/{REPO}/issues/*", times=2)
    statuses = []
    for _ in range(3):
        client(stand_in, "token").get_repo(REPO)
        answer = requests.get(
            f"{stand_in.base_url}/repos/{REPO}/issues/1", headers={"Authorization": "token token"}, timeout=5
        )
        statuses.append(answer.status_code)
    assert statuses == [502, 502, 200]
    assert stand_in.faults_in_force() == []


def test_a_lasting_fault_lasts_until_it_is_cleared(stand_in: StandIn, issue: Issue) -> None:
    stand_in.fault(Trouble.ERROR, "GET", times=None)
    for _ in range(3):
        with pytest.raises(github.GithubException):
            issue.update()
    stand_in.clear_faults()
    issue.update()


def test_the_request_log_tells_who_asked_for_what_and_got_which_answer(stand_in: StandIn, issue: Issue) -> None:
    stand_in.clear_requests()
    issue.create_comment("text")
    requests.get(f"{stand_in.base_url}/user", timeout=5)
    known, unknown = stand_in.requests()
    assert (known.method, known.path, known.login, known.status) == ("POST", COMMENTS, "octo", 201)
    assert "token" != known.token_id != unknown.token_id == ""
    assert (unknown.path, unknown.login, unknown.status) == ("/user", "", 401)


def test_a_stand_in_started_again_in_its_folder_goes_on(tmp_path: Path) -> None:
    with StandIn(tmp_path) as first:
        first.add_account("octo", token="token")
        repository = first.add_repository(REPO)
        first.open_issue("ada", REPO, "An issue")
        comment = first.comment("ada", REPO, 1, "text")
        port = int(first.base_url.rpartition(":")[2])
    with StandIn(tmp_path, port=port) as second:
        again = client(second, "token").get_repo(REPO)
        assert again.id == repository.id
        assert again.get_issue(1).get_comment(comment.id).body == "text"
        assert second.comment("ada", REPO, 1, "next").id == comment.id + 1


@pytest.fixture
def process(tmp_path: Path) -> Iterator[str]:
    """The address of a stand-in in a process of its own, which ends with the test."""
    command = [sys.executable, "-m", "service.demo.github", "--folder", str(tmp_path / "github"), "--with-parent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())["address"]
        running.stdin.close()
        assert running.wait(LIMIT_S) == 0


def test_another_process_serves_the_same_through_its_door(process: str) -> None:
    door = RemoteStandIn(process)
    door.act("add_account", login="octo", token="token")
    door.act("add_repository", repo=REPO)
    door.act("open_issue", as_login="ada", repo=REPO, title="An issue")
    with Inbox() as inbox:
        door.act("add_hook", repo=REPO, url=inbox.url, secret="s", events=["issue_comment"], ping=False)
        door.act("fault", trouble=Trouble.BAD_GATEWAY, method="GET", path="/user")
        written = door.act("comment", as_login="ada", repo=REPO, number=1, body="text")
        assert isinstance(written, dict)
        (received,) = inbox.wait_for_count(1)
        assert json.loads(received.body)["comment"]["id"] == written["id"]
    answer = requests.get(f"{process}/user", headers={"Authorization": "token token"}, timeout=5)
    assert answer.status_code == 502
    assert [served["path"] for served in door.act("requests")] == ["/user"]  # type: ignore[attr-defined]
    door.close()


@pytest.mark.parametrize(
    ("verb", "arguments", "status"),
    [
        pytest.param("comment", {"as_login": "ada", "repo": "no/where", "number": 1, "body": "x"}, 404, id="missing"),
        pytest.param("comment", {"as_login": "ada"}, 422, id="arguments missing"),
        pytest.param("stop", {}, 404, id="no such verb"),
    ],
)
def test_the_door_refuses_what_cannot_be_done(
    stand_in: StandIn, verb: str, arguments: dict[str, object], status: int
) -> None:
    door = RemoteStandIn(stand_in.base_url)
    with pytest.raises(Failure) as refused:
        door.act(verb, **arguments)
    door.close()
    assert refused.value.status == status
