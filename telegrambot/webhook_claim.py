"""Whose webhook a bot has: it is taken for ourselves, or given back, and never taken from somebody else unasked."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from telegrambot.calls import BotApi
from telegrambot.webhook import WebhookSecret


class WrongAddress(ValueError):
    """What was given as a webhook's address is none; the text does not show it, for an address may hold a secret."""


class WebhookTaken(Exception):
    """The bot's updates go to another host."""

    def __init__(self, host: str) -> None:
        super().__init__(f"the bot's webhook is set to {host}: its updates go there")
        self.host = host


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a webhook is asked for."""

    allowed_updates: Sequence[str] = ()
    """The kinds of updates; empty: all but reactions and members."""
    max_connections: int = 40
    """How many updates Telegram brings at once: 1 to 100."""
    take_over: bool = False
    """Whether the webhook is taken from another host that has it."""


async def claim_webhook(api: BotApi, url: str, secret: WebhookSecret, wanted: Wanted | None = None) -> None:
    """Have the bot's updates brought to `url`, with the secret. Safe to repeat: the secret is set anew each time.

    Raises WrongAddress, WebhookTaken where another host has it and it is not to be taken over, and CallFailed.
    """
    ours, asked = _host(url), wanted or Wanted()
    if ours is None:
        raise WrongAddress("a webhook's address is a whole one, with https:// and a host")
    theirs = await _host_now(api)
    if theirs not in (None, ours) and not asked.take_over:
        raise WebhookTaken(str(theirs))
    await api.call(
        "setWebhook",
        {
            "url": url,
            "secret_token": secret.value,
            "allowed_updates": list(asked.allowed_updates),
            "max_connections": asked.max_connections,
        },
    )


async def release_webhook(api: BotApi, url: str) -> bool:
    """Take the webhook away where the host of `url` has it; what waits at Telegram is kept. False: it is not ours.

    Raises CallFailed.
    """
    theirs = await _host_now(api)
    if theirs is None or theirs != _host(url):
        return False
    await api.call("deleteWebhook")
    return True


async def _host_now(api: BotApi) -> str | None:
    """The host, with its port, that the bot's updates go to; None: nobody has them brought."""
    told = await api.call("getWebhookInfo")
    url = told.get("url") if isinstance(told, dict) else None
    if not isinstance(url, str) or not url:
        return None
    return _host(url) or "an address that cannot be read"


def _host(url: str) -> str | None:
    """Host and port, as two spellings of one address have them in common; None where there is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return None
    return f"{parts.hostname}:{port}" if parts.hostname and port else None
