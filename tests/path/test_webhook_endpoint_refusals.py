"""What the pushed road refuses, by what is wrong with it, and that nothing of it is kept."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from eventlog.events.webhook import WebhookRejected
from tests.fakes.dispatching import Dispatching
from tests.fakes.endpoint import (
    SECRET,
    Endpoint,
    comment_payload,
    delivery_headers,
    raw_request,
    read_answer,
    signature,
)
from webhook.bodies import BodyLimits
from webhook.intake import WebhookSettings

BODY = json.dumps(comment_payload("the-loop start")).encode()
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def dispatching(tmp_path):
    with Dispatching(tmp_path) as made:
        yield made


@pytest.fixture
def endpoint(dispatching):
    with Endpoint(dispatching) as served:
        yield served


def _rejections(dispatching) -> list[tuple[int, str]]:
    """Status and reason of each line, where nothing but refusals was logged and nothing was stored."""
    events = dispatching.events.all()
    assert all(isinstance(event, WebhookRejected) for event in events), events
    assert dispatching.rows("SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM deliveries)") == [(0,)]
    return [(event.status, event.reason) for event in events if isinstance(event, WebhookRejected)]


@pytest.mark.parametrize(
    ("signatures", "reason"),
    [
        pytest.param({}, "signature-missing", id="missing"),
        pytest.param({"X-Hub-Signature-256": ""}, "signature-missing", id="empty"),
        pytest.param({"X-Hub-Signature": "sha1=" + "0" * 40}, "signature-sha1-only", id="sha1 only"),
        pytest.param({"X-Hub-Signature-256": "sha1=" + "0" * 40}, "signature-sha1-only", id="sha1 in its place"),
        pytest.param({"X-Hub-Signature-256": "sha256=zz"}, "signature-malformed", id="no hex"),
        pytest.param({"X-Hub-Signature-256": signature(BODY)[7:]}, "signature-malformed", id="without its kind"),
        pytest.param({"X-Hub-Signature-256": "sha256=" + "é" * 64}, "signature-malformed", id="non-ASCII"),
        pytest.param({"X-Hub-Signature-256": signature(BODY, b"guess")}, "signature-wrong", id="another secret"),
        pytest.param({"X-Hub-Signature-256": signature(BODY + b" ")}, "signature-wrong", id="over other bytes"),
    ],
)
def test_an_unproven_request_is_refused_and_only_the_log_says_why(endpoint, dispatching, signatures, reason) -> None:
    headers = delivery_headers(BODY)
    del headers["X-Hub-Signature-256"]
    length = {"Content-Length": str(len(BODY))}
    answer = endpoint.exchange(raw_request(headers | signatures | length), BODY)
    assert (answer.status, answer.json) == (401, {"status": "rejected"})
    assert _rejections(dispatching) == [(401, reason)]


def test_the_signature_is_hex_in_either_case(endpoint) -> None:
    headers = delivery_headers(BODY)
    headers["X-Hub-Signature-256"] = "sha256=" + headers["X-Hub-Signature-256"][7:].upper()
    assert endpoint.post(BODY, headers).status == 202


def test_of_an_unsigned_request_nothing_is_parsed(endpoint, dispatching) -> None:
    headers = {"Content-Type": "application/json", "X-Hub-Signature-256": signature(b"another")}
    assert endpoint.post(b"{no json", headers).status == 401
    assert _rejections(dispatching) == [(401, "signature-wrong")]


def _comment(**fields: object) -> bytes:
    payload = comment_payload()
    payload["comment"] |= fields
    return json.dumps(payload).encode()


def _without(name: str) -> bytes:
    payload = comment_payload()
    del payload[name]
    return json.dumps(payload).encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{no json", id="no JSON"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b'"text"', id="a text"),
        pytest.param(b'{"action": NaN}', id="not a number"),
        pytest.param(BODY + b"{}", id="two documents"),
        pytest.param(b'{"action": "\xff\xfe"}', id="bad UTF-8"),
        pytest.param(b'{"action": "a\0b"}', id="a raw NUL"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="nested too deep"),
        pytest.param(_without("repository"), id="no repository"),
        pytest.param(_without("comment"), id="no comment"),
        pytest.param(_comment(id=0), id="an id below 1"),
        pytest.param(_comment(id=2**53 + 1), id="an id above 2^53"),
        pytest.param(_comment(id=True), id="an id that is true"),
        pytest.param(_comment(id=1.5), id="an id with a fraction"),
        pytest.param(_comment(id="1"), id="an id as text"),
        pytest.param(_comment(body=7), id="a text that is a number"),
        pytest.param(_comment(created_at="yesterday"), id="a time that is none"),
    ],
)
def test_a_body_without_the_shape_that_we_read_is_refused_with_one_line(endpoint, dispatching, body) -> None:
    answer = endpoint.post(body, delivery_headers(body))
    assert (answer.status, answer.json["status"], answer.json["reason"]) == (400, "rejected", "malformed")
    assert _rejections(dispatching) == [(400, "malformed")]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({"other": "{}"}, id="no payload"),
        pytest.param([("payload", "{}"), ("payload", "{}")], id="two payloads"),
        pytest.param({"payload": "[]"}, id="a payload that is an array"),
    ],
)
def test_a_form_without_one_object_as_payload_is_refused(endpoint, dispatching, form) -> None:
    body = urlencode(form).encode()
    assert endpoint.post(body, delivery_headers(body, content_type=FORM)).status == 400
    assert _rejections(dispatching) == [(400, "malformed")]


def test_what_a_store_cannot_hold_in_a_text_is_replaced(endpoint, dispatching) -> None:
    body = _comment(body="the-loop start a\0b \ud800 c")
    assert endpoint.post(body, delivery_headers(body)).status == 202
    assert dispatching.rows("SELECT body FROM events") == [("the-loop start a\ufffdb \ufffd c",)]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"X-GitHub-Event": None}, "event-header", id="no event"),
        pytest.param({"X-GitHub-Event": "Issue Comment"}, "event-header", id="no event's name"),
        pytest.param({"X-GitHub-Event": "e" * 65}, "event-header", id="an event's name that is too long"),
        pytest.param({"X-GitHub-Delivery": None}, "delivery-header", id="no delivery"),
        pytest.param({"X-GitHub-Delivery": "d" * 101}, "delivery-header", id="a delivery id that is too long"),
        pytest.param({"X-GitHub-Delivery": "d 1"}, "delivery-header", id="a delivery id with a space"),
        pytest.param({"X-GitHub-Delivery": "dé"}, "delivery-header", id="a delivery id that is not ASCII"),
    ],
)
def test_a_signed_request_that_does_not_say_what_it_is_is_refused(endpoint, dispatching, changed, reason) -> None:
    headers = delivery_headers(BODY) | changed
    answer = endpoint.post(BODY, {name: value for name, value in headers.items() if value is not None})
    assert (answer.status, answer.json["reason"]) == (400, reason)
    assert _rejections(dispatching) == [(400, reason)]


@pytest.mark.parametrize("content_type", ["text/plain", "application/jsonp", "multipart/form-data", ""])
def test_another_content_type_is_refused(endpoint, dispatching, content_type) -> None:
    answer = endpoint.post(BODY, delivery_headers(BODY, content_type=content_type))
    assert (answer.status, answer.json) == (415, {"status": "rejected", "reason": "content-type"})
    assert _rejections(dispatching) == [(415, "content-type")]


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_a_content_type_may_have_parameters_and_any_case(endpoint, content_type) -> None:
    assert endpoint.post(BODY, delivery_headers(BODY, content_type=content_type)).status == 202


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_another_method_is_refused(endpoint, dispatching, method) -> None:
    assert endpoint.request(method, "/webhook/github").status == 405
    assert _rejections(dispatching) == [(405, "method")]


def _chunked(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


def test_a_body_of_25_mib_is_taken(endpoint, dispatching) -> None:
    body = BODY + b" " * (25 * 1024 * 1024 - len(BODY))
    assert endpoint.post(body, delivery_headers(body)).status == 202


@pytest.mark.parametrize(
    ("told", "pieces"),
    [
        pytest.param({"Content-Length": str(25 * 1024 * 1024 + 1)}, [], id="told in advance, nothing sent"),
        pytest.param({"Content-Length": str(26 * 1024 * 1024)}, [b" " * 1024 * 1024] * 26, id="told in advance"),
        pytest.param(
            {"Transfer-Encoding": "chunked"}, [_chunked(b" " * 1024 * 1024)] * 26 + [b"0\r\n\r\n"], id="chunked"
        ),
    ],
)
def test_a_body_over_25_mib_is_refused_and_its_sender_hears_it(endpoint, dispatching, told, pieces) -> None:
    headers = {"Content-Type": "application/json", "X-Hub-Signature-256": signature(b"whatever")}
    answer = endpoint.exchange(raw_request(headers | told), *pieces)
    assert (answer.status, answer.json) == (413, {"status": "rejected", "reason": "too-large"})
    assert _rejections(dispatching) == [(413, "too-large")]


def test_after_a_refusal_the_connection_takes_the_next_request(endpoint) -> None:
    headers = {"Content-Type": "text/plain", "Content-Length": str(1024 * 1024)}
    good = raw_request(delivery_headers(BODY) | {"Content-Length": str(len(BODY))}) + BODY
    with endpoint.connect() as connection:
        connection.sendall(raw_request(headers) + b" " * 1024 * 1024)
        assert read_answer(connection).status == 415
        connection.sendall(good)
        assert read_answer(connection).status == 202


@pytest.mark.parametrize("sent", [pytest.param(b"", id="nothing"), pytest.param(BODY[:-1], id="all but the last byte")])
def test_a_body_that_does_not_come_in_time_is_given_up(dispatching, sent) -> None:
    settings = WebhookSettings(secrets=(SECRET,), body=BodyLimits(body_s=0.2))
    headers = delivery_headers(BODY) | {"Content-Length": str(len(BODY))}
    with Endpoint(dispatching, settings) as endpoint:
        answer = endpoint.exchange(raw_request(headers) + sent)
    assert (answer.status, answer.json) == (408, {"status": "rejected", "reason": "body-late"})
    assert answer.headers["connection"] == "close"
    assert _rejections(dispatching) == [(408, "body-late")]


def test_a_client_that_leaves_before_its_body_is_complete_is_logged(endpoint, dispatching) -> None:
    with endpoint.connect() as connection:
        connection.sendall(raw_request(delivery_headers(BODY) | {"Content-Length": str(len(BODY))}) + BODY[:-1])
    dispatching.events.wait_for("webhook.rejected")
    assert _rejections(dispatching) == [(400, "body-incomplete")]


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        pytest.param({"Content-Length": "ten"}, b"", "http", id="a length that is no number"),
        pytest.param({"Content-Length": "-1"}, b"", "http", id="a negative length"),
        pytest.param({"Content-Length": "9" * 40}, b"", "http", id="a length beyond all numbers"),
        pytest.param({"Content-Length": "2", "content-length": "3"}, b"{}", "http", id="two lengths"),
        pytest.param({"Content-Length": "2", "Transfer-Encoding": "chunked"}, b"{}", "http", id="a length and chunks"),
        pytest.param({"Transfer-Encoding": "chunked"}, b"zz\r\n", "body-incomplete", id="a chunk of no size"),
    ],
)
def test_a_request_that_is_no_http_is_refused_and_logged_and_its_sender_hears_it(
    endpoint, dispatching, headers, body, reason
) -> None:
    answer = endpoint.exchange(raw_request({"Content-Type": "application/json"} | headers) + body)
    assert answer.status == 400
    dispatching.events.wait_for("webhook.rejected")
    assert _rejections(dispatching) == [(400, reason)]


def test_a_request_without_any_header_is_refused(endpoint, dispatching) -> None:
    assert endpoint.exchange(b"POST /webhook/github HTTP/1.1\r\n\r\n").status == 415
    assert _rejections(dispatching) == [(415, "content-type")]


def test_bytes_that_are_no_request_at_all_are_refused_and_logged(endpoint, dispatching) -> None:
    assert endpoint.exchange(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc").status == 400
    assert _rejections(dispatching) == [(400, "http")]
