"""One call to the Bot API: JSON there and back, a total deadline, a bound on the answer, and never the token in a fault.

https://core.telegram.org/bots/api#making-requests
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import httpx

from telegrambot.failures import CallFailed, Evidence, Failure, Reason, failure_of_answer
from telegrambot.masking import Masker

ROOT_URL = "https://api.telegram.org"
ANSWER_BYTES_MAX = 1024 * 1024
UPDATES_BYTES_MAX = 16 * 1024 * 1024
"""Telegram stops a batch of updates at some 4 MiB of its own counting; escapes can make it longer."""
DEADLINE_S = 40.0
CONNECT_S = 5.0
READ_S = 30.0
DESCRIPTION_CHARACTERS_MAX = 300

TOKEN = re.compile(r"([0-9]{3,20}):[A-Za-z0-9_-]{10,100}", re.ASCII)

WRITING, WRITTEN = ".send_request_headers.started", ".send_request_body.complete"
"""How the names of these moments end, behind the version of HTTP."""

NOT_WRITTEN = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.LocalProtocolError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
"""What httpx raises before a byte of the request has left."""


class WrongToken(ValueError):
    """What was given as a bot's token does not have the form of one; the text does not show it."""


class EnvironmentUnusable(Exception):
    """The environment names a proxy or certificates that no connection can be made by; the text says why."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bot's token; prints as the bot's number, which is public."""

    value: str = field(repr=False)

    def __post_init__(self) -> None:
        if not TOKEN.fullmatch(self.value):
            raise WrongToken("this is no bot token: @BotFather gives one of the form 123456:ABC…")

    @property
    def bot_id(self) -> int:
        """The bot's own account."""
        return int(self.value.partition(":")[0])

    def __repr__(self) -> str:
        return f"Token(bot_id={self.bot_id})"


class BotApi:
    """Calls the methods of one bot. Safe to share by the coroutines of one event loop.

    The client is the caller's, who closes it: `sending_client` or `polling_client` make one. A client shared by polling and
    sending would let a long poll wait for a send's connection, or the other way round.
    """

    __slots__ = ("_client", "_masker", "_root", "_token")

    def __init__(self, token: Token, client: httpx.AsyncClient, root_url: str = ROOT_URL) -> None:
        self._token = token
        self._client = client
        self._root = root_url.rstrip("/")
        self._masker = Masker((token.value,))

    @property
    def bot_id(self) -> int:
        """The bot's own account."""
        return self._token.bot_id

    def __repr__(self) -> str:
        return f"BotApi(bot_id={self.bot_id})"

    def mask(self, text: str) -> str:
        """A text without the bot's token, and without anything of a token's form."""
        return self._masker.mask(text)

    async def call(
        self,
        method: str,
        parameters: Mapping[str, object] | None = None,
        *,
        deadline_s: float = DEADLINE_S,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        written: Callable[[], object] | None = None,
    ) -> object:
        """The `result` of a method. Parameters that are None are left out; `written` is called when all has left.

        Raises CallFailed, whose failure says whether the call may be repeated, and TypeError for parameters that are no JSON.
        A call that is cancelled may have been carried out.
        """
        content = json.dumps({name: value for name, value in (parameters or {}).items() if value is not None}).encode()
        way = _Way(written)
        try:
            async with asyncio.timeout(deadline_s):
                async with self._sent(method, content, way) as response:
                    outcome = self._read(method, response.status_code, await _body(response, answer_bytes_max))
        except TimeoutError:
            outcome = _transport(method, way.reason, f"no answer within {deadline_s:g} s")
        except httpx.HTTPError as error:
            reason = Reason.NOT_DISPATCHED if isinstance(error, NOT_WRITTEN) else Reason.NO_ANSWER
            outcome = _transport(method, reason, type(error).__name__)
        except Exception as error:  # what a wrong address or proxy makes the client raise has no common kind
            outcome = _transport(method, way.reason, type(error).__name__)
        # Raised outside of what caught it: an error of the client carries the address, and with it the token.
        if isinstance(outcome, Failure):
            raise CallFailed(outcome)
        return outcome.result

    def _sent(self, method: str, content: bytes, way: "_Way") -> AbstractAsyncContextManager[httpx.Response]:
        address = f"{self._root}/bot{self._token.value}/{method}"
        headers = {"Content-Type": "application/json"}
        return self._client.stream("POST", address, content=content, headers=headers, extensions={"trace": way.trace})

    def _read(self, method: str, status: int, body: bytes | None) -> "_Answered | Failure":
        if body is None:
            return _transport(method, Reason.NO_ANSWER, "the answer is too long", status)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
            return _not_telegrams(method, status)
        if answer["ok"]:
            return _Answered(answer["result"]) if "result" in answer else _not_telegrams(method, status)
        code, parameters = answer.get("error_code"), answer.get("parameters")
        return failure_of_answer(
            method,
            code if isinstance(code, int) else status,
            self.mask(str(answer.get("description") or ""))[:DESCRIPTION_CHARACTERS_MAX],
            parameters if isinstance(parameters, dict) else None,
        )


