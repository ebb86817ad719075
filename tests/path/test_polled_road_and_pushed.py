"""One comment by both roads is one event with two arrivals, whichever came first and at the same moment too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.core import LABELED, Desk
from tests.fakes.dispatching import LIMIT_S
from tests.fakes.endpoint import SECRET, Endpoint
from tests.fakes.polling import REPO, Polling, Town
from webhook.intake import WebhookSettings

BOTH = [("poll", 1), ("webhook", 1)]


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with Town(tmp_path) as town:
        yield town


@pytest.fixture
def polling(town: Town) -> Iterator[Polling]:
    """A process with both roads: its poller has begun to watch, and the repository's hook reaches its endpoint."""
    with town.process() as polling:
        settings = WebhookSettings(secrets=(SECRET,), hosts=(town.host,))
        with Endpoint(polling.dispatching, settings) as endpoint:
            polling.cycle()
            address, port = endpoint.address
            url = f"http://{address}:{port}{settings.path}"
            town.stand_in.add_hook(REPO, url, SECRET.decode(), events=("issue_comment",), ping=False)
            yield polling


def test_what_the_webhook_brought_is_a_duplicate_by_poll(town: Town, polling: Polling) -> None:
    town.say("hello")
    assert town.stand_in.wait_for_webhooks()
    result = polling.cycle()
    assert (polling.bodies(), polling.arrivals()) == (["hello"], BOTH)
    assert (result.comments_seen, result.comments_forwarded, result.comments_settled) == (1, 0, 0)
    assert polling.logged("dispatch.duplicate", "road", "outcome") == [("poll", "awaiting-start")]


def test_what_the_poller_brought_is_a_duplicate_by_webhook(town: Town, polling: Polling) -> None:
    town.stand_in.hold_webhooks()
    town.say("hello")
    polling.cycle()
    town.stand_in.release_webhooks()
    assert town.stand_in.wait_for_webhooks()
    assert (polling.bodies(), polling.arrivals()) == (["hello"], BOTH)
    assert polling.logged("dispatch.duplicate", "road", "outcome") == [("webhook", "awaiting-start")]


@pytest.mark.parametrize("count", [1, 30])
def test_both_roads_at_the_same_moment_make_one_event_of_each_comment(town: Town, polling: Polling, count: int) -> None:
    town.stand_in.hold_webhooks()
    bodies = [town.say(f"comment {number}").body for number in range(count)]
    together = threading.Barrier(2)

    def poll() -> None:
        together.wait(LIMIT_S)
        polling.cycle()

    thread = threading.Thread(target=poll)
    thread.start()
    together.wait(LIMIT_S)
    town.stand_in.release_webhooks()
    thread.join(LIMIT_S)
    assert town.stand_in.wait_for_webhooks()
    assert sorted(polling.bodies()) == sorted(bodies)
    assert polling.arrivals() == [("poll", 1)] * count + [("webhook", 1)] * count
    assert len(polling.logged("dispatch.accepted")) == count
    assert len(polling.logged("dispatch.duplicate")) == count


def test_a_comment_in_play_by_webhook_is_reported_by_the_poller_when_it_is_settled(
    town: Town, polling: Polling
) -> None:
    town.say("the-loop start")
    town.say("do it")
    assert town.stand_in.wait_for_webhooks()
    assert polling.cycle().comments_forwarded == 0
    town.say("the-loop pause")
    assert town.stand_in.wait_for_webhooks()
    Desk(polling.dispatching).carry_out(town.thread)
    assert [polling.cycle().comments_settled for _ in range(2)] == [1, 0]
    assert polling.logged("poll.comment_settled", "outcome") == [("session-paused",)]


def test_a_start_that_only_the_poller_brings_late_changes_nothing_after_a_later_stop(
    town: Town, polling: Polling
) -> None:
    town.stand_in.hold_webhooks()
    town.say("the-loop start")
    town.stand_in.release_webhooks(drop=True)
    town.say("the-loop stop")
    assert town.stand_in.wait_for_webhooks()
    assert polling.fates()["the-loop stop"] == ("settled", "", "control-executed")
    polling.cycle()
    desk = Desk(polling.dispatching)
    desk.answer_needs(LABELED, thread=town.thread)
    assert polling.fates() == {
        "the-loop start": ("settled", "", "control-executed"),
        "the-loop stop": ("settled", "", "control-executed"),
    }
    assert desk.view(town.thread).folded.phase == "stopped"
