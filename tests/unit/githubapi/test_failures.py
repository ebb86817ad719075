"""What a failed call means: not sent, refused, or in doubt; what is not certain is in doubt."""

from __future__ import annotations

import socket
import ssl

import pytest
import requests
from github import GithubException
from urllib3 import exceptions as wire
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from domain.ports import InDoubt, Missing, NoAnswer, NotSent, Refused
from githubapi.failures import RATE_LIMIT_WAIT_MAX_S, Failure, absent_or_no_answer, classify, no_answer

DATE = "Sun, 01 Mar 2026 10:00:00 GMT"
DATE_S = 1_772_359_200
POOL = HTTPConnectionPool("127.0.0.1")
CONNECTION = HTTPConnection("127.0.0.1")


@pytest.mark.parametrize(
    ("status", "message", "headers", "failure"),
    [
        pytest.param(401, "Bad credentials", {}, NotSent("bad-credentials"), id="401"),
        pytest.param(404, "Not Found", {}, Refused("not-found"), id="404"),
        pytest.param(410, "Gone", {}, Refused("gone"), id="410"),
        pytest.param(422, "Validation Failed", {}, Refused("unprocessable"), id="422"),
        pytest.param(403, "Unable to create comment because issue is locked.", {}, Refused("locked"), id="403 locked"),
        pytest.param(403, "Resource not accessible by integration", {}, Refused("forbidden"), id="403 no access"),
        pytest.param(400, "Problems parsing JSON", {}, Refused("http-400"), id="400"),
        pytest.param(307, "Moved", {}, Refused("moved"), id="a redirect of a write"),
        pytest.param(408, "", {}, InDoubt("http-408"), id="408"),
        pytest.param(500, "", {}, InDoubt("http-500"), id="500"),
        pytest.param(502, "", {"date": DATE}, InDoubt("http-502", DATE_S * 1000), id="502 with GitHub's time"),
        pytest.param(503, "", {"retry-after": "5"}, InDoubt("http-503"), id="503 although it names a time"),
        pytest.param(429, "", {"retry-after": "7"}, NotSent("rate-limit", 7.0), id="429 with a time"),
        pytest.param(429, "", {}, NotSent("rate-limit", 60.0), id="429 without a time"),
        pytest.param(403, "", {"Retry-After": "90"}, NotSent("rate-limit", 90.0), id="403 by header alone"),
        pytest.param(403, "", {"retry-after": "0"}, NotSent("rate-limit", 1.0), id="never no wait at all"),
        pytest.param(
            403, "", {"retry-after": "9" * 30}, NotSent("rate-limit", RATE_LIMIT_WAIT_MAX_S), id="never for ever"
        ),
        pytest.param(
            403,
            "",
            {"retry-after": "Sun, 01 Mar 2026 10:02:00 GMT", "date": DATE},
            NotSent("rate-limit", 120.0),
            id="a time of day",
        ),
        pytest.param(
            403,
            "API rate limit exceeded for user ID 1.",
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(DATE_S + 30), "date": DATE},
            NotSent("rate-limit", 31.0),
            id="the hour's budget",
        ),
        pytest.param(
            403,
            "You have exceeded a secondary rate limit.",
            {"x-ratelimit-remaining": "4999"},
            NotSent("rate-limit", 60.0),
            id="secondary by its words alone",
        ),
        pytest.param(
            403, "You have triggered an abuse detection mechanism.", {}, NotSent("rate-limit", 60.0), id="its old words"
        ),
        pytest.param(422, "was submitted too quickly", {}, NotSent("rate-limit", 60.0), id="422 too quickly"),
    ],
)
def test_a_status_means(status: int, message: str, headers: dict[str, str], failure: Failure) -> None:
    assert classify(GithubException(status, {"message": message}, headers)) == failure


@pytest.mark.parametrize("data", [None, [], ["x"], "<html>rate limit</html>", {"message": None}])
def test_an_answer_of_any_shape_is_classified(data: object) -> None:
    assert isinstance(classify(GithubException(403, data, None)), NotSent | Refused)


def _retried(reason: Exception) -> requests.ConnectionError:
    return requests.ConnectionError(wire.MaxRetryError(POOL, "/", reason))


@pytest.mark.parametrize(
    ("problem", "failure"),
    [
        pytest.param(
            _retried(wire.NameResolutionError("api.invalid", CONNECTION, socket.gaierror())),
            NotSent("name-lookup"),
            id="DNS",
        ),
        pytest.param(_retried(wire.NewConnectionError(CONNECTION, "refused")), NotSent("connect"), id="connect"),
        pytest.param(
            requests.ConnectTimeout(wire.MaxRetryError(POOL, "/", wire.ConnectTimeoutError())),
            NotSent("connect-timeout"),
            id="connect timeout",
        ),
        pytest.param(_retried(wire.EmptyPoolError(POOL, "full")), NotSent("connect"), id="pool"),
        pytest.param(
            requests.exceptions.SSLError(
                wire.MaxRetryError(POOL, "/", wire.SSLError(ssl.SSLCertVerificationError("certificate verify failed")))
            ),
            NotSent("tls"),
            id="certificate",
        ),
        pytest.param(
            requests.exceptions.SSLError(
                wire.MaxRetryError(POOL, "/", wire.SSLError(ssl.SSLEOFError("unexpected EOF")))
            ),
            InDoubt("tls"),
            id="TLS that may have broken later",
        ),
        pytest.param(
            requests.exceptions.ProxyError(
                wire.MaxRetryError(POOL, "/", wire.ProxyError("x", OSError("Tunnel connection failed: 403")))
            ),
            NotSent("proxy"),
            id="proxy refuses the tunnel",
        ),
        pytest.param(requests.exceptions.InvalidURL("x"), NotSent("unusable-address"), id="an address of no shape"),
        pytest.param(
            requests.ReadTimeout(wire.ReadTimeoutError(POOL, "/", "timed out")),
            InDoubt("read-timeout"),
            id="read timeout",
        ),
        pytest.param(
            requests.ConnectionError(wire.ProtocolError("aborted", ConnectionResetError())),
            InDoubt("connection-lost"),
            id="reset",
        ),
        pytest.param(
            requests.exceptions.ChunkedEncodingError(wire.ProtocolError("broken")),
            InDoubt("connection-lost"),
            id="cut short",
        ),
        pytest.param(RuntimeError("redirected"), InDoubt("unreadable-answer"), id="what nobody foresaw"),
    ],
)
def test_a_failure_on_the_wire_means(problem: Exception, failure: Failure) -> None:
    assert classify(problem) == failure


def test_only_404_and_410_say_of_a_read_that_something_is_not_there() -> None:
    assert absent_or_no_answer(Refused("not-found")) == Missing()
    assert absent_or_no_answer(Refused("gone")) == Missing()
    assert absent_or_no_answer(Refused("forbidden")) == NoAnswer("forbidden")
    assert absent_or_no_answer(InDoubt("http-502")) == NoAnswer("http-502")


def test_no_answer_keeps_how_long_to_wait() -> None:
    assert no_answer(NotSent("rate-limit", 60.0)) == NoAnswer("rate-limit", 60.0)
