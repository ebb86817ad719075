"""The webhook of the bot: what may be set, and updates pushed to it again and again until they are taken."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.bot_api.answers import Refused, bad_request
from tests.fakes.bot_api.parameters import Parameters

SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
FIRST_DELAY_S = 1.0
DELAY_S_MAX = 60.0
RETRY_AFTER_S_MAX = 3600.0
GONE_CLOSES_AFTER_S = 23 * 3600.0
ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Where updates are pushed to; `secret` is empty when none was set."""

    url: str
    secret: str = ""
    max_connections: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """One try to push an update; `status` is None when there was no answer."""

    update_id: int
    status: int | None
    at_s: float


@dataclass(frozen=True, slots=True)
class _Answered:
    status: int | None
    retry_after_s: float = 0.0


class Deliveries:
    """When each update is due again, and how the last tries went."""

    def __init__(self) -> None:
        self.pushed: list[Pushed] = []
        self._due_at_s: dict[int, float] = {}
        self._delay_s: dict[int, float] = {}
        self._gone_since_s: float | None = None

    @property
    def last_failure(self) -> Pushed | None:
        return next((pushed for pushed in reversed(self.pushed) if not _is_taken(pushed.status)), None)

    def is_due(self, update_id: int, now_s: float) -> bool:
        return self._due_at_s.get(update_id, now_s) <= now_s

    def note(self, update_id: int, answered: _Answered, now_s: float) -> bool:
        """Keep how a try went; whether the update is done with. The wait doubles from 1 s with every failure."""
        self.pushed.append(Pushed(update_id=update_id, status=answered.status, at_s=now_s))
        if answered.status != 410:
            self._gone_since_s = None
        elif self._gone_since_s is None:
            self._gone_since_s = now_s
        delay_s = self._delay_s.get(update_id, FIRST_DELAY_S)
        self._delay_s[update_id] = min(delay_s * 2, DELAY_S_MAX)
        self._due_at_s[update_id] = now_s + (min(answered.retry_after_s, RETRY_AFTER_S_MAX) or delay_s)
        return _is_taken(answered.status)

    def is_gone_for_good(self, now_s: float) -> bool:
        """410 has been the only answer for so long that the webhook is closed."""
        return self._gone_since_s is not None and now_s - self._gone_since_s >= GONE_CLOSES_AFTER_S


def read_webhook(parameters: Parameters) -> Webhook:
    """What setWebhook asks for; raises Refused for what no server takes."""
    url, secret = parameters.text("url"), parameters.text("secret_token")
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname != "127.0.0.1":
        raise Refused(bad_request("bad webhook: An HTTPS URL must be provided for webhook"))
    if len(secret) > 256:
        raise Refused(bad_request("secret token is too long"))
    if secret and not SECRET.fullmatch(secret):
        raise Refused(bad_request("secret token contains unallowed characters"))
    return Webhook(url=url, secret=secret, max_connections=parameters.within("max_connections", 40, 1, 100))


def push(webhook: Webhook, update: Mapping[str, Any]) -> _Answered:
    """Post one update over plain HTTP, as a server does that stands beside the bot."""
    parts = urlsplit(webhook.url)
    headers = {"Content-Type": "application/json"}
    if webhook.secret:
        headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=ANSWER_TIMEOUT_S)
    try:
        connection.request("POST", parts.path or "/", json.dumps(update), headers)
        response = connection.getresponse()
        response.read()
        return _Answered(response.status, _seconds(response.headers.get("Retry-After")))
    except (OSError, http.client.HTTPException):
        return _Answered(None)
    finally:
        connection.close()


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdigit() else 0.0


def _is_taken(status: int | None) -> bool:
    return status is not None and 200 <= status < 300
