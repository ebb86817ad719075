"""One call to the Bot API, over real HTTP: what each way of failing means, and that none of them shows the token."""

from __future__ import annotations

import asyncio
import logging
import traceback

import httpx
import pytest
import respx

from telegrambot.calls import ANSWER_BYTES_MAX, BotApi, EnvironmentUnusable, Token, WrongToken, sending_client
from telegrambot.failures import CallFailed, Reason
from tests.fakes.bot_api import faults
from tests.fakes.bot_api.answers import Refusal
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.bot_api.world import TOKEN

MESSAGE = {"chat_id": 5, "text": "hello"}
SECRET = TOKEN.partition(":")[2]


@pytest.fixture(scope="module")
def served():
    with StandInBotApi() as bot_api:
        yield bot_api


@pytest.fixture
def bot_api(served):
    served.lift()
    served.forget_transcripts()
    return served


def failed_call(root_url: str, method: str = "sendMessage", **options: float) -> CallFailed:
    """The exception of a call that has to fail."""

    async def call() -> None:
        async with sending_client() as client:
            await BotApi(Token(TOKEN), client, root_url).call(method, MESSAGE, **options)

    with pytest.raises(CallFailed) as failed:
        asyncio.run(call())
    return failed.value


WAYS = {
    "reset before the request is read": (faults.DropUnread(), Reason.NO_ANSWER),
    "closed after the request is read": (faults.DropUnanswered(), Reason.NO_ANSWER),
    "closed in the middle of the answer": (faults.DropHalfway(), Reason.NO_ANSWER),
    "never answered": (faults.Hang(), Reason.NO_ANSWER),
    "answered byte by byte": (faults.Trickle(), Reason.NO_ANSWER),
    "answered without an end": (faults.Oversized(), Reason.NO_ANSWER),
    "answered without an end or a length": (faults.Oversized(is_announced=False), Reason.NO_ANSWER),
    "answered by a proxy that failed": (faults.NotJson(), Reason.NO_ANSWER),
    "answered by a page that is no failure": (faults.NotJson(status=200), Reason.NO_ANSWER),
    "answered by a proxy's own JSON": (faults.NotJson(status=200, text='{"status": "up"}'), Reason.NO_ANSWER),
    "answered by half of Telegram's form": (faults.NotJson(status=200, text='{"ok": true}'), Reason.NO_ANSWER),
    "sent elsewhere": (faults.NotJson(status=302), Reason.INTERCEPTED),
    "refused by a proxy that wants a login": (faults.NotJson(status=407), Reason.INTERCEPTED),
    "refused": (Refusal(status=400, description="Bad Request: chat not found"), Reason.CHAT_NOT_FOUND),
    "refused with the token in the words": (Refusal(status=400, description=f"no {TOKEN} here"), Reason.UNKNOWN),
    "too much": (Refusal(status=429, description="Too Many Requests", retry_after_s=3), Reason.RATE_LIMITED),
    "restarting": (Refusal(status=500, description="Internal Server Error: restart"), Reason.SERVER_ERROR),
}


@pytest.mark.parametrize(("fault", "reason"), WAYS.values(), ids=WAYS.keys())
def test_each_way_in_which_a_call_fails_has_its_meaning_and_shows_no_token(bot_api, caplog, fault, reason) -> None:
    caplog.set_level(logging.DEBUG)
    bot_api.arm("sendMessage", fault)
    is_late = isinstance(fault, faults.Hang | faults.Trickle)
    failed = failed_call(bot_api.root_url, **({"deadline_s": 0.3} if is_late else {}))
    assert failed.failure.reason is reason
    shown = [str(failed), repr(failed), repr(failed.failure), *traceback.format_exception(failed)]
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in shown + told if SECRET in text] == []
    assert (failed.__cause__, failed.__context__) == (None, None)


