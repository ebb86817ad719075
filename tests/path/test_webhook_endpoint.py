"""What the pushed road answers to what GitHub sends: accepted, duplicate, ignored, pong, and how the service is."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from eventlog.events.webhook import WebhookPing
from tests.fakes.dispatching import Dispatching
from tests.fakes.endpoint import EVE, READY, SECRET, Endpoint, comment_payload, delivery_headers, together
from webhook.app import NoSecret, create_app
from webhook.intake import WebhookSettings


@pytest.fixture
def dispatching(tmp_path):
    with Dispatching(tmp_path) as made:
        yield made


@pytest.fixture
def endpoint(dispatching):
    with Endpoint(dispatching) as served:
        yield served


def test_an_accepted_event_is_on_disk_when_it_is_answered(endpoint, dispatching) -> None:
    answer = endpoint.deliver(comment_payload("the-loop start", comment_id=77), delivery_id="d-1")
    assert (answer.status, answer.json) == (
        202,
        {"status": "accepted", "event_key": "github.com/issue_comment/77", "fate": "inflight", "outcome": ""},
    )
    assert dispatching.rows("SELECT event_key, body FROM events") == [("github.com/issue_comment/77", "the-loop start")]
    assert dispatching.rows("SELECT road, delivery_id, arrivals FROM deliveries") == [("webhook", "d-1", 1)]


def test_a_refused_comment_is_accepted_and_says_its_outcome(endpoint) -> None:
    answer = endpoint.deliver(comment_payload("hello", comment_id=77))
    assert (answer.status, answer.json) == (
        202,
        {
            "status": "accepted",
            "event_key": "github.com/issue_comment/77",
            "fate": "settled",
            "outcome": "awaiting-start",
        },
    )


@pytest.mark.parametrize(
    ("second_id", "arrivals"),
    [
        pytest.param("d-1", [("d-1", 2)], id="by the same delivery id"),
        pytest.param("d-2", [("d-1", 1), ("d-2", 1)], id="by another delivery id"),
    ],
)
def test_the_same_fact_again_is_a_duplicate_and_its_arrival_is_recorded(
    endpoint, dispatching, second_id, arrivals
) -> None:
    payload = comment_payload("hello", comment_id=77)
    endpoint.deliver(payload, delivery_id="d-1")
    answer = endpoint.deliver(payload, delivery_id=second_id)
    assert (answer.status, answer.json) == (
        202,
        {
            "status": "duplicate",
            "event_key": "github.com/issue_comment/77",
            "fate": "settled",
            "outcome": "awaiting-start",
        },
    )
    assert dispatching.rows("SELECT delivery_id, arrivals FROM deliveries ORDER BY delivery_id") == arrivals
    assert dispatching.rows("SELECT count(*) FROM events") == [(1,)]


def test_a_fact_is_still_a_duplicate_after_a_restart(tmp_path) -> None:
    payload = comment_payload("the-loop start")
    with Dispatching(tmp_path) as before, Endpoint(before) as endpoint:
        endpoint.deliver(payload)
    with Dispatching(tmp_path) as after, Endpoint(after) as endpoint:
        assert endpoint.deliver(payload).json["status"] == "duplicate"


@pytest.mark.parametrize("ids", [pytest.param(1, id="one delivery id"), pytest.param(32, id="an id each")])
def test_the_same_fact_on_many_connections_at_once_is_one_event_and_as_many_arrivals(
    endpoint, dispatching, ids
) -> None:
    payload = comment_payload("the-loop start")
    answers = together(32, lambda index: endpoint.deliver(payload, delivery_id=f"d-{index % ids}"))
    assert {answer.status for answer in answers} == {202}
    assert sorted(answer.json["status"] for answer in answers) == ["accepted"] + ["duplicate"] * 31
    assert dispatching.rows("SELECT count(*) FROM events") == [(1,)]
    assert dispatching.rows("SELECT count(*), sum(arrivals) FROM deliveries") == [(ids, 32)]


@pytest.mark.parametrize(
    ("event", "payload", "reason"),
    [
        pytest.param("star", {"action": "created"}, "not-for-us", id="another event"),
        pytest.param("issue_comment", comment_payload() | {"action": "pinned"}, "not-for-us", id="another action"),
        pytest.param("issue_comment", comment_payload(body=None), "not-for-us", id="an empty text"),
        pytest.param("issue_comment", comment_payload(user=EVE), "unauthorized-actor", id="a stranger"),
        pytest.param("issue_comment", comment_payload(user=None), "unauthorized-actor", id="a deleted author"),
    ],
)
def test_what_is_nothing_for_us_is_ignored_with_the_reason_and_leaves_no_row(
    endpoint, dispatching, event, payload, reason
) -> None:
    answer = endpoint.deliver(payload, event)
    assert (answer.status, answer.json) == (202, {"status": "ignored", "reason": reason})
    assert [dropped.reason for dropped in dispatching.events.named("routing.dropped")] == [reason]
    assert dispatching.rows("SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM deliveries)") == [(0,)]


def test_a_ping_is_answered_with_the_events_that_the_hook_does_not_send_and_logged(endpoint, dispatching) -> None:
    payload = {"hook_id": 7, "hook": {"events": ["issues", "issue_comment"], "config": {"content_type": "json"}}}
    answer = endpoint.deliver(payload, "ping", delivery_id="d-1")
    missing = ["pull_request", "pull_request_review", "pull_request_review_comment"]
    assert (answer.status, answer.json) == (200, {"status": "pong", "missing_events": missing})
    assert dispatching.events.all() == [WebhookPing(delivery_id="d-1", hook_id=7, missing_events=tuple(missing))]


def test_a_form_is_read_as_json_is_and_its_signature_covers_the_raw_bytes(endpoint) -> None:
    body = urlencode({"payload": json.dumps(comment_payload("the-loop start é", comment_id=77))}).encode()
    answer = endpoint.post(body, delivery_headers(body, content_type="application/x-www-form-urlencoded"))
    assert (answer.status, answer.json["event_key"]) == (202, "github.com/issue_comment/77")


def test_a_delivery_is_logged_once_with_what_it_is_about(endpoint, dispatching) -> None:
    endpoint.deliver(comment_payload("hello", comment_id=77), delivery_id="d-1")
    [received] = dispatching.events.named("webhook.received")
    assert (received.delivery_id, received.event_key, received.work_item, received.github_event, received.action) == (
        "d-1",
        "github.com/issue_comment/77",
        "github:o/r#15",
        "issue_comment",
        "created",
    )


@pytest.mark.parametrize("secret", [pytest.param(b"old", id="the old one"), pytest.param(SECRET, id="the new one")])
def test_while_a_secret_is_replaced_both_hold(dispatching, secret) -> None:
    body = json.dumps(comment_payload()).encode()
    signed = delivery_headers(body, secret=secret)
    with Endpoint(dispatching, WebhookSettings(secrets=(SECRET, b"old"))) as endpoint:
        assert endpoint.post(body, signed).status == 202


@pytest.mark.parametrize("secrets", [pytest.param((), id="none"), pytest.param((b"",), id="an empty one")])
def test_without_a_secret_nothing_is_served(dispatching, secrets) -> None:
    with pytest.raises(NoSecret):
        create_app(
            WebhookSettings(secrets=secrets),
            dispatching.dispatcher,
            readiness=lambda: READY,
            admission=lambda: True,
            clock=dispatching.clock,
            emit=dispatching.events.emit,
            parsers=ThreadPoolExecutor(1),
        )


def test_a_secret_is_not_shown_with_the_settings() -> None:
    assert "a secret" not in repr(WebhookSettings(secrets=(SECRET,)))


@pytest.mark.parametrize(
    ("enterprise_host", "payload_host", "answer"),
    [
        pytest.param(None, "github.com", (202, "accepted"), id="github.com sends no header"),
        pytest.param("ghe.example.org", "ghe.example.org", (202, "accepted"), id="header and payload agree"),
        pytest.param(None, "ghe.example.org", (202, "accepted"), id="the payload alone names a configured host"),
        pytest.param("ghe.example.org", "github.com", (400, "malformed"), id="header and payload disagree"),
        pytest.param("evil.example.org", "github.com", (400, "host"), id="the header names a host that is not ours"),
        pytest.param(None, "evil.example.org", (400, "malformed"), id="the payload names a host that is not ours"),
    ],
)
def test_a_delivery_is_of_a_configured_host_or_refused(dispatching, enterprise_host, payload_host, answer) -> None:
    body = json.dumps(comment_payload("hello", comment_id=77, host=payload_host)).encode()
    headers = delivery_headers(body)
    if enterprise_host is not None:
        headers["X-GitHub-Enterprise-Host"] = enterprise_host
    settings = WebhookSettings(secrets=(SECRET,), hosts=("github.com", "ghe.example.org"))
    with Endpoint(dispatching, settings) as endpoint:
        got = endpoint.post(body, headers)
    said = got.json
    assert (got.status, said["reason"] if got.status == 400 else said["status"]) == answer
    if got.status == 202:
        assert said["event_key"] == f"{payload_host}/issue_comment/77"


def test_the_service_says_that_it_is_alive_whatever_else(endpoint) -> None:
    endpoint.is_admitting = False
    endpoint.readiness = replace(READY, store_writable=False)
    answer = endpoint.request("GET", "/healthz")
    assert (answer.status, answer.json) == (200, {"status": "alive"})


@pytest.mark.parametrize(
    ("readiness", "status", "word"),
    [
        pytest.param(READY, 200, "ready", id="all is well"),
        pytest.param(replace(READY, log_lines_held=3), 200, "ready", id="the log waits for its disk"),
        pytest.param(replace(READY, store_writable=False), 503, "not-ready", id="the store cannot be written"),
        pytest.param(replace(READY, workers_up=False), 503, "not-ready", id="the workers are not up"),
        pytest.param(replace(READY, admission_open=False), 503, "not-ready", id="admission is closed"),
    ],
)
def test_ready_means_that_a_delivery_would_be_taken_and_carried_out(endpoint, readiness, status, word) -> None:
    endpoint.readiness = readiness
    answer = endpoint.request("GET", "/readyz")
    assert (answer.status, answer.json) == (
        status,
        {
            "status": word,
            "store_writable": readiness.store_writable,
            "workers_up": readiness.workers_up,
            "admission_open": readiness.admission_open,
            "log_lines_held": readiness.log_lines_held,
            "log_lines_lost": 0,
        },
    )


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/", "/webhook", "/webhook/github/"])
def test_nothing_else_is_served(endpoint, path) -> None:
    assert endpoint.request("GET", path).status == 404
