"""The poller as a resource of an application: it fetches under the application's admission, and its end is reported once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from service.lifecycle.admission import Admission, AdmissionClosed
from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.latch import CancelToken
from service.lifecycle.resource import Health, StartContext
from service.telling import harmless
from telegrambot import admission
from telegrambot.calls import BotApi, Token, polling_client
from telegrambot.clock import Clock, SystemClock, pause
from telegrambot.endings import Cause, Ended
from telegrambot.handling import Handler
from telegrambot.notices import Hearing, Notice, Recovered, Retrying
from telegrambot.polling import Poller, Polling

NAME = "telegram-polling"
ADMISSION_WAIT_S = 3600.0
"""The lifecycle's waits have an end; after it one is begun anew."""
HEARS = "the bot hears"


class PollingEnded(Exception):
    """Polling ended though nobody asked for it."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(f"polling ended by {ended}")
        self.ended = ended


class WebhookSet(Exception):
    """Telegram brings the updates to a webhook, and while it does nobody may ask for them."""


async def refuse_webhook(api: BotApi) -> None:
    """Look whether the bot has a webhook; it is not taken away. Raises WebhookSet, which names it, and CallFailed."""
    told = await api.call("getWebhookInfo")
    address = str(told.get("url") or "") if isinstance(told, dict) else ""
    if address:
        raise WebhookSet(
            f"the bot's updates go to a webhook at {_place(address)}: delete it (deleteWebhook), or use another bot"
        )


@dataclass(frozen=True, slots=True)
class GateForCoroutines:
    """An application's admission, as a poller asks for it."""

    gate: Admission

    async def acquire_when_accepting(self) -> admission.Lease:
        """Raises AdmissionEnded once the application is ending."""
        while True:
            try:
                lease = await self.gate.acquire_when_accepting_async(CancelToken(), ADMISSION_WAIT_S)
            except AdmissionClosed as closed:
                raise admission.AdmissionEnded(str(closed)) from closed
            if lease is not None:
                return lease


def for_good(ended: Ended) -> None:
    """A poller that ended is not begun anew: its end is the resource's."""


@dataclass(slots=True, kw_only=True)
class PollingWork:
    """Polls until it is asked to end, by one poller after another where `again_after_s` says so."""

    token: Token
    root_url: str
    handler: Handler
    polling: Polling = field(default_factory=Polling)
    report: Callable[[Notice], None] = lambda _: None
    again_after_s: Callable[[Ended], float | None] = for_good
    """Told of each end that nobody asked for, once: seconds until polling is begun anew, or None for never.

    Only for a resource that is not required: while a required one is ill nothing is admitted, and so nothing fetched.
    """
    clock: Clock = field(default_factory=SystemClock)
    _poller: Poller | None = field(default=None, init=False)
    _answered: bool = field(default=False, init=False)
    """Whether the last poll of the poller that runs was answered."""
    _over: "_Over | None" = field(default=None, init=False)
    """Why no poller runs any more."""
    _began_at: float | None = field(default=None, init=False)
    _heard_at: float | None = field(default=None, init=False)
    """When a poller before this one last heard."""
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def hearing(self) -> str:
        """Whether the bot hears, in words: HEARS only while polls are answered in time. From any thread."""
        over, poller = self._over, self._poller
        heard_at = poller.heard_at if poller is not None else None
        now = self.clock.monotonic()
        if over is not None:
            return over.words(now)
        if self._answered and heard_at is not None and now - heard_at <= self.polling.deadline_s:
            return HEARS
        heard_at = self._heard_at if heard_at is None else heard_at
        if heard_at is not None:
            return f"the bot has heard nothing for {now - heard_at:.0f} s"
        if self._began_at is None:
            return "the bot does not hear: polling has not begun"
        return f"the bot has not heard yet, for {now - self._began_at:.0f} s"

    def resource(self, loop: EventLoop, *, needs: Sequence[str] = (), required: bool = True) -> Running:
        """This work as a resource on `loop`, which comes after what it `needs`."""
        return Running(
            name=NAME,
            loop=loop,
            work=self.run,
            stop=self.stop,
            cut=self.cut,
            halts_at_admission=True,
            needs=needs,
            required=required,
        )

    async def run(self, context: StartContext) -> None:
        """Raises PollingEnded where polling ended for good."""

        def report(notice: Notice) -> None:
            if isinstance(notice, Hearing):
                context.report_health(Health.HEALTHY)
            if isinstance(notice, Hearing | Recovered | Retrying):
                self._answered = not isinstance(notice, Retrying)
            self.report(notice)

        self._began_at = self.clock.monotonic()
        while not self._stopping.is_set():
            ended = await self._poll(context, report)
            self._over = _Over(ended.cause)
            if ended.cause is Cause.STOPPED:
                return
            context.report_health(Health.UNHEALTHY)
            pause_s = self.again_after_s(ended)
            if pause_s is None:
                raise PollingEnded(ended)
            self._over = _Over(ended.cause, self.clock.monotonic() + pause_s)
            await pause(self.clock, pause_s, self._stopping)

    async def _poll(self, context: StartContext, report: Callable[[Notice], None]) -> Ended:
        """The life of one poller, with connections of its own: those of a deaf one may be why it was deaf."""
        async with polling_client(self.polling.deadline_s, trust_env=True) as client:
            self._poller = Poller(
                BotApi(self.token, client, self.root_url),
                GateForCoroutines(context.admission),
                self.handler,
                polling=self.polling,
                report=report,
                clock=self.clock,
            )
            self._over = None
            ended = await self._poller.run()
            self._answered = False
            self._heard_at = self._poller.heard_at or self._heard_at
            return ended

    def stop(self) -> None:
        """The batch in hand is finished and confirmed; nothing more is fetched. Safe to repeat."""
        self._stopping.set()
        if self._poller is not None:
            self._poller.stop()

    def cut(self) -> None:
        """The handler is cancelled; only what it finished is confirmed."""
        self._stopping.set()
        if self._poller is not None:
            self._poller.force()


@dataclass(frozen=True, slots=True)
class _Over:
    """No poller runs; `again_at` is the clock's reading when one does again, None: never."""

    cause: Cause
    again_at: float | None = None

    def words(self, now: float) -> str:
        then = "" if self.again_at is None else f", and is begun anew in {max(0.0, self.again_at - now):.0f} s"
        return f"the bot hears nothing: polling has ended ({self.cause}){then}"


def _place(address: str) -> str:
    """The host and port of an address, without the rest, which may be secret."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        return "an address of its own"
    named = f"[{host}]" if ":" in host else host
    return harmless(named if port is None else f"{named}:{port}")
