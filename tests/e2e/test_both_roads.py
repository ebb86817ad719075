"""One comment by many connections and both roads at once: one event, one session, one answer."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from service.demo.github.records import Comment, Delivery
from tests.crash.setting import REPOSITORY, SECRET, Setting
from tests.crash.stories import Told, end, unfinished, wrong_of
from tests.crash.world import World

CONNECTIONS = 32
WAIT_S = 20.0
NOBODY_URL = "http://127.0.0.1:9/"


def undelivered(world: World, body: str) -> tuple[Comment, Delivery]:
    """A comment whose delivery found nobody: by the pushed road nobody knows of it yet."""
    world.github.set_hook_active(world.hook_id, active=False)
    deaf = world.github.add_hook(REPOSITORY, NOBODY_URL, SECRET, events=("issue_comment",), ping=False)
    comment = world.write(body)
    assert world.github.wait_for_webhooks(WAIT_S)
    world.github.set_hook_active(deaf.id, active=False)
    (delivery,) = world.github.deliveries(deaf.id)
    return comment, delivery


def post_at_once(url: str, delivery: Delivery) -> list[str]:
    """Send a delivery on many connections at the same moment, half of them under ids of their own; what was answered."""
    ready = threading.Barrier(CONNECTIONS)

    def post(number: int) -> str:
        guid = delivery.guid if number % 2 else f"{delivery.guid}-{number}"
        headers = delivery.request_headers | {"X-GitHub-Delivery": guid}
        with httpx.Client(timeout=WAIT_S, trust_env=False) as client:
            ready.wait(WAIT_S)
            answer = client.post(url, content=delivery.payload.encode(), headers=headers)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        return str(answer.json()["status"])

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return list(pool.map(post, range(CONNECTIONS)))


def test_the_same_comment_on_many_connections_and_both_roads_is_one_event_one_session_and_one_answer(
    tmp_path: Path,
) -> None:
    with World(tmp_path, setting=Setting(polled=True)) as world:
        start, delivery = undelivered(world, "the-loop start please fix it")
        answers = Counter(post_at_once(world.webhook_url, delivery))
        world.until(lambda: world.arrivals(start, "poll") > 0, "the polled road came by")
        world.until(lambda: world.is_answered(start), "the comment is answered")
        stop = world.write("the-loop stop")
        world.until(lambda: world.fate(stop) == "control-executed", "the session is stopped")
        world.until(lambda: not list(unfinished(world)), "all is finished")
        told = [
            Told(comment=start, fate="control-executed", heard=1),
            Told(comment=stop, fate="control-executed", heard=0),
        ]
        assert [*wrong_of(world, told)] == []
        assert len(world.books.session_ids()) == 1
        assert len(world.said()) == 1
        assert answers["accepted"] + answers["duplicate"] == CONNECTIONS
        assert answers["accepted"] <= 1
        assert world.arrivals(start, "webhook") == CONNECTIONS
        end(world)
