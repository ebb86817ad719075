"""A bot's answers to people: sent from a handler, which waits for Telegram only for a moment, and never sent twice.

https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from telegrambot.calls import BotApi
from telegrambot.clock import Clock
from telegrambot.destinations import REDIRECTIONS_MAX, Destination, Destinations
from telegrambot.endings import pause_s
from telegrambot.failures import CallFailed, Failure, Reason
from telegrambot.floods import ChatId, Floods

METHOD = "sendMessage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a handler waits for one reply: it holds its batch, and with it the application's end."""

    total_s: float = 20.0
    """Calls and waits together; well under the grace that a shutdown gives."""
    call_s: float = 8.0
    """For one call; no wait is begun that leaves less than this behind it."""
    wait_s_max: float = 10.0
    """One wait; where Telegram asks for a longer one, the reply is handed over."""
    attempts_max: int = 3

    def __post_init__(self) -> None:
        if self.call_s > self.total_s or self.attempts_max < 1:
            raise ValueError("there must be time for one call at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One message; `more` are sendMessage's other parameters."""

    chat_id: ChatId
    text: str
    thread_id: int | None = None
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """Telegram took the reply."""

    message_id: int | None
    """None where its answer does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """Telegram has not got the reply: the outbox has it now."""

    reply: Reply
    """With the chat as it is called now."""
    not_before_s: float
    """In so many seconds it may be sent at the earliest."""
    failure: Failure | None
    """The last one; None: its chat was muted, and it was not tried."""


HandOver = Callable[[HandedOver], Awaitable[object]]
"""The outbox: returns when the reply is kept for good. What it raises, the handler gets."""


class Replies:
    """Sends replies. Safe to share by the coroutines of one event loop: a chat that is muted holds up no other.

    A chat's replies are handed over while it is muted, so that none overtakes another that waits in the outbox for the
    same reason; when the mute is over, they are sent at once again.
    """

    def __init__(
        self,
        api: BotApi,
        clock: Clock,
        hand_over: HandOver,
        report: Callable[[HandedOver], object],
        *,
        patience: Patience = Patience(),
        floods: Floods | None = None,
    ) -> None:
        """`report` is told after each hand-over; what it raises is passed over. `floods`: the bot's other senders'."""
        self._floods = Floods(clock) if floods is None else floods
        self._api, self._clock, self._patience = api, clock, patience
        self._outbox, self._report = hand_over, report
        self._destinations = Destinations()

    async def reply(self, reply: Reply) -> Sent | HandedOver:
        """Send a reply, or hand it over where that would take long; within `Patience.total_s`, the outbox's time aside.

        Raises CallFailed where it was refused, and where nobody knows whether it arrived (`Reason.NO_ANSWER`): it is not
        repeated then, and should not be.
        """
        ends_at = self._clock.monotonic() + self._patience.total_s
        failures: list[Failure] = []
        redirected = 0
        while True:
            reply = self._addressed(reply)
            if not failures and (until := self._floods.muted_until(reply.chat_id)) is not None:
                return await self._hand_over(reply, until - self._clock.monotonic(), None)
            try:
                return await self._send(reply)
            except CallFailed as failed:
                failure, wait_s = failed.failure, 0.0
                place = Destination(reply.chat_id, reply.thread_id)
                if redirected < REDIRECTIONS_MAX and self._destinations.learn(place, failure):
                    redirected += 1
                elif failure.retryable:
                    failures.append(failure)
                    wait_s = self._wait_s(reply, failures)
                else:
                    raise
            if self._is_too_long(wait_s, ends_at) or len(failures) >= self._patience.attempts_max:
                return await self._hand_over(reply, wait_s, failure)
            await self._clock.sleep(wait_s)

    def _addressed(self, reply: Reply) -> Reply:
        place = self._destinations.now(Destination(reply.chat_id, reply.thread_id))
        return replace(reply, chat_id=place.chat_id, thread_id=place.thread_id)

    async def _send(self, reply: Reply) -> Sent:
        parameters = {
            **reply.more,
            "chat_id": reply.chat_id,
            "message_thread_id": reply.thread_id,
            "text": reply.text,
        }
        result = await self._api.call(METHOD, parameters, deadline_s=self._patience.call_s)
        message_id = result.get("message_id") if isinstance(result, dict) else None
        return Sent(message_id if isinstance(message_id, int) else None)

    def _wait_s(self, reply: Reply, failures: list[Failure]) -> float:
        """How long to wait after these; a chat that Telegram limits is muted for as long."""
        last = failures[-1]
        wait_s = pause_s(len(failures)) if last.retry_after_s is None else last.retry_after_s
        if last.reason is Reason.RATE_LIMITED:
            self._floods.mute(reply.chat_id, wait_s)
        return wait_s

    def _is_too_long(self, wait_s: float, ends_at: float) -> bool:
        then = self._clock.monotonic() + wait_s + self._patience.call_s
        return wait_s > self._patience.wait_s_max or then > ends_at

    async def _hand_over(self, reply: Reply, not_before_s: float, failure: Failure | None) -> HandedOver:
        handed = HandedOver(reply=reply, not_before_s=not_before_s, failure=failure)
        await self._outbox(handed)
        with contextlib.suppress(Exception):  # the reply is safe: who watches must not make it look lost
            self._report(handed)
        return handed