@pytest.mark.parametrize(
    "root_url",
    [
        "http://127.0.0.1:1",
        "ftp://127.0.0.1",
        "http://[::1",
        "http://no-such-host.invalid",
        "http://127.0.0.1:99999",
        "http://xn--",
    ],
    ids=["refused", "no such protocol", "no address", "no such host", "no port", "no name"],
)
def test_a_call_that_never_left_is_safe_to_repeat_and_shows_no_token(root_url) -> None:
    failed = failed_call(root_url)
    assert (failed.failure.reason, failed.failure.retryable) == (Reason.NOT_DISPATCHED, True)
    assert SECRET not in "".join(traceback.format_exception(failed))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (httpx.ConnectError, Reason.NOT_DISPATCHED),
        (httpx.ConnectTimeout, Reason.NOT_DISPATCHED),
        (httpx.PoolTimeout, Reason.NOT_DISPATCHED),
        (httpx.ReadTimeout, Reason.NO_ANSWER),
        (httpx.ReadError, Reason.NO_ANSWER),
        (httpx.WriteError, Reason.NO_ANSWER),
        (httpx.WriteTimeout, Reason.NO_ANSWER),
        (httpx.RemoteProtocolError, Reason.NO_ANSWER),
        (httpx.DecodingError, Reason.NO_ANSWER),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
@respx.mock
def test_each_fault_of_the_client_means_that_nothing_left_or_that_it_may_have_arrived(error, reason) -> None:
    respx.post(url__regex=r".*/sendMessage").mock(side_effect=error("no"))
    assert failed_call("http://127.0.0.1:1").failure.reason is reason


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
        ("ALL_PROXY", "http://127.0.0.1:99999"),
        ("SSL_CERT_FILE", "/no/such/file"),
    ],
)
def test_an_environment_that_cannot_be_used_is_said_or_no_call_leaves(monkeypatch, variable, value) -> None:
    monkeypatch.setenv(variable, value)

    async def call() -> None:
        async with sending_client(trust_env=True) as client:
            await BotApi(Token(TOKEN), client, "http://telegram.invalid").call("sendMessage", MESSAGE)

    with pytest.raises((EnvironmentUnusable, CallFailed)) as raised:
        asyncio.run(call())
    if isinstance(raised.value, CallFailed):
        assert raised.value.failure.reason is Reason.NOT_DISPATCHED
    else:
        assert "the environment names" in str(raised.value)


def test_a_deadline_that_ends_a_call_before_it_left_says_so(bot_api) -> None:
    assert failed_call(bot_api.root_url, deadline_s=0.0).failure.reason is Reason.NOT_DISPATCHED


def test_a_total_deadline_ends_what_no_single_read_would(bot_api) -> None:
    bot_api.arm("sendMessage", faults.Trickle(interval_s=0.01))
    assert failed_call(bot_api.root_url, deadline_s=0.2).failure.description == "no answer within 0.2 s"


def test_an_answer_is_read_up_to_a_bound(bot_api) -> None:
    bot_api.arm("sendMessage", faults.Oversized(body_bytes=ANSWER_BYTES_MAX + 1))
    assert failed_call(bot_api.root_url).failure.description == "the answer is too long"


def test_a_call_brings_the_result_and_leaves_out_what_is_none(bot_api) -> None:
    async def call() -> object:
        async with sending_client() as client:
            api = BotApi(Token(TOKEN), client, bot_api.root_url + "/")
            return await api.call("sendMessage", {**MESSAGE, "message_thread_id": None})

    result = asyncio.run(call())
    assert result["text"] == "hello"
    assert [call.values for call in bot_api.calls_of("sendMessage")] == [MESSAGE]


def test_a_call_that_is_given_up_by_its_caller_is_cancelled_and_no_failure(bot_api) -> None:
    bot_api.arm("sendMessage", faults.Hang())

    async def call() -> None:
        async with sending_client() as client:
            calling = asyncio.ensure_future(BotApi(Token(TOKEN), client, bot_api.root_url).call("sendMessage", MESSAGE))
            await asyncio.to_thread(bot_api.wait_for_calls, "sendMessage")
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling

    asyncio.run(call())


@pytest.mark.parametrize(
    "text", ["", "654321", "abc:defghijklmnop", "123456:short", f"{TOKEN} ", f"{TOKEN}/x", f"{TOKEN}\n"]
)
def test_what_is_no_token_is_refused_and_not_shown(text) -> None:
    with pytest.raises(WrongToken) as refused:
        Token(text)
    assert text == "" or text not in str(refused.value)


def test_a_token_prints_as_the_number_of_its_bot(bot_api) -> None:
    api = BotApi(Token(TOKEN), sending_client(), bot_api.root_url)
    assert (repr(Token(TOKEN)), repr(api), api.bot_id) == ("Token(bot_id=123456)", "BotApi(bot_id=123456)", 123456)