class _Way:
    """How far a request got, by what the client tells of it. https://www.encode.io/httpcore/extensions/#trace"""

    def __init__(self, written: Callable[[], object] | None) -> None:
        self._written = written
        self._began = False

    @property
    def reason(self) -> Reason:
        """What it means that there is no answer."""
        return Reason.NO_ANSWER if self._began else Reason.NOT_DISPATCHED

    async def trace(self, event: str, details: object) -> None:
        self._began = self._began or event.endswith(WRITING)
        if event.endswith(WRITTEN) and self._written is not None:
            self._written()


async def _body(response: httpx.Response, bytes_max: int) -> bytes | None:
    """None where it is too long to be read."""
    read = bytearray()
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > bytes_max:
            return None
    return bytes(read)


@dataclass(frozen=True, slots=True)
class _Answered:
    result: object


def sending_client(trust_env: bool = False) -> httpx.AsyncClient:
    """A client for everything but the long poll. `trust_env`: whether HTTP_PROXY and the like count."""
    return _client(READ_S, connections=20, trust_env=trust_env)


def polling_client(read_s: float, trust_env: bool = False) -> httpx.AsyncClient:
    """A client for one long poll at a time, which waits so long for each byte: longer than the poll asks Telegram to wait."""
    return _client(read_s, connections=1, trust_env=trust_env)


class _NoTokens(logging.Filter):
    """The client tells each request with its whole address, and with it the token: whoever keeps its lines sees none."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = Masker().mask(record.getMessage()), ()
        return True


_NO_TOKENS = _NoTokens()


def _client(read_s: float, *, connections: int, trust_env: bool) -> httpx.AsyncClient:
    logging.getLogger("httpx").addFilter(_NO_TOKENS)  # once, however often
    limits = httpx.Limits(max_connections=connections)
    try:
        return _made(read_s, limits, trust_env=trust_env)
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        what = "the proxy or the certificates that the environment names (HTTP_PROXY, SSL_CERT_FILE and the like)"
        raise EnvironmentUnusable(f"{what} cannot be used: {error}") from error


def _made(read_s: float, limits: httpx.Limits, *, trust_env: bool) -> httpx.AsyncClient:
    # It repeats the making of a connection alone: nothing has left by then. A proxy's client is httpx's own.
    transport = None if trust_env else httpx.AsyncHTTPTransport(retries=2, trust_env=False, limits=limits)
    return httpx.AsyncClient(
        transport=transport,
        limits=limits,
        timeout=httpx.Timeout(read_s, connect=CONNECT_S, pool=CONNECT_S),
        follow_redirects=False,
        trust_env=trust_env,
    )


def _transport(method: str, reason: Reason, why: str, status: int | None = None) -> Failure:
    return Failure(method=method, reason=reason, evidence=Evidence.TRANSPORT, status=status, description=why)


def _not_telegrams(method: str, status: int) -> Failure:
    """Something between us and Telegram answered: a refusal of its own, or instead of what Telegram did with the call."""
    is_refusal = 300 <= status < 500
    reason = Reason.INTERCEPTED if is_refusal else Reason.NO_ANSWER
    return _transport(method, reason, "the answer is not Telegram's", status)
