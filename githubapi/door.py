"""The one door to a GitHub host: who we are there, one PyGithub client per thread, and how calls are made."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests
from github import Auth, Github, GithubException
from github.Requester import Requester
from urllib3 import Retry
from urllib3.exceptions import HTTPError

from domain.ports import InDoubt, NotSent
from githubapi import failures
from githubapi.failures import CallFailed

USER_AGENT = "the-loop"
PER_PAGE = 100
WRITE_TURN_TIMEOUT_S = 60.0
"""How long a write waits for those before it."""

# Their INFO and DEBUG lines repeat addresses and bodies.
_TALKATIVE = ("github", "requests", "urllib3")
_LIBRARY_FAULTS = (GithubException, requests.RequestException, HTTPError, RuntimeError, AssertionError, UnicodeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """GitHub's answer; header names are in lower case, `content` is the parsed JSON, None where there was no body."""

    status: int
    headers: Mapping[str, str]
    content: object

    @property
    def server_time_ms(self) -> int | None:
        """When it was given, by GitHub's clock."""
        return failures.server_time_ms(self.headers)


class GitHub:
    """Calls to one host with one token. Every method may be used from any thread.

    `host` is the name in our work items and keys (`github.com`, `ghe.example`), `api_url` the REST root
    (`https://api.github.com`, `https://ghe.example/api/v3`). `token` is asked before every call, must not raise, and
    may give another token later. Writes go out one after the other, at least `seconds_between_writes` apart.
    """

    def __init__(
        self,
        host: str,
        api_url: str,
        token: Callable[[], str],
        *,
        seconds_between_writes: float = 1.0,
        timeout_s: int = 10,
    ) -> None:
        self.host = host.lower()
        self._api_url = api_url.rstrip("/")
        self._token = token
        self._seconds_between_writes = seconds_between_writes
        self._timeout_s = timeout_s
        self._reading = threading.local()
        self._writing: _Client | None = None
        self._writing_lock = threading.Lock()
        self._made: weakref.WeakSet[Requester] = weakref.WeakSet()
        self._made_lock = threading.Lock()
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)

    def __repr__(self) -> str:
        return f"GitHub({self.host!r})"

    @property
    def token_id(self) -> str:
        """A name of the token that tells nothing of it; GitHub's ETags hold for one token only."""
        return hashlib.sha256(self._token().encode("utf-8", "replace")).hexdigest()[:16]

    def read(self, address: str, parameters: Mapping[str, str] | None = None, etag: str | None = None) -> Answer:
        """GET an address (from `/` on, or whole). With an ETag the answer may be a 304. Safe to repeat.

        A 5xx is asked again twice, a lost connection or a timeout once, with pauses of less than a second. Raises
        `CallFailed`.
        """
        token = self._usable_token()
        client: _Client | None = getattr(self._reading, "client", None)
        if client is None or client.token != token:
            client = self._client(token)
            self._reading.client = client
        return _call(client.requester, "GET", address, parameters, {"If-None-Match": etag} if etag else {}, None)

    def write(self, verb: str, address: str, content: Mapping[str, object]) -> Answer:
        """Send something once; it is never repeated here. Raises `CallFailed`."""
        token = self._usable_token()
        if not self._writing_lock.acquire(timeout=WRITE_TURN_TIMEOUT_S):
            raise CallFailed(NotSent("busy"))
        try:
            if self._writing is None or self._writing.token != token:
                self._writing = self._client(token)
            return _call(self._writing.requester, verb, address, None, {}, content)
        finally:
            self._writing_lock.release()

    def is_ours(self, url: str) -> bool:
        """Whether an address lies under our REST root, so that it may be followed."""
        root, asked = urlsplit(self._api_url), urlsplit(url)
        same_place = (root.scheme, root.hostname, root.port) == (asked.scheme, asked.hostname, asked.port)
        return same_place and asked.path.startswith(f"{root.path}/")

    def close(self) -> None:
        """Close all connections. Calls made later open new ones."""
        with self._made_lock:
            requesters = list(self._made)
        for requester in requesters:
            requester.close()

    def _usable_token(self) -> str:
        """The token, if it can stand in a header: what cannot would be repeated in an exception's text."""
        token = self._token()
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise CallFailed(NotSent("unusable-token"))
        return token

    def _client(self, token: str) -> _Client:
        client = Github(
            auth=Auth.Token(token),
            base_url=self._api_url,
            timeout=self._timeout_s,
            user_agent=USER_AGENT,
            per_page=PER_PAGE,
            retry=_retry(),
            seconds_between_requests=0,
            seconds_between_writes=self._seconds_between_writes,
            lazy=True,
        )
        with self._made_lock:
            self._made.add(client.requester)
        return _Client(token, client.requester)


@dataclass(frozen=True, slots=True)
class _Client:
    token: str
    requester: Requester

    def __repr__(self) -> str:
        return "_Client()"


def _retry() -> Retry:
    """Only what reads is repeated, and only for a server in trouble or a connection that was lost."""
    return Retry(
        total=2,
        connect=0,
        read=1,
        redirect=0,
        status=2,
        other=0,
        allowed_methods=frozenset({"GET"}),
        status_forcelist=(500, 502, 503, 504),
        backoff_factor=0.2,
        respect_retry_after_header=False,
        raise_on_status=False,
    )


def _call(
    requester: Requester,
    verb: str,
    address: str,
    parameters: Mapping[str, str] | None,
    headers: dict[str, str],
    content: Mapping[str, object] | None,
) -> Answer:
    try:
        status, answered, text = requester.requestJson(
            verb, address, dict(parameters or {}), headers, dict(content) if content is not None else None
        )
        parsed = _parse(text)
        if status >= 300 and status != 304:
            raise GithubException(status, parsed, answered)
    except _LIBRARY_FAULTS as problem:
        raise CallFailed(failures.classify(problem)) from problem
    if parsed is _UNREADABLE:
        raise CallFailed(InDoubt("unreadable-answer", failures.server_time_ms(answered)))
    return Answer(status=status, headers=answered, content=parsed)


_UNREADABLE = object()


def _parse(text: str) -> object:
    if not text:
        return None
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return _UNREADABLE
    return parsed
