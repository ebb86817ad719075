"""What a failed call to GitHub means: certainly not sent, refused for good, or in doubt."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import requests
from github import GithubException
from urllib3 import exceptions as wire

from domain.ports import InDoubt, Missing, NoAnswer, NotSent, Refused

Failure = NotSent | Refused | InDoubt

RATE_LIMIT_WAIT_S = 60.0
"""How long to wait after a rate limit that does not say how long."""
RATE_LIMIT_WAIT_MAX_S = 86_400.0

NOT_FOUND = "not-found"
GONE = "gone"

_LIMIT_WORDS = ("rate limit", "abuse", "submitted too quickly", "try again later", "wait a few minutes")
_REFUSALS = {404: NOT_FOUND, 410: GONE, 422: "unprocessable", 403: "forbidden"}
_BEFORE_THE_REQUEST = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidHeader,
)
# What can only go wrong while both sides still agree on how to talk; anything else of TLS may strike later.
_HANDSHAKE_REASONS = frozenset(
    {"WRONG_VERSION_NUMBER", "UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE", "HTTP_REQUEST"}
)


class CallFailed(Exception):
    """A call to GitHub got no usable answer; `failure` says what that means."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def classify(problem: Exception) -> Failure:
    """What a failed call means for what it was to do.

    The reasons are words of ours: neither GitHub's text nor anything that we sent is in them. What is not recognised is
    in doubt, for that is asked about before anything is repeated.
    """
    if isinstance(problem, GithubException):
        return _by_status(problem.status, _lower_names(problem.headers or {}), _words(problem.data))
    if isinstance(problem, _BEFORE_THE_REQUEST):
        return NotSent("unusable-address")
    return _by_wire(problem)


def absent_or_no_answer(failure: Failure) -> Missing | NoAnswer:
    """What a failed read means: only 404 and 410 say that something is not there."""
    if isinstance(failure, Refused) and failure.reason in (NOT_FOUND, GONE):
        return Missing()
    return no_answer(failure)


def no_answer(failure: Failure) -> NoAnswer:
    """A failed read where nothing follows from 404."""
    return NoAnswer(failure.reason, failure.retry_after_s if isinstance(failure, NotSent) else None)


def server_time_ms(headers: Mapping[str, str]) -> int | None:
    """The time of GitHub's answer by its own clock; None where it did not say. Header names are in lower case."""
    try:
        return round(parsedate_to_datetime(headers["date"]).timestamp() * 1000)
    except (KeyError, ValueError):
        return None


def _by_status(status: int, headers: Mapping[str, str], words: str) -> Failure:
    if status == 401:
        return NotSent("bad-credentials")
    if status == 429 or (status in (403, 422) and _is_rate_limit(headers, words)):
        return NotSent("rate-limit", _wait_s(headers))
    if status == 403 and "locked" in words:
        return Refused("locked")
    if status >= 500 or status == 408 or status < 300:
        return InDoubt(f"http-{status}", server_time_ms(headers))
    return Refused(_REFUSALS.get(status, "moved" if status < 400 else f"http-{status}"))


def _is_rate_limit(headers: Mapping[str, str], words: str) -> bool:
    """GitHub changes the wording and does not always send the headers: each alone is evidence enough."""
    return (
        "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
        or any(phrase in words for phrase in _LIMIT_WORDS)
    )


def _wait_s(headers: Mapping[str, str]) -> float:
    asked = headers.get("retry-after", "")
    now_ms = server_time_ms(headers)
    if asked.isdecimal():
        wait_s = float(asked)
    elif asked and now_ms is not None and (until_ms := server_time_ms({"date": asked})) is not None:
        wait_s = (until_ms - now_ms) / 1000
    elif headers.get("x-ratelimit-remaining") == "0" and now_ms and headers.get("x-ratelimit-reset", "").isdecimal():
        wait_s = float(headers["x-ratelimit-reset"]) - now_ms / 1000 + 1
    else:
        wait_s = RATE_LIMIT_WAIT_S
    return min(max(wait_s, 1.0), RATE_LIMIT_WAIT_MAX_S)


def _by_wire(problem: BaseException) -> Failure:
    """By the exception that requests wrapped, for its own classes mix what failed before and after the sending."""
    cause = _innermost(problem)
    if isinstance(cause, wire.NameResolutionError):
        return NotSent("name-lookup")
    if isinstance(cause, wire.NewConnectionError | wire.EmptyPoolError | wire.ClosedPoolError):
        return NotSent("connect")
    if isinstance(problem, requests.ConnectTimeout) or isinstance(cause, wire.ConnectTimeoutError):
        return NotSent("connect-timeout")
    if isinstance(cause, wire.ProxyError) and "Tunnel connection failed" in str(cause.original_error):
        return NotSent("proxy")
    if isinstance(cause, wire.SSLError | ssl.SSLError):
        return NotSent("tls") if _is_handshake(cause) else InDoubt("tls")
    if isinstance(problem, requests.Timeout) or isinstance(cause, wire.ReadTimeoutError):
        return InDoubt("read-timeout")
    if isinstance(cause, wire.ProtocolError | ConnectionError):
        return InDoubt("connection-lost")
    return InDoubt("unreadable-answer")


def _innermost(problem: BaseException) -> BaseException:
    if isinstance(problem, requests.RequestException) and problem.args and isinstance(problem.args[0], Exception):
        return _innermost(problem.args[0])
    if isinstance(problem, wire.MaxRetryError) and problem.reason is not None:
        return _innermost(problem.reason)
    if isinstance(problem, wire.ProxyError) and isinstance(problem.original_error, wire.HTTPError):
        return _innermost(problem.original_error)
    return problem


def _is_handshake(problem: BaseException) -> bool:
    causes = [problem, *(argument for argument in problem.args if isinstance(argument, ssl.SSLError))]
    return any(
        isinstance(cause, ssl.SSLCertVerificationError)
        or (isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _HANDSHAKE_REASONS)
        for cause in causes
    )


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _words(content: object) -> str:
    return str(content).lower() if content else ""
