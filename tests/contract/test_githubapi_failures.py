"""What our door to GitHub makes of trouble, over real HTTP: a write goes out once, a read bears a little."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Fact, Thread
from domain.ports import InDoubt, Missing, NoAnswer, NotSent, Posted, Refused, Repository, SendResult
from githubapi.door import GitHub
from githubapi.items import GitHubItems
from githubapi.pulls import GitHubPulls
from githubapi.threads import GitHubThreads
from service.demo.github.faults import Trouble
from service.demo.github.records import Permission
from service.demo.github.standin import StandIn
from tests.fakes.scripted_http import Asked, ScriptedHttp, Told

NAME = "octo/demo"
TOKEN = "ghp_loopTokenThatNobodyMaySee"
COMMENTS = "/repos/octo/demo/issues/1/comments"


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path) as stand_in:
        stand_in.add_account("loop", token=TOKEN)
        stand_in.add_repository(NAME)
        stand_in.set_permission(NAME, "loop", Permission.WRITE)
        stand_in.open_issue("ada", NAME, "Sort fails")
        yield stand_in


@pytest.fixture
def github(stand_in: StandIn) -> Iterator[GitHub]:
    github = GitHub("stand-in", stand_in.base_url, lambda: TOKEN, seconds_between_writes=0, timeout_s=1)
    yield github
    github.close()


@pytest.fixture
def thread(github: GitHub) -> Thread:
    repository = GitHubItems(github).repository(NAME)
    assert isinstance(repository, Repository)
    return Thread(host="stand-in", repository_id=repository.id, number=1)


def _post(github: GitHub, thread: Thread) -> SendResult:
    return GitHubThreads(github, GitHubItems(github)).post(thread, NAME, "Done.")


@pytest.mark.parametrize(
    ("trouble", "result", "stands"),
    [
        pytest.param(Trouble.UNAUTHORIZED, NotSent("bad-credentials"), 0, id="token taken back"),
        pytest.param(Trouble.TOO_MANY_REQUESTS, NotSent("rate-limit", 30.0), 0, id="429"),
        pytest.param(Trouble.SECONDARY_LIMIT, NotSent("rate-limit", 30.0), 0, id="secondary limit"),
        pytest.param(Trouble.PRIMARY_LIMIT, NotSent("rate-limit", 31.0), 0, id="primary limit"),
        pytest.param(Trouble.NOT_FOUND, Refused("not-found"), 0, id="404"),
        pytest.param(Trouble.GONE, Refused("gone"), 0, id="410"),
        pytest.param(Trouble.LOCKED, Refused("locked"), 0, id="locked"),
        pytest.param(Trouble.FORBIDDEN, Refused("forbidden"), 0, id="no right"),
        pytest.param(Trouble.ERROR, InDoubt("http-500"), 0, id="500 and nothing done"),
        pytest.param(Trouble.COMMIT_THEN_BAD_GATEWAY, InDoubt("http-502"), 1, id="502 and done"),
        pytest.param(Trouble.RESET, InDoubt("connection-lost"), 0, id="reset and nothing done"),
        pytest.param(Trouble.COMMIT_THEN_RESET, InDoubt("connection-lost"), 1, id="reset and done"),
        pytest.param(Trouble.COMMIT_THEN_HANG, InDoubt("read-timeout"), 1, id="silence and done"),
    ],
)
def test_a_write_that_meets_trouble_is_classified_and_never_repeated(
    stand_in: StandIn, github: GitHub, thread: Thread, trouble: Trouble, result: SendResult, stands: int
) -> None:
    stand_in.freeze_clock(stand_in.now().replace(microsecond=0))
    stand_in.fault(trouble, "POST", seconds=30)
    sent = _post(github, thread)
    if isinstance(sent, InDoubt) and sent.reason.startswith("http-"):
        assert sent.server_time_ms == round(stand_in.now().timestamp() * 1000)
        sent = InDoubt(sent.reason)
    assert sent == result
    assert len(stand_in.requests("POST")) == 1
    assert len(stand_in.comments(NAME, 1)) == stands


def test_after_trouble_the_next_write_goes_through(stand_in: StandIn, github: GitHub, thread: Thread) -> None:
    stand_in.fault(Trouble.COMMIT_THEN_RESET, "POST")
    assert isinstance(_post(github, thread), InDoubt)
    assert isinstance(_post(github, thread), Posted)


def test_a_body_that_github_refuses_is_refused(github: GitHub, thread: Thread) -> None:
    sent = GitHubThreads(github, GitHubItems(github)).post(thread, NAME, "x" * 70_000)
    assert sent == Refused("unprocessable")


def test_nobody_listening_is_certainly_not_sent(thread: Thread) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        github = GitHub("gone", f"http://127.0.0.1:{taken.getsockname()[1]}", lambda: TOKEN, seconds_between_writes=0)
        assert _post(github, thread) == NotSent("connect")


def test_speaking_tls_to_a_server_that_does_not_is_certainly_not_sent(stand_in: StandIn, thread: Thread) -> None:
    github = GitHub("x", stand_in.base_url.replace("http:", "https:"), lambda: TOKEN, seconds_between_writes=0)
    assert _post(github, thread) == NotSent("tls")


def test_an_accepted_write_with_an_unreadable_answer_is_in_doubt(thread: Thread) -> None:
    with ScriptedHttp(lambda asked: Told(b"<html>", 201)) as server:
        github = GitHub("x", server.url, lambda: TOKEN, seconds_between_writes=0)
        assert isinstance(_post(github, thread), InDoubt)
        pull = GitHubPulls(github).open_pull(
            Repository(host="x", id=7, name=NAME, default_branch="main", clone_url=""), "a", "main", "t", "b"
        )
        assert isinstance(pull, InDoubt)
        github.close()


def test_a_write_that_is_sent_elsewhere_is_refused(thread: Thread) -> None:
    def answer(asked: Asked) -> Told:
        return Told({"message": "Moved"}, 307, {"Location": f"{server.url}/elsewhere"})

    with ScriptedHttp(answer) as server:
        github = GitHub("x", server.url, lambda: TOKEN, seconds_between_writes=0)
        assert _post(github, thread) == Refused("moved")
        assert [asked.path for asked in server.asked] == [f"/repositories/{thread.repository_id}/issues/1/comments"]
        github.close()


@pytest.mark.parametrize("trouble", [Trouble.BAD_GATEWAY, Trouble.ERROR, Trouble.RESET])
def test_a_read_bears_a_passing_trouble(stand_in: StandIn, github: GitHub, trouble: Trouble) -> None:
    stand_in.fault(trouble, "GET", "/user")
    assert not isinstance(GitHubItems(github).me(), NoAnswer)


@pytest.mark.parametrize(
    ("trouble", "answer", "requests"),
    [
        pytest.param(Trouble.BAD_GATEWAY, NoAnswer("http-502"), 3, id="502 without end"),
        pytest.param(Trouble.SECONDARY_LIMIT, NoAnswer("rate-limit", 30.0), 1, id="a rate limit is not tried again"),
        pytest.param(Trouble.UNAUTHORIZED, NoAnswer("bad-credentials"), 1, id="401"),
        pytest.param(Trouble.NOT_FOUND, NoAnswer("not-found"), 1, id="404 of ourselves"),
    ],
)
def test_a_read_without_an_answer_is_never_a_no(
    stand_in: StandIn, github: GitHub, trouble: Trouble, answer: NoAnswer, requests: int
) -> None:
    stand_in.fault(trouble, "GET", "/user", times=None, seconds=30)
    assert GitHubItems(github).me() == answer
    assert len(stand_in.requests("GET", "/user")) == requests


def test_a_listing_that_breaks_off_is_not_complete(stand_in: StandIn, github: GitHub, thread: Thread) -> None:
    for index in range(150):
        stand_in.comment("loop", NAME, 1, f"comment {index}")
    stand_in.fault(Trouble.BAD_GATEWAY, "GET", COMMENTS, page=2, times=None)
    listing = GitHubThreads(github, GitHubItems(github)).own_comments(thread, NAME, 0)
    assert not isinstance(listing, NoAnswer)
    assert (len(listing.said), listing.complete) == (100, False)


def test_a_listing_with_an_object_of_another_shape_is_not_complete(thread: Thread) -> None:
    def answer(asked: Asked) -> Told:
        return Told({"login": "loop", "id": 3}) if asked.path == "/user" else Told([{"id": "nine"}])

    with ScriptedHttp(answer) as server:
        github = GitHub("x", server.url, lambda: TOKEN)
        listing = GitHubThreads(github, GitHubItems(github)).own_comments(thread, NAME, 0)
        assert not isinstance(listing, NoAnswer)
        assert (listing.said, listing.complete) == ((), False)
        github.close()


def test_an_item_that_was_transferred_away_is_missing_here() -> None:
    def answer(asked: Asked) -> Told:
        if asked.path == "/repositories/7/issues/15":
            return Told({}, 301, {"Location": f"{server.url}/repositories/8/issues/2"})
        return Told(
            {
                "number": 2,
                "repository_url": f"{server.url}/repos/o/other",
                "title": "t",
                "state": "open",
                "labels": [],
                "html_url": "u",
                "updated_at": "2026-03-01T10:00:00Z",
            }
        )

    with ScriptedHttp(answer) as server:
        github = GitHub("x", server.url, lambda: TOKEN)
        thread = Thread(host="x", repository_id=7, number=15)
        assert GitHubItems(github).item(thread, "o/r") == Missing()
        github.close()


def test_writes_of_all_threads_keep_their_distance(stand_in: StandIn, thread: Thread) -> None:
    github = GitHub("stand-in", stand_in.base_url, lambda: TOKEN, seconds_between_writes=0.2)
    threads = [threading.Thread(target=_post, args=(github, thread)) for _ in range(3)]
    began_s = time.monotonic()
    for writer in threads:
        writer.start()
    for writer in threads:
        writer.join(timeout=10)
    assert time.monotonic() - began_s >= 0.4
    assert len(stand_in.comments(NAME, 1)) == 3
    github.close()


def test_another_token_is_used_from_the_next_call_on(stand_in: StandIn) -> None:
    stand_in.add_account("other", token="other-token")
    tokens = [TOKEN]
    github = GitHub("stand-in", stand_in.base_url, lambda: tokens[-1])
    items = GitHubItems(github)
    before, before_id = items.me(), github.token_id
    tokens.append("other-token")
    after, after_id = items.me(), github.token_id
    assert [getattr(before, "login", None), getattr(after, "login", None)] == ["loop", "other"]
    assert before_id != after_id
    github.close()


@pytest.mark.parametrize("token", ["", "two words", "line\n", "t\u00f6ken"])
def test_a_token_that_can_stand_in_no_header_is_never_sent(stand_in: StandIn, thread: Thread, token: str) -> None:
    stand_in.clear_requests()
    github = GitHub("stand-in", stand_in.base_url, lambda: token)
    assert _post(github, thread) == NotSent("unusable-token")
    assert GitHubItems(github).me() == NoAnswer("unusable-token")
    assert stand_in.requests() == []


def test_the_token_is_in_no_log_line_no_text_and_no_name(
    stand_in: StandIn, github: GitHub, thread: Thread, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    stand_in.fault(Trouble.RESET, "GET", "/user", times=None)
    results = [_post(github, thread), GitHubItems(github).me()]
    results.append(GitHubThreads(github, GitHubItems(github)).react(thread, NAME, Fact.COMMENT, 404, "eyes"))
    assert TOKEN not in caplog.text + repr(results) + repr(github) + github.token_id
