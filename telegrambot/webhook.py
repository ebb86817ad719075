"""The webhook, instead of polling: a plain ASGI application that answers Telegram when an update is on disk.

What is not answered with 200 is brought again, until it is a day old. https://core.telegram.org/bots/api#setwebhook
"""

import asyncio
import contextlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from telegrambot.notices import PassedOver
from telegrambot.updates import Unreadable, Update, read_update

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

SECRET_HEADER = b"x-telegram-bot-api-secret-token"
SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}", re.ASCII)
BODY_BYTES_MAX = 1024 * 1024
BODY_DEADLINE_S = 10.0
RETRY_AFTER_S = 5
"""When Telegram should bring again what could not be recorded."""


class WrongSecret(ValueError):
    """What was given as a webhook's secret is none; the text does not show it."""


@dataclass(frozen=True, slots=True)
class WebhookSecret:
    """What Telegram shows with each update, so that nobody else can bring any. It is never printed."""

    value: str = field(repr=False)

    def __post_init__(self) -> None:
        if not SECRET.fullmatch(self.value):
            raise WrongSecret("a webhook's secret has 1 to 256 characters of A-Z, a-z, 0-9, _ and -")


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """The store did not take an update: Telegram is asked to bring it again."""

    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one request may take."""

    body_bytes_max: int = BODY_BYTES_MAX
    body_deadline_s: float = BODY_DEADLINE_S


class _Gone(Exception):
    """The client went away: nobody waits for an answer."""


class _Refused(Exception):
    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status)
        self.status = status


class Webhook:
    """Takes updates at whatever path it is mounted. It knows of http alone: what is not is refused by ValueError."""

    def __init__(
        self,
        secret: WebhookSecret,
        record: Callable[[Sequence[Update]], Awaitable[object]],
        *,
        report: Callable[[PassedOver | NotRecorded], None] = lambda _: None,
        bounds: Bounds | None = None,
    ) -> None:
        """`record` returns when the update is on disk, also where it was there before; `Intake.record` is one.

        `report` is told what was not taken; what it raises is dropped.
        """
        self._secret = secret.value.encode()
        self._record = record
        self._report_to = report
        self._bounds = bounds or Bounds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"a webhook is asked by http, not by {scope['type']}")
        try:
            self._admit(scope)
            status = await self._take(await self._body(scope, receive))
        except _Refused as refused:
            status = refused.status
        except _Gone:
            return
        await _answer(send, status)

    def _admit(self, scope: Scope) -> None:
        if scope["method"] != "POST":
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED)
        shown = _headers(scope, SECRET_HEADER)
        if len(shown) != 1 or not hmac.compare_digest(shown[0], self._secret):
            raise _Refused(HTTPStatus.FORBIDDEN)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        declared = _headers(scope, b"content-length")
        if any(length.isdigit() and int(length[:20]) > self._bounds.body_bytes_max for length in declared):
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            async with asyncio.timeout(self._bounds.body_deadline_s):
                return await self._read(receive)
        except TimeoutError:
            raise _Refused(HTTPStatus.REQUEST_TIMEOUT) from None

    async def _read(self, receive: Receive) -> bytes:
        """All of the body, however its length was declared."""
        read, is_more = bytearray(), True
        while is_more:
            message = await receive()
            if message["type"] != "http.request":
                raise _Gone
            read += message.get("body", b"")
            if len(read) > self._bounds.body_bytes_max:
                raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            is_more = message.get("more_body", False)
        return bytes(read)

    async def _take(self, body: bytes) -> HTTPStatus:
        try:
            update = read_update(json.loads(body))
        except (ValueError, RecursionError):
            return HTTPStatus.BAD_REQUEST
        if isinstance(update, Unreadable):
            if update.update_id is None:
                return HTTPStatus.BAD_REQUEST
            # Brought again, it would be as unreadable: so it is taken, and nothing is done with it.
            self._report(PassedOver(update.update_id, update.why))
            return HTTPStatus.OK
        try:
            await self._record((update,))
        except Exception as error:  # whatever the store's fault is, Telegram keeps the update
            self._report(NotRecorded(error))
            return HTTPStatus.SERVICE_UNAVAILABLE
        return HTTPStatus.OK

    def _report(self, notice: PassedOver | NotRecorded) -> None:
        with contextlib.suppress(Exception):  # who watches must not decide what Telegram is answered
            self._report_to(notice)


_MORE_HEADERS = {
    HTTPStatus.METHOD_NOT_ALLOWED: ((b"allow", b"POST"),),
    HTTPStatus.SERVICE_UNAVAILABLE: ((b"retry-after", str(RETRY_AFTER_S).encode()),),
}
_BODY_UNREAD = frozenset(
    {
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.REQUEST_TIMEOUT,
    }
)


def _headers(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


async def _answer(send: Send, status: HTTPStatus) -> None:
    """A status and no words: Telegram reads none, and anybody else is told nothing."""
    headers = [(b"content-length", b"0"), *_MORE_HEADERS.get(status, ())]
    if status in _BODY_UNREAD:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
