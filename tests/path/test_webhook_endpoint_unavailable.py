"""When the pushed road cannot take a request now: it says so, when to come again, and nothing of it is recorded."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from eventlog.events.webhook import WebhookOverloaded
from tests.fakes.dispatching import LIMIT_S, START_MS, Dispatching
from tests.fakes.endpoint import (
    EVE,
    SECRET,
    Answer,
    Endpoint,
    comment_payload,
    delivery_headers,
    raw_request,
    read_answer,
)
from webhook.bodies import BodyLimits
from webhook.intake import WebhookSettings

BODY = json.dumps(comment_payload("hello")).encode()
HASTY = WebhookSettings(secrets=(SECRET,), answer_s=0.2)


@pytest.fixture
def waiting(tmp_path) -> Iterator[Dispatching]:
    """A store whose committer does not work until the test starts it."""
    made = Dispatching(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def dispatching(tmp_path) -> Iterator[Dispatching]:
    with Dispatching(tmp_path) as made:
        yield made


def _assert_not_taken(answer: Answer, reason: str) -> None:
    assert (answer.status, answer.json) == (503, {"status": "unavailable", "reason": reason})
    assert answer.headers["retry-after"] == "10"


def _overloads(dispatching: Dispatching) -> list[str]:
    return [event.reason for event in dispatching.events.all() if isinstance(event, WebhookOverloaded)]


def _assert_nothing_recorded(dispatching: Dispatching) -> None:
    tables = [name for (name,) in dispatching.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    counts = {name: dispatching.rows(f"SELECT count(*) FROM {name}")[0][0] for name in tables}  # noqa: S608
    assert not any(counts.values()), counts


def test_while_the_service_drains_nothing_is_taken_or_even_read(dispatching) -> None:
    with Endpoint(dispatching) as endpoint:
        endpoint.is_admitting = False
        answer = endpoint.exchange(raw_request(delivery_headers(BODY) | {"Content-Length": str(len(BODY))}))
    _assert_not_taken(answer, "draining")
    assert _overloads(dispatching) == ["draining"]
    _assert_nothing_recorded(dispatching)


def test_when_the_queue_is_full_the_next_is_not_taken_and_what_waits_is(tmp_path) -> None:
    dispatching = Dispatching(tmp_path, queue_max=1)
    with Endpoint(dispatching) as endpoint, ThreadPoolExecutor(1) as threads:
        first = threads.submit(endpoint.deliver, comment_payload("first", comment_id=1))
        dispatching.events.wait_for("webhook.received")
        _assert_not_taken(endpoint.deliver(comment_payload("second", comment_id=2)), "queue-full")
        dispatching.start()
        assert first.result(LIMIT_S).status == 202
    dispatching.stop()
    assert _overloads(dispatching) == ["queue-full"]
    assert dispatching.rows("SELECT event_key FROM events") == [("github.com/issue_comment/1",)]


def test_what_the_store_does_not_begin_in_time_is_taken_back(waiting) -> None:
    with Endpoint(waiting, HASTY) as endpoint:
        _assert_not_taken(endpoint.deliver(comment_payload()), "late")
    waiting.stop()
    assert _overloads(waiting) == ["late"]
    _assert_nothing_recorded(waiting)


def test_whose_client_leaves_before_the_store_begins_is_taken_back(waiting) -> None:
    with Endpoint(waiting) as endpoint:
        with endpoint.connect() as connection:
            connection.sendall(raw_request(delivery_headers(BODY) | {"Content-Length": str(len(BODY))}) + BODY)
            waiting.events.wait_for("webhook.received")
        waiting.events.wait_for("webhook.overloaded")
    waiting.stop()
    assert _overloads(waiting) == ["client-left"]
    _assert_nothing_recorded(waiting)


class HeldClock:
    """A clock at which the committer, in the middle of a batch, waits until the test lets it go."""

    def __init__(self) -> None:
        self._numbers = itertools.count(START_MS)
        self.let_go = threading.Event()
        self.reached = threading.Event()

    def __call__(self) -> int:
        if threading.current_thread().name == "committer":
            self.reached.set()
            self.let_go.wait(LIMIT_S)
        return next(self._numbers)


@pytest.fixture
def clock() -> Iterator[HeldClock]:
    clock = HeldClock()
    yield clock
    clock.let_go.set()


def test_whose_client_leaves_once_the_store_has_begun_is_recorded_all_the_same(tmp_path, clock) -> None:
    with Dispatching(tmp_path, clock=clock) as dispatching:
        with Endpoint(dispatching) as endpoint:
            with endpoint.connect() as connection:
                connection.sendall(raw_request(delivery_headers(BODY) | {"Content-Length": str(len(BODY))}) + BODY)
                assert clock.reached.wait(LIMIT_S)
            clock.let_go.set()
            assert endpoint.post(BODY, delivery_headers(BODY)).json["status"] == "duplicate"
        assert _overloads(dispatching) == []


def test_a_store_that_begins_and_comes_to_no_end_is_no_success_and_a_repeat_is_a_duplicate(tmp_path, clock) -> None:
    with Dispatching(tmp_path, clock=clock) as dispatching, Endpoint(dispatching, HASTY) as endpoint:
        _assert_not_taken(endpoint.post(BODY, delivery_headers(BODY)), "store-stuck")
        clock.let_go.set()
        assert endpoint.post(BODY, delivery_headers(BODY)).json["status"] == "duplicate"


def test_a_store_that_is_closed_takes_nothing(waiting) -> None:
    with Endpoint(waiting) as endpoint:
        waiting.stop()
        _assert_not_taken(endpoint.deliver(comment_payload()), "store")
    assert _overloads(waiting) == ["store"]
    _assert_nothing_recorded(waiting)


@contextlib.contextmanager
def _another_writer(path: Path) -> Iterator[None]:
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def test_a_store_that_somebody_else_writes_takes_nothing_until_it_is_free_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("statedb.database.BUSY_MS", 50)
    payload = comment_payload("the-loop start")
    with Dispatching(tmp_path) as dispatching, Endpoint(dispatching) as endpoint:
        with _another_writer(dispatching.path):
            _assert_not_taken(endpoint.deliver(payload, delivery_id="d-1"), "store")
            _assert_nothing_recorded(dispatching)
        assert endpoint.deliver(payload, delivery_id="d-1").json["status"] == "accepted"
        assert _overloads(dispatching) == ["store"]


def test_a_store_without_room_takes_nothing_until_there_is_room_again(dispatching) -> None:
    pages = dispatching.committer.write(lambda connection: connection.pragma("page_count"))
    with Endpoint(dispatching) as endpoint:
        limit = dispatching.committer.write(lambda connection: connection.pragma("max_page_count", pages))
        assert limit == pages
        large = comment_payload("x" * 60_000)
        _assert_not_taken(endpoint.deliver(large), "store")
        _assert_nothing_recorded(dispatching)
        dispatching.committer.write(lambda connection: connection.pragma("max_page_count", pages + 1_000))
        assert endpoint.deliver(large).json["status"] == "accepted"


def test_the_bodies_of_all_requests_together_are_bounded_and_given_back(dispatching) -> None:
    limits = BodyLimits(in_flight_bytes_max=2 * len(BODY) - 10)
    head = raw_request(delivery_headers(BODY) | {"Content-Length": str(len(BODY)), "Expect": "100-continue"})
    with Endpoint(dispatching, WebhookSettings(secrets=(SECRET,), body=limits)) as endpoint:
        with endpoint.connect() as slow:
            slow.sendall(head)
            # The server asks for the body once it reads it: what is sent from now on is counted before what comes later.
            assert slow.recv(1024).startswith(b"HTTP/1.1 100")
            slow.sendall(BODY[:-1])
            _assert_not_taken(endpoint.post(BODY, delivery_headers(BODY)), "bodies-in-flight")
            slow.sendall(BODY[-1:])
            assert read_answer(slow).status == 202
        assert endpoint.post(BODY, delivery_headers(BODY)).status == 202
    assert _overloads(dispatching) == ["bodies-in-flight"]


@contextlib.contextmanager
def _busy_parsers(endpoint: Endpoint) -> Iterator[threading.Event]:
    """All threads that parse long texts are busy until the event is set."""
    let_go = threading.Event()
    for _ in range(2):
        endpoint.parsers.submit(let_go.wait, LIMIT_S)
    try:
        yield let_go
    finally:
        let_go.set()


LONG = "the-loop start\n\n" + "word " * 2_000


def test_a_long_text_that_names_us_is_parsed_beside_the_loop_which_goes_on_meanwhile(dispatching) -> None:
    with Endpoint(dispatching) as endpoint, ThreadPoolExecutor(1) as threads, _busy_parsers(endpoint) as let_go:
        long = threads.submit(endpoint.deliver, comment_payload(LONG))
        dispatching.events.wait_for("webhook.received")
        assert endpoint.deliver(comment_payload("the-loop status")).status == 202
        assert not long.done()
        let_go.set()
        assert long.result(LIMIT_S).json["status"] == "accepted"


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(comment_payload(LONG, user=EVE), id="of a stranger"),
        pytest.param(comment_payload("word " * 2_000), id="that does not name us"),
    ],
)
def test_a_long_text_that_can_hold_no_command_is_not_parsed(dispatching, payload) -> None:
    with Endpoint(dispatching) as endpoint, _busy_parsers(endpoint):
        assert endpoint.deliver(payload).status == 202


def test_a_text_that_is_not_parsed_in_time_is_not_taken(dispatching) -> None:
    with Endpoint(dispatching, HASTY) as endpoint, _busy_parsers(endpoint):
        _assert_not_taken(endpoint.deliver(comment_payload(LONG)), "late")
    _assert_nothing_recorded(dispatching)


def test_a_fault_of_ours_is_answered_without_a_word_about_it_and_logged_as_an_error(dispatching, caplog) -> None:
    with Endpoint(dispatching) as endpoint:
        endpoint.parsers.shutdown()
        answer = endpoint.deliver(comment_payload(LONG))
        assert (answer.status, answer.json) == (500, {"status": "rejected", "reason": "internal"})
        assert endpoint.deliver(comment_payload("hello")).status == 202
    assert [record.levelname for record in caplog.records if record.name == "webhook.app"] == ["ERROR"]
    assert [event.reason for event in dispatching.events.named("webhook.rejected")] == ["internal"]
