"""What `the-loop telegram check` and `doctor` ask Telegram: whose token it is, whether updates can come, who can be told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from service.checks import Finding, Verdict, open_to_others
from service.settings import Settings, SettingsRefused, TelegramSection
from service.telegram.polling import WebhookSet, refuse_webhook
from service.telegram.seat import token_of
from service.telling import harmless
from telegrambot.calls import BotApi, EnvironmentUnusable, sending_client
from telegrambot.failures import CallFailed, Reason

ABOUT = "telegram"
CALL_S = 10.0
TEST_TEXT = "the-loop tells you here what needs a person."

T = TypeVar("T")

WHAT_TO_DO = {
    Reason.UNAUTHORIZED: "the token is not valid: ask @BotFather for a new one",
    Reason.NOT_DISPATCHED: "it cannot be reached: is the network, a proxy or telegram.api_url at fault?",
    Reason.CHAT_NOT_FOUND: "the bot never met this chat: write to it there, and see `the-loop telegram whoami`",
    Reason.NOT_MEMBER: "the bot is not in this chat: add it",
    Reason.BLOCKED_BY_USER: "the bot was blocked or thrown out there: let it in again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """The account that a token belongs to."""

    bot_id: int
    username: str


def ask(settings: Settings, work: Callable[[BotApi], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with the settings' bot. Raises SettingsRefused, also for the environment's proxy, and what `work` raises."""
    token = token_of(settings)

    async def asked() -> T:
        async with sending_client(trust_env=True) as client:
            return await work(BotApi(token, client, settings.telegram.api_url))

    try:
        return asyncio.run(asked())
    except EnvironmentUnusable as unusable:
        raise SettingsRefused(str(unusable)) from unusable


async def who_is(api: BotApi) -> Bot:
    """The bot itself. Raises CallFailed."""
    told = await api.call("getMe", deadline_s=CALL_S)
    username = told.get("username") if isinstance(told, dict) else None
    return Bot(bot_id=api.bot_id, username=harmless(str(username or "?")))


def telegram_findings(settings: Settings, *, say: bool = False) -> list[Finding]:
    """Everything that can be told by asking; `say` posts one line into the operator's chat. Changes nothing else."""
    found = list(_unasked(settings))

    async def look(api: BotApi) -> list[Finding]:
        return [finding async for finding in _findings(api, settings.telegram, say)]

    try:
        return found + ask(settings, look)
    except SettingsRefused as refused:
        return [*found, Finding(Verdict.FAIL, ABOUT, str(refused))]


def _unasked(settings: Settings) -> Iterator[Finding]:
    """What is wrong already on this machine."""
    section = settings.telegram
    if not section.enabled:
        yield Finding(Verdict.WARN, ABOUT, "the bot does not run beside the service: set telegram.enabled to true")
    file = None if section.token or section.token_file is None else settings.path(section.token_file)
    finding = open_to_others(ABOUT, file)
    if finding is not None:
        yield finding


async def _findings(api: BotApi, section: TelegramSection, say: bool) -> AsyncIterator[Finding]:
    try:
        bot = await who_is(api)
        yield Finding(Verdict.OK, ABOUT, f"{section.api_url} answers, and we are @{bot.username} ({bot.bot_id})")
        await refuse_webhook(api)
    except WebhookSet as there:
        yield Finding(Verdict.FAIL, ABOUT, str(there))
    except CallFailed as failed:
        yield Finding(Verdict.FAIL, ABOUT, f"{section.api_url}: {_said(failed)}")
        return
    yield _operators(section)
    yield await _chat(api, section, say)


def _operators(section: TelegramSection) -> Finding:
    if not section.operators:
        said = "the bot answers nobody: set telegram.operators (`the-loop telegram whoami` shows ids)"
        return Finding(Verdict.WARN, ABOUT, said)
    return Finding(Verdict.OK, ABOUT, f"answers {', '.join(map(str, section.operators))}")


async def _chat(api: BotApi, section: TelegramSection, say: bool) -> Finding:
    """Whether the operator's chat is there; a closed topic shows only when something is posted to it."""
    if section.chat is None:
        said = "nobody is told what happens: set telegram.chat (`the-loop telegram whoami` shows ids)"
        return Finding(Verdict.WARN, ABOUT, said)
    try:
        await api.call("getChat", {"chat_id": section.chat}, deadline_s=CALL_S)
        if say:
            await api.call("sendMessage", {"chat_id": section.chat, "text": TEST_TEXT}, deadline_s=CALL_S)
    except CallFailed as failed:
        return Finding(Verdict.FAIL, ABOUT, f"chat {section.chat}: {_said(failed)}")
    return Finding(Verdict.OK, ABOUT, f"{'told' if say else 'tells'} chat {section.chat}")


def _said(failed: CallFailed) -> str:
    failure = failed.failure
    return WHAT_TO_DO.get(failure.reason, f"no usable answer ({failure})")
