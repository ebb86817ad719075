"""What the pushed road says: the status and the JSON body of each answer."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from webhook.handled import Handled, Status
from webhook.payloads.results import Pong
from webhook.refusals import Fault, Refusal, Rejected

JsonValue = str | int | bool | list[str] | None


def handled_answer(handled: Handled) -> Response:
    """What became of a delivery, true on disk."""
    if handled.status is Status.IGNORED:
        return ignored_answer(handled.reason)
    return json_answer(
        202,
        {
            "status": handled.status,
            "event_key": handled.event_key,
            "fate": handled.fate,
            "outcome": handled.outcome,
        },
    )


def ignored_answer(reason: str) -> Response:
    """It is understood and no event for us."""
    return json_answer(202, {"status": Status.IGNORED, "reason": reason})


def pong_answer(pong: Pong) -> Response:
    """The hook reaches us; the events that it should send too."""
    return json_answer(200, {"status": "pong", "missing_events": list(pong.missing_events)})


def refusal_answer(refusal: Refusal, retry_after_s: int) -> Response:
    """Why a request is no delivery. What is wrong with a signature is for the log alone."""
    if not isinstance(refusal, Rejected):
        headers = {"retry-after": str(retry_after_s)}
        return json_answer(503, {"status": "unavailable", "reason": refusal.reason}, headers)
    # Who is late with its body would hold the connection; every other body is read past, so that the answer arrives.
    closing = {"connection": "close"} if refusal.reason is Fault.BODY_LATE else None
    body: dict[str, JsonValue] = {"status": "rejected"}
    if refusal.status != 401:
        body["reason"] = refusal.reason
    if refusal.detail:
        body["detail"] = refusal.detail
    return json_answer(refusal.status, body, closing)


def json_answer(status: int, body: Mapping[str, JsonValue], headers: Mapping[str, str] | None = None) -> Response:
    """An answer of our own making."""
    return Response(json.dumps(body).encode(), status, headers, "application/json")
