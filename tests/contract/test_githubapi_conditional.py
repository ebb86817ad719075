"""Listings are read whole or said to be partial, and an unchanged one costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.ports import NoAnswer
from githubapi.conditional import Fetched, Unchanged, conditional_list
from githubapi.door import GitHub
from service.demo.github.faults import Trouble
from service.demo.github.standin import StandIn
from tests.fakes.scripted_http import Asked, ScriptedHttp, Told

NAME = "octo/demo"
PARAMETERS = {"sort": "updated", "direction": "asc", "since": "2020-01-01T00:00:00Z"}


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path) as stand_in:
        stand_in.add_account("loop", token="loop-token")
        stand_in.add_repository(NAME)
        stand_in.open_issue("ada", NAME, "Sort fails")
        yield stand_in


@pytest.fixture
def github(stand_in: StandIn) -> Iterator[GitHub]:
    github = GitHub("stand-in", stand_in.base_url, lambda: "loop-token")
    yield github
    github.close()


@pytest.fixture
def address(stand_in: StandIn) -> str:
    return f"/repositories/{stand_in.state.repository(NAME).id}/issues/comments"


def _write(stand_in: StandIn, count: int) -> None:
    for index in range(count):
        stand_in.comment("ada", NAME, 1, f"comment {index}")


def _fetch(github: GitHub, address: str, etag: str | None = None) -> Fetched:
    fetched = conditional_list(github, address, PARAMETERS, etag)
    assert isinstance(fetched, Fetched)
    return fetched


def test_an_unchanged_listing_is_said_to_be_so_and_spends_nothing(
    stand_in: StandIn, github: GitHub, address: str
) -> None:
    _write(stand_in, 3)
    first = _fetch(github, address)
    stand_in.set_remaining("loop-token", 1)
    answers = [conditional_list(github, address, PARAMETERS, first.etag) for _ in range(3)]
    assert answers == [Unchanged()] * 3
    assert [served.status for served in stand_in.requests("GET", "*/issues/comments")] == [200, 304, 304, 304]


def test_a_listing_that_changed_is_fetched_with_its_new_etag(stand_in: StandIn, github: GitHub, address: str) -> None:
    first = _fetch(github, address)
    _write(stand_in, 1)
    second = _fetch(github, address, first.etag)
    assert [entry["body"] for entry in second.objects] == ["comment 0"]
    assert second.etag not in (None, first.etag)
    assert second.server_time_ms is not None


def test_all_pages_are_read_in_order(stand_in: StandIn, github: GitHub, address: str) -> None:
    _write(stand_in, 230)
    fetched = _fetch(github, address)
    assert [entry["body"] for entry in fetched.objects] == [f"comment {index}" for index in range(230)]
    assert (fetched.complete, fetched.gapless) == (True, 230)


@pytest.mark.parametrize("count", [100, 101])
def test_a_full_first_page_gives_no_etag_for_it_would_hide_what_comes_behind(
    stand_in: StandIn, github: GitHub, address: str, count: int
) -> None:
    _write(stand_in, count)
    fetched = _fetch(github, address)
    assert (len(fetched.objects), fetched.complete, fetched.etag) == (count, True, None)


def test_a_page_that_fails_leaves_the_listing_incomplete(stand_in: StandIn, github: GitHub, address: str) -> None:
    _write(stand_in, 230)
    stand_in.fault(Trouble.BAD_GATEWAY, "GET", page=3, times=None)
    fetched = _fetch(github, address)
    assert (len(fetched.objects), fetched.complete, fetched.gapless, fetched.etag) == (200, False, 100, None)


@pytest.mark.parametrize(
    ("trouble", "answer"),
    [
        (Trouble.BAD_GATEWAY, NoAnswer("http-502")),
        (Trouble.SECONDARY_LIMIT, NoAnswer("rate-limit", 30.0)),
        (Trouble.NOT_FOUND, NoAnswer("not-found")),
    ],
)
def test_a_first_page_that_fails_is_no_answer(
    stand_in: StandIn, github: GitHub, address: str, trouble: Trouble, answer: NoAnswer
) -> None:
    stand_in.fault(trouble, "GET", times=None, seconds=30)
    assert conditional_list(github, address, PARAMETERS) == answer


def test_a_listing_that_moved_while_it_was_read_is_incomplete() -> None:
    """What leaves the first page after it was read moves the first object of the second page out of sight."""
    entries = [{"id": number} for number in range(150)]

    def answer(asked: Asked) -> Told:
        second = asked.query.get("page") == "2"
        told = Told(
            entries[100:] if second else entries[:100],
            headers={
                "ETag": f'"{entries[0]["id"]}"',
                **({} if second else {"Link": f'<{server.url}/list?page=2>; rel="next"'}),
            },
        )
        if not second and asked.headers.get("if-none-match") is None:
            entries.append(entries.pop(0))
        return told

    with ScriptedHttp(answer) as server:
        github = GitHub("x", server.url, lambda: "loop-token")
        fetched = _fetch(github, "/list")
        assert {"id": 100} not in fetched.objects
        assert (fetched.complete, fetched.gapless) == (False, 100)
        github.close()


@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param("http://evil.example/list?page=2", id="another host"),
        pytest.param("http://127.0.0.1:1/api/v3/list?page=2", id="another port"),
        pytest.param("{url}/login?page=2", id="outside the REST root"),
    ],
)
def test_a_link_is_followed_only_on_the_same_host(elsewhere: str) -> None:
    def answer(asked: Asked) -> Told:
        return Told([{"id": 1}], headers={"Link": f'<{elsewhere.format(url=server.url)}>; rel="next"'})

    with ScriptedHttp(answer) as server:
        github = GitHub("x", f"{server.url}/api/v3", lambda: "loop-token")
        fetched = _fetch(github, "/list")
        assert (fetched.objects, fetched.complete) == ([{"id": 1}], False)
        assert [asked.path for asked in server.asked] == ["/api/v3/list"]
        github.close()


def test_a_listing_without_end_is_bounded() -> None:
    def answer(asked: Asked) -> Told:
        page = int(asked.query.get("page", "1"))
        return Told([{"id": page}], headers={"Link": f'<{server.url}/list?page={page + 1}>; rel="next"'})

    with ScriptedHttp(answer) as server:
        github = GitHub("x", server.url, lambda: "loop-token")
        fetched = _fetch(github, "/list")
        assert (len(fetched.objects), fetched.complete) == (100, False)
        github.close()


@pytest.mark.parametrize("content", [{"id": 1}, [1], b"<html>", None, b""])
def test_what_is_no_list_of_objects_is_no_answer(content: object) -> None:
    with ScriptedHttp(lambda asked: Told(content)) as server:
        github = GitHub("x", server.url, lambda: "loop-token")
        assert conditional_list(github, "/list", {}) == NoAnswer("unreadable-answer")
        github.close()


def test_the_address_of_an_unchanged_question_stays_the_same(stand_in: StandIn, github: GitHub, address: str) -> None:
    _fetch(github, address)
    _fetch(github, address)
    asked = [served.query for served in stand_in.requests("GET", "*/issues/comments")]
    assert asked == [{**PARAMETERS, "per_page": "100"}] * 2
