"""The polled road hands every comment over once, costs nothing while nothing happens, and starts at now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from githubapi.door import Answer
from service.demo.github.faults import Trouble
from tests.fakes.core import LABELED, Desk
from tests.fakes.polling import OTHER, REPO, Polling, Town

START = "the-loop start"


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


def _start(town: Town, polling: Polling) -> Desk:
    """Let the item run, its start brought by the poller and its fact asked for by a worker."""
    town.say(START)
    polling.cycle()
    desk = Desk(polling.dispatching)
    desk.answer_needs(LABELED, thread=town.thread)
    return desk


def test_what_stood_on_a_thread_before_the_watch_is_neither_read_nor_recorded(town: Town) -> None:
    town.say("before")
    with town.process() as polling:
        town.stand_in.advance_clock(1)
        result = polling.cycle()
        assert (result.comments_seen, polling.bodies()) == (0, [])
        assert polling.logged("poll.baselined", "repository", "since") == [(REPO, "2027-01-15T10:00:02Z")]


def test_what_is_written_after_the_watch_began_is_handed_over(town: Town, polling: Polling) -> None:
    comment = town.say("hello")
    result = polling.cycle()
    assert (result.comments_seen, result.comments_settled) == (1, 1)
    assert polling.fates() == {"hello": ("settled", "", "awaiting-start")}
    assert polling.logged("poll.comment_settled", "comment_id", "actor", "outcome", "will_retry") == [
        (comment.id, "ada", "awaiting-start", False)
    ]
    assert len(polling.logged("poll.baselined")) == 1


def test_what_was_written_before_the_watch_is_baselined_however_new_its_edit(town: Town) -> None:
    old = town.say(START)
    with town.process() as polling:
        town.stand_in.advance_clock(1)
        polling.cycle()
        town.edit(old, "the-loop start now")
        polling.cycle()
        assert polling.fates() == {"the-loop start now": ("settled", "", "baselined")}
        assert polling.dispatching.rows("SELECT count(*) FROM replies") == [(0,)]


def test_idle_rounds_are_answered_by_304_and_keep_the_request_and_the_store_as_they_are(
    town: Town, polling: Polling
) -> None:
    town.say("hello")
    polling.cycle()
    town.stand_in.advance_clock(3600)
    polling.cycle()
    polling.cycle()
    town.stand_in.clear_requests()
    town.stand_in.set_remaining(town.token, 1)
    before = polling.cursor(town.repository_id)
    results = [polling.cycle() for _ in range(4)]
    served = town.stand_in.requests()
    assert [(one.status, one.query) for one in served] == [(304, served[0].query)] * 4
    assert [(result.not_modified, result.failures) for result in results] == [(1, 0)] * 4
    assert polling.cursor(town.repository_id) == before
    assert polling.arrivals() == [("poll", 1)]


def test_one_comment_costs_at_most_one_listing_more_until_the_304s_come_back(town: Town, polling: Polling) -> None:
    town.stand_in.advance_clock(3600)
    polling.cycle()
    town.stand_in.clear_requests()
    town.say("hello", after_s=100)
    for _ in range(5):
        polling.cycle()
        town.stand_in.advance_clock(60)
    assert town.listings() == [200, 200, 304, 304, 304]
    assert polling.logged("dispatch.duplicate") == []


def test_a_burst_over_three_pages_is_read_whole_and_each_comment_once(town: Town, polling: Polling) -> None:
    bodies = [town.say(f"comment {number}").body for number in range(250)]
    assert polling.cycle().comments_seen == 250
    town.stand_in.advance_clock(60)
    assert [polling.cycle().comments_seen for _ in range(3)] == [0, 0, 0]
    assert polling.bodies() == bodies
    assert polling.arrivals() == [("poll", 1)] * 250
    assert town.listings()[-1] == 304


def test_a_comment_of_the_second_that_the_cursor_stands_at_is_not_overlooked(town: Town, polling: Polling) -> None:
    town.say("first")
    town.stand_in.advance_clock(100)
    town.say("second", after_s=0)
    polling.cycle()
    town.say("third", after_s=0)
    polling.cycle()
    assert polling.bodies() == ["first", "second", "third"]
    assert polling.arrivals() == [("poll", 1)] * 3


def test_a_comment_that_listings_show_late_is_not_lost_behind_a_later_one(town: Town, polling: Polling) -> None:
    town.stand_in.advance_clock(3600)
    town.stand_in.fault(Trouble.LATE_LISTING, seconds=20)
    town.say("late")
    town.say("early")
    polling.cycle()
    assert polling.bodies() == ["early"]
    town.stand_in.advance_clock(20)
    polling.cycle()
    assert polling.bodies() == ["early", "late"]


def test_a_start_by_poll_lacks_the_item_and_what_follows_waits_behind_it(town: Town, polling: Polling) -> None:
    town.say(START)
    town.say("also the empty list")
    result = polling.cycle()
    assert polling.fates() == {
        START: ("inflight", "need", ""),
        "also the empty list": ("inflight", "behind", ""),
    }
    assert (result.comments_forwarded, result.comments_settled) == (2, 0)
    assert len(polling.logged("poll.comment_forwarded")) == 2
    assert len(polling.dispatching.woken) == 2


def test_an_edit_of_a_waiting_comment_replaces_its_text(town: Town, polling: Polling) -> None:
    _start(town, polling)
    comment = town.say("draw a circle")
    polling.cycle()
    town.edit(comment, "draw a square")
    polling.cycle()
    rows = polling.dispatching.rows(
        "SELECT e.event_key, e.body, f.fate, f.step, f.outcome FROM events e JOIN fates f USING (event_key)"
        " WHERE e.body LIKE 'draw%' ORDER BY e.accepted_at"
    )
    assert [row[1:] for row in rows] == [
        ("draw a square", "inflight", "queued", ""),
        ("draw a square", "settled", "", "superseded"),
    ]


def test_a_text_already_edited_when_first_read_is_queued_and_its_command_answered_not_run(
    town: Town, polling: Polling
) -> None:
    desk = _start(town, polling)
    comment = town.say("hello")
    town.edit(comment, "the-loop stop")
    polling.cycle()
    assert polling.fates()["the-loop stop"] == ("inflight", "queued", "")
    assert desk.view(town.thread).folded.phase == "running"
    (refusal,) = desk.replies("refusal")
    assert refusal == (
        "There is a command in an edited comment. I cannot tell who edited it, so it did not run; "
        "please write it again as a new comment."
    )


def test_a_refused_comment_is_settled_once_over_any_number_of_rounds_and_a_restart(town: Town) -> None:
    with town.process() as polling:
        polling.cycle()
        town.say("before any start")
        for _ in range(3):
            polling.cycle()
    with town.process() as again:
        for _ in range(3):
            again.cycle()
        # A new comment makes the listing change, and the refused one stands in it again.
        town.say("another")
        again.cycle()
        assert again.fates()["before any start"] == ("settled", "", "awaiting-start")
        assert again.dispatching.rows("SELECT attempts FROM fates") == [(0,), (0,)]
        assert again.dispatching.rows("SELECT count(*) FROM replies WHERE kind <> 'reaction'") == [(0,)]
        settled = polling.logged("poll.comment_settled", "outcome") + again.logged("poll.comment_settled", "outcome")
        assert settled == [("awaiting-start",)] * 2
        assert again.logged("poll.comment_forwarded") == []


def test_a_comment_settled_after_it_was_handed_over_is_reported_by_a_later_round_and_once(
    town: Town, polling: Polling
) -> None:
    desk = _start(town, polling)
    town.say("while it runs")
    town.say("the-loop pause")
    polling.cycle()
    assert polling.logged("poll.comment_settled", "outcome") == [("control-executed",)]
    desk.carry_out(town.thread)
    assert polling.cycle().comments_settled == 1
    assert polling.cycle().comments_settled == 0
    assert polling.logged("poll.comment_settled", "outcome") == [("control-executed",), ("session-paused",)]
    ((resolved_at,),) = polling.dispatching.rows(
        "SELECT d.resolved_at FROM deliveries d JOIN events e USING (event_key) WHERE e.body = 'while it runs'"
    )
    assert resolved_at is not None


def test_a_comment_settled_while_the_service_was_down_is_reported_after_the_restart(town: Town) -> None:
    with town.process() as polling:
        polling.cycle()
        desk = _start(town, polling)
        comment = town.say("while it runs")
        town.say("the-loop pause")
        polling.cycle()
        desk.carry_out(town.thread)
    for reported in ([(comment.id, "ada", "session-paused", f"github:{town.host}/{REPO}#1")], []):
        with town.process() as again:
            again.cycle()
            assert again.logged("poll.comment_settled", "comment_id", "actor", "outcome", "work_item") == reported


def test_a_done_comment_is_resolved_without_a_word(town: Town, polling: Polling) -> None:
    desk = _start(town, polling)
    town.say("do it")
    polling.cycle()
    desk.carry_out(town.thread)
    polling.cycle()
    assert polling.fates()["do it"] == ("done", "", "")
    assert ("session-paused",) not in polling.logged("poll.comment_settled", "outcome")
    assert polling.dispatching.rows("SELECT count(*) FROM deliveries WHERE resolved_at IS NULL") == [(0,)]


def test_a_strangers_comment_is_passed_over_once_leaves_no_row_and_the_cursor_goes_on(
    town: Town, polling: Polling
) -> None:
    town.stand_in.advance_clock(3600)
    town.say("the-loop start", login="eve")
    polling.cycle()
    town.say("hello")
    for _ in range(3):
        polling.cycle()
    assert polling.bodies() == ["hello"]
    assert polling.logged("routing.dropped", "reason", "actor", "road") == [("unauthorized-actor", "eve", "poll")]
    assert town.listings()[-1] == 304


def test_comments_are_handed_over_in_the_order_of_their_changes(town: Town, polling: Polling) -> None:
    first = town.say("draft")
    town.say("between")
    town.edit(first, "final")
    assert polling.cycle().comments_seen == 2
    assert polling.bodies() == ["between", "final"]
    assert polling.fates() == {
        "between": ("settled", "", "awaiting-start"),
        "final": ("settled", "", "awaiting-start"),
    }


def test_a_renamed_repository_is_followed_by_its_id(town: Town, polling: Polling) -> None:
    town.stand_in.rename_repository(REPO, "renamed")
    town.say("hello", name="octo/renamed")
    polling.cycle()
    assert polling.bodies() == ["hello"]


def test_a_repository_named_by_its_former_name_is_watched_under_that_name(town: Town) -> None:
    with town.process() as polling:
        polling.cycle()
    town.stand_in.rename_repository(REPO, "renamed")
    town.say("hello", name="octo/renamed")
    with town.process() as again:
        again.cycle()
        assert again.fates() == {"hello": ("settled", "", "awaiting-start")}
        assert again.logged("poll.baselined") == []


def test_another_token_asks_without_the_etag_of_the_one_before(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = ["loop-token"]
    town.stand_in.add_account("loop2", token="another-token")
    with town.process(token=lambda: tokens[-1]) as polling:
        etags: list[bool] = []
        read = polling.github.read

        def read_and_note(address: str, parameters: dict[str, str] | None = None, etag: str | None = None) -> Answer:
            if address.endswith("/issues/comments"):
                etags.append(etag is not None)
            return read(address, parameters, etag)

        monkeypatch.setattr(polling.github, "read", read_and_note)
        polling.cycle()
        polling.cycle()
        tokens.append("another-token")
        polling.cycle()
        polling.cycle()
        assert etags == [False, True, False, True]
        assert town.listings() == [200, 304, 200, 304]


def test_every_repository_has_a_cursor_of_its_own(town: Town) -> None:
    with town.process((REPO, OTHER)) as polling:
        polling.cycle()
        town.say("here")
        town.say("there", name=OTHER)
        result = polling.cycle()
        assert (result.repositories, result.comments_seen) == (2, 2)
        assert sorted(polling.bodies()) == ["here", "there"]
        assert polling.dispatching.rows("SELECT count(*) FROM cursors") == [(2,)]
