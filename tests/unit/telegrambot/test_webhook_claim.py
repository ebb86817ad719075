"""Whose webhook a bot has: it is set with its secret, and never taken from another host unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.failures import CallFailed, Reason
from telegrambot.webhook import WebhookSecret
from telegrambot.webhook_claim import Wanted, WebhookTaken, WrongAddress, claim_webhook, release_webhook
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.bot_api.webhooks import Webhook

SECRET = WebhookSecret("the_secret-of-this-webhook-42")
OURS = "https://bot.example.org/telegram"
T = TypeVar("T")


@pytest.fixture
def bot_api() -> Iterator[StandInBotApi]:
    with StandInBotApi(stands_at_s=1_000.0) as running:
        yield running


def ask(bot_api: StandInBotApi, work: Callable[[BotApi], Awaitable[T]]) -> T:
    async def run() -> T:
        async with sending_client() as client:
            return await work(BotApi(Token(bot_api.token), client, bot_api.root_url))

    return asyncio.run(run())


def claim(bot_api: StandInBotApi, url: str = OURS, wanted: Wanted | None = None) -> None:
    """A second after whatever was set before: Telegram takes no more than one a second."""
    bot_api.advance(1.0)
    ask(bot_api, lambda api: claim_webhook(api, url, SECRET, wanted))


def test_a_webhook_is_set_with_its_secret_the_kinds_of_updates_and_how_many_at_once(bot_api: StandInBotApi) -> None:
    claim(bot_api, wanted=Wanted(allowed_updates=("message", "callback_query"), max_connections=5))
    assert bot_api.webhook == Webhook(url=OURS, secret=SECRET.value, max_connections=5)
    (call,) = bot_api.calls_of("setWebhook")
    assert call.values["allowed_updates"] == ["message", "callback_query"]


@pytest.mark.parametrize(
    "now",
    ["https://bot.example.org/elsewhere", "https://BOT.example.org:443/telegram", OURS],
    ids=["another path", "another spelling", "the same"],
)
def test_a_webhook_at_our_own_host_is_set_anew(bot_api: StandInBotApi, now: str) -> None:
    claim(bot_api, now)
    claim(bot_api)
    assert bot_api.webhook == Webhook(url=OURS, secret=SECRET.value)


@pytest.mark.parametrize(
    ("now", "host"),
    [
        ("https://other.example.org/a-secret-path", "other.example.org:443"),
        ("https://bot.example.org:8443/telegram", "bot.example.org:8443"),
    ],
    ids=["another host", "another port"],
)
def test_a_webhook_of_another_host_is_left_alone_and_named_without_its_path(
    bot_api: StandInBotApi, now: str, host: str
) -> None:
    claim(bot_api, now)
    with pytest.raises(WebhookTaken) as taken:
        claim(bot_api)
    assert (taken.value.host, str(taken.value)) == (host, f"the bot's webhook is set to {host}: its updates go there")
    assert bot_api.webhook == Webhook(url=now, secret=SECRET.value)


def test_a_webhook_of_another_host_is_taken_over_where_that_is_asked_for(bot_api: StandInBotApi) -> None:
    claim(bot_api, "https://other.example.org/")
    claim(bot_api, wanted=Wanted(take_over=True))
    assert bot_api.webhook == Webhook(url=OURS, secret=SECRET.value)


@pytest.mark.parametrize("url", ["", "bot.example.org", "https://", "https://[half", "https://host:port/"], ids=repr)
def test_what_is_no_address_is_refused_before_anything_is_asked(bot_api: StandInBotApi, url: str) -> None:
    with pytest.raises(WrongAddress):
        claim(bot_api, url)
    assert bot_api.calls == []


def test_what_telegram_refuses_is_told_as_a_failed_call(bot_api: StandInBotApi) -> None:
    with pytest.raises(CallFailed) as failed:
        claim(bot_api, "http://bot.example.org/telegram")
    assert (failed.value.failure.method, failed.value.failure.reason) == ("setWebhook", Reason.UNKNOWN)


def test_our_webhook_is_given_back_and_what_waits_at_telegram_stays(bot_api: StandInBotApi) -> None:
    claim(bot_api)
    update_id = bot_api.push_text("hello")
    assert ask(bot_api, lambda api: release_webhook(api, OURS))
    assert (bot_api.webhook, bot_api.unconfirmed_ids) == (None, [update_id])


def test_another_hosts_webhook_is_not_given_back(bot_api: StandInBotApi) -> None:
    claim(bot_api, "https://other.example.org/")
    assert not ask(bot_api, lambda api: release_webhook(api, OURS))
    assert bot_api.webhook is not None


def test_where_there_is_no_webhook_nothing_is_given_back(bot_api: StandInBotApi) -> None:
    assert not ask(bot_api, lambda api: release_webhook(api, OURS))
    assert bot_api.calls_of("deleteWebhook") == []
