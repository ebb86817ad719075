"""The polled road in trouble: one failing repository or comment stops no other, and a cursor never outruns the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain.model import Delivery, Event
from poller.watch import Watch
from service.demo.github.faults import Trouble
from statedb.committer import Committer
from statedb.database import StoreUnavailable
from tests.fakes.core import LABELED, Desk
from tests.fakes.polling import INTERVAL_S, OTHER, REPO, Polling, Town
from webhook.handled import Handled


class Killed(BaseException):
    """The end of the process: nothing catches it."""


class EndsTheProcess(Committer[Any, Any]):
    """A committer whose process ends before a cursor is written."""

    def __init__(self) -> None:
        """It has no store of its own: it is never asked for more than `write`."""

    def write(self, work: Callable[..., Any], timeout_s: float = 10.0) -> Any:
        raise Killed


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with Town(tmp_path) as town:
        yield town


@pytest.fixture
def polling(town: Town) -> Iterator[Polling]:
    """A poller that has begun to watch."""
    with town.process() as polling:
        polling.cycle()
        yield polling


def _fail_on(polling: Polling, monkeypatch: pytest.MonkeyPatch, body: str, problem: Exception) -> None:
    """Let the Dispatcher meet a fault with the comment of that text."""
    handle = polling.dispatching.dispatcher.handle

    def handle_or_fail(event: Event, delivery: Delivery) -> Handled:
        if event.body == body:
            raise problem
        return handle(event, delivery)

    monkeypatch.setattr(polling.dispatching.dispatcher, "handle", handle_or_fail)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (Trouble.BAD_GATEWAY, "http-502"),
        (Trouble.RESET, "connection-lost"),
        (Trouble.UNAUTHORIZED, "bad-credentials"),
        (Trouble.NOT_FOUND, "not-found"),
        (Trouble.FORBIDDEN, "forbidden"),
    ],
)
def test_a_repository_that_fails_holds_up_no_other_and_loses_nothing(town: Town, trouble: Trouble, reason: str) -> None:
    with town.process((REPO, OTHER)) as polling:
        polling.cycle()
        town.say("here")
        town.say("there", name=OTHER)
        town.stand_in.fault(trouble, "GET", f"/repos/{REPO}/issues/comments", times=None)
        result = polling.cycle()
        assert (result.repositories, result.failures, polling.bodies()) == (1, 1, ["there"])
        ((repository, source, error, next_at),) = polling.logged(
            "poll.source_error", "repository", "source_name", "error", "next_at"
        )
        assert (repository, source, error) == (REPO, "issue-comments", reason)
        assert next_at == "2027-01-15T10:01:00+00:00"
        town.stand_in.clear_faults()
        polling.cycle()
        assert polling.bodies() == ["there", "here"]


def test_a_repository_that_github_wants_left_alone_is_left_alone_that_long(town: Town) -> None:
    with town.process((REPO, OTHER)) as polling:
        polling.cycle()
        town.stand_in.fault(Trouble.SECONDARY_LIMIT, "GET", f"/repos/{REPO}/issues/comments", seconds=150)
        polling.cycle()
        assert polling.logged("poll.source_error", "error", "next_at") == [("rate-limit", "2027-01-15T10:02:30+00:00")]
        town.say("here")
        town.stand_in.clear_requests()
        for _ in range(2):
            polling.clock.advance(INTERVAL_S)
            polling.cycle()
        assert (town.listings(), town.listings(OTHER)) == ([], [304, 304])
        polling.clock.advance(INTERVAL_S)
        polling.cycle()
        assert (town.listings(), polling.bodies()) == ([200], ["here"])


@pytest.mark.parametrize(
    "trouble", [Trouble.NOT_FOUND, Trouble.BAD_GATEWAY], ids=["not visible to our token", "not answering"]
)
def test_a_repository_that_cannot_be_asked_about_yet_is_watched_from_when_it_can(town: Town, trouble: Trouble) -> None:
    with town.process() as polling:
        town.stand_in.fault(trouble, "GET", f"/repos/{REPO}", times=None)
        assert polling.cycle().failures == 1
        town.say("before the watch")
        town.stand_in.clear_faults()
        town.stand_in.advance_clock(1)
        polling.cycle()
        town.say("after")
        polling.cycle()
        assert polling.bodies() == ["after"]


def test_a_watch_does_not_begin_by_a_clock_that_nobody_told(town: Town) -> None:
    with town.process() as polling:
        town.stand_in.fault(Trouble.BAD_GATEWAY, "GET", "/repositories/*", times=None)
        assert polling.cycle().failures == 1
        assert polling.dispatching.rows("SELECT count(*) FROM cursors") == [(0,)]


def test_a_comment_without_the_shape_that_we_read_is_passed_over(town: Town, polling: Polling) -> None:
    town.say("first")
    odd = town.say("odd")
    town.say("last")
    with town.stand_in.state.lock:
        town.stand_in.state.tables.comments[odd.id] = replace(odd, body=["no text"])  # type: ignore[arg-type]
    result = polling.cycle()
    with town.stand_in.state.lock:
        town.stand_in.state.tables.comments[odd.id] = odd
    assert polling.bodies() == ["first", "last"]
    assert (result.failures, result.comments_seen) == (0, 2)
    assert polling.logged("routing.dropped", "reason", "road", "github_event") == [
        ("malformed", "poll", "issue_comment")
    ]


def test_a_fault_of_ours_with_one_comment_stops_no_other_and_keeps_the_cursor_before_it(
    town: Town, polling: Polling, monkeypatch: pytest.MonkeyPatch
) -> None:
    for body in ("first", "poison", "last"):
        town.say(body, after_s=100)
    with monkeypatch.context() as patch:
        _fail_on(polling, patch, "poison", KeyError("a fault of ours"))
        assert polling.cycle().failures == 1
        town.say("later", after_s=100)
        assert polling.cycle().failures == 1
    assert polling.bodies() == ["first", "last", "later"]
    assert polling.arrivals() == [("poll", 1)] * 3
    errors = polling.logged("poll.source_error", "repository", "error")
    assert [(repository, type(error)) for repository, error in errors] == [(REPO, KeyError)] * 2
    polling.cycle()
    assert sorted(polling.bodies()) == ["first", "last", "later", "poison"]


def test_a_store_that_takes_nothing_leaves_the_cursor_and_the_next_round_repeats(
    town: Town, polling: Polling, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.say("first")
    town.say("second")
    before = polling.cursor(town.repository_id)
    with monkeypatch.context() as patch:
        _fail_on(polling, patch, "second", StoreUnavailable("the disk is full"))
        result = polling.cycle()
    assert (result.repositories, result.failures) == (0, 1)
    assert polling.cursor(town.repository_id) == before
    polling.cycle()
    assert polling.bodies() == ["first", "second"]
    assert polling.arrivals() == [("poll", 1)] * 2


def test_a_stop_lets_the_comment_in_hand_end_and_starts_no_other(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    with town.process((REPO, OTHER)) as polling:
        polling.cycle()
        for body in ("first", "second"):
            town.say(body, after_s=100)
        town.stand_in.clear_requests()
        handle = polling.dispatching.dispatcher.handle

        def handle_and_stop(event: Event, delivery: Delivery) -> Handled:
            polling.poller.stop()
            return handle(event, delivery)

        monkeypatch.setattr(polling.dispatching.dispatcher, "handle", handle_and_stop)
        polling.cycle()
        assert polling.bodies() == ["first"]
        assert town.listings(OTHER) == []
    with town.process((REPO, OTHER)) as again:
        again.cycle()
        assert again.bodies() == ["first", "second"]


def test_an_event_that_was_let_go_is_not_asked_about_any_more_and_not_called_settled(
    town: Town, polling: Polling, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.say("the-loop start")
    comment = town.say("do it")
    polling.cycle()
    desk = Desk(polling.dispatching)
    desk.answer_needs(LABELED, thread=town.thread)
    polling.dispatching.committer.write(
        lambda connection: connection.execute("UPDATE fates SET fate = 'unhandled', step = '', reason = 'given-up'")
    )
    polling.cycle()
    asked: list[str] = []
    monkeypatch.setattr(polling.dispatching.dispatcher, "delivery_status", lambda _, key: asked.append(key))
    polling.cycle()
    assert (asked, polling.logged("poll.comment_settled")) == ([], [])
    assert comment.body in polling.fates()


def test_a_kill_between_the_commit_and_the_cursors_move_repeats_harmlessly(town: Town) -> None:
    with town.process() as polling:
        polling.cycle()
        before = polling.cursor(town.repository_id)
        town.say("the-loop help")
        polling.poller = _poller_that_dies(polling)
        with pytest.raises(Killed):
            polling.cycle()
    with town.process() as again:
        assert again.cursor(town.repository_id) == before
        again.cycle()
        assert again.fates() == {"the-loop help": ("settled", "", "control-executed")}
        assert again.arrivals() == [("poll", 2)]
        assert again.dispatching.rows("SELECT count(*) FROM replies WHERE kind = 'answer-of-ours'") == [(1,)]
        assert again.logged("poll.comment_settled") == []


def _poller_that_dies(polling: Polling) -> Any:
    dying = Polling(polling.dispatching, polling.github, polling.names, polling.clock)
    for watch in dying.poller._watches:
        assert isinstance(watch, Watch)
        watch._means = replace(watch._means, committer=EndsTheProcess())
    return dying.poller


def test_a_page_that_fails_keeps_the_cursor_where_nothing_is_missing_before_it(town: Town, polling: Polling) -> None:
    bodies = [town.say(f"comment {number}").body for number in range(250)]
    town.stand_in.fault(Trouble.BAD_GATEWAY, "GET", page=2, times=None)
    polling.cycle()
    assert polling.bodies() == bodies[:100]
    stopped_at = polling.cursor(town.repository_id).since_ms
    town.stand_in.clear_faults()
    polling.cycle()
    assert polling.bodies() == bodies
    assert polling.arrivals() == [("poll", 1)] * 250
    assert polling.cursor(town.repository_id).since_ms > stopped_at


def test_what_leaves_a_page_while_the_next_is_read_hides_nothing(
    town: Town, polling: Polling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody edits a comment of the first page between the two requests, and all behind it move up by a place."""
    comments = [town.say(f"comment {number}") for number in range(150)]
    read = polling.github.read
    edits = iter([comments[0]])

    def read_and_move(address: str, *arguments: Any, **named: Any) -> Any:
        answer = read(address, *arguments, **named)
        if "issues/comments" in address and (comment := next(edits, None)) is not None:
            town.edit(comment, "edited")
        return answer

    monkeypatch.setattr(polling.github, "read", read_and_move)
    polling.cycle()
    assert "comment 100" not in polling.bodies()
    polling.cycle()
    assert {f"comment {number}" for number in range(1, 150)} <= set(polling.bodies())
