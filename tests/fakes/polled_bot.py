"""An application whose one work is to poll the stand-in Bot API, and the means to hold, fail and watch it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from service.clock import SystemClock
from service.lifecycle.application import Application
from service.lifecycle.coroutines import EventLoop
from service.lifecycle.resource import Health, ResourceFailure
from service.lifecycle.roster import Observers
from service.lifecycle.shutdown import ShutdownBudget, ShutdownResult
from service.telegram.polling import PollingWork, for_good
from telegrambot.calls import Token
from telegrambot.clock import Clock
from telegrambot.endings import Ended
from telegrambot.handling import one_by_one
from telegrambot.notices import Notice
from telegrambot.polling import Polling
from telegrambot.updates import Update
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.held_clock import settled
from tests.fakes.lifecycle import LIMIT_S, ScriptedResource

DOORKEEPER = "doorkeeper"
BUDGET = ShutdownBudget(grace_s=10.0, force_s=2.0)


class PolledBot:
    """Handles updates one by one, each held as long as the test says. Use it as a context: its end is a shutdown."""

    def __init__(
        self,
        bot_api: StandInBotApi,
        *,
        polling: Polling | None = None,
        again_after_s: Callable[[Ended], float | None] = for_good,
        clock: Clock | None = None,
        budget: ShutdownBudget = BUDGET,
        watch: Callable[[Notice], None] = lambda _: None,
        observe: Callable[[ResourceFailure], None] = lambda _: None,
    ) -> None:
        self.bot_api = bot_api
        self.begun: list[int] = []
        self.handled: list[int] = []
        self.failed: list[tuple[int, Exception]] = []
        self.notices: list[Notice] = []
        self.failures: list[ResourceFailure] = []
        self.act: Callable[[Update], None] = lambda _: None
        self.result: ShutdownResult | None = None
        self._changed = threading.Condition()
        self._held: dict[int, asyncio.Event] = {}
        self._watch, self._observe = watch, observe
        self.loop = EventLoop()
        options = {} if clock is None else {"clock": clock}
        self.work = PollingWork(
            token=Token(bot_api.token),
            root_url=bot_api.root_url,
            handler=one_by_one(self._handle, self._fail),
            polling=polling or Polling(),
            report=self._note,
            again_after_s=again_after_s,
            **options,
        )
        self.doorkeeper = ScriptedResource(DOORKEEPER, depends_on=("telegram-polling",))
        self.application = Application(
            [self.loop, self.work.resource(self.loop, required=again_after_s is for_good), self.doorkeeper],
            clock=SystemClock(),
            observers=Observers(on_change=lambda _: None, on_failure=self._failure),
            budget=budget,
        )

    def hold(self, *marks: int) -> None:
        """The handler of these updates waits; a negative mark holds the writing down of that update's failure."""
        for mark in marks:
            self._held[mark] = asyncio.Event()

    def release(self, mark: int) -> None:
        """Let it go on."""
        self.loop.call(self._held[mark].set)

    def degrade(self) -> None:
        """A required resource does only part of its work: admission closes."""
        self._doorkeeper_says(Health.DEGRADED)

    def recover(self) -> None:
        """And opens again."""
        self._doorkeeper_says(Health.HEALTHY)

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait for a fact about this bot; fails when it is not so in time."""
        with self._changed:
            assert self._changed.wait_for(is_so, timeout=LIMIT_S), (self.begun, self.handled, self.notices)

    def settle(self) -> None:
        """Return when the loop has done all that it could without the network."""
        self.loop.submit(settled()).result(LIMIT_S)

    def stop(self) -> ShutdownResult:
        """Shut down and wait for the end."""
        self.result = self.application.begin_shutdown().result(LIMIT_S)
        return self.result

    def __enter__(self) -> Self:
        self.application.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for mark in self._held:
            self.release(mark)
        self.stop()

    async def _handle(self, update: Update) -> None:
        self._tell(self.begun, update.update_id)
        if (held := self._held.get(update.update_id)) is not None:
            await held.wait()
        self.act(update)
        self._tell(self.handled, update.update_id)

    async def _fail(self, update: Update, error: Exception) -> None:
        if (held := self._held.get(-update.update_id)) is not None:
            await held.wait()
        self._tell(self.failed, (update.update_id, error))

    def _note(self, notice: Notice) -> None:
        self._tell(self.notices, notice)
        self._watch(notice)

    def _failure(self, failure: ResourceFailure) -> None:
        self._tell(self.failures, failure)
        self._observe(failure)

    def _tell(self, list_: list, fact: object) -> None:
        with self._changed:
            list_.append(fact)
            self._changed.notify_all()

    def _doorkeeper_says(self, health: Health) -> None:
        assert self.doorkeeper.started is not None
        self.doorkeeper.started.report_health(health)
