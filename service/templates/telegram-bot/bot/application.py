"""The bot's parts: what each of them needs, and which of them the process cannot do without."""

import logging

from bot.commands import KINDS, Commands
from bot.outbox import NAME as OUTBOX
from bot.outbox import Outbox
from bot.settings import Settings
from bot.store import Store, StoreUnusable
from service.clock import SystemClock
from service.lifecycle.application import Application
from service.lifecycle.coroutines import EventLoop
from service.lifecycle.resource import Resource, ResourceFailure
from service.lifecycle.roster import Observers
from service.telegram.configuration import NAME as CONFIGURATION
from service.telegram.configuration import Configuration
from service.telegram.operator import OperatorWork, operator_channel
from service.telegram.polling import PollingWork
from service.telegram.sending import Sending
from telegrambot.handling import one_by_one
from telegrambot.local_files import LocalFiles
from telegrambot.notices import Hearing, Notice, Recovered
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_notices import Dropped, OperatorChat
from telegrambot.polling import Polling
from telegrambot.updates import Update

log = logging.getLogger(__name__)


class Bot:
    """One life of the bot: `application` is to be started once. Raises EnvironmentUnusable."""

    def __init__(self, settings: Settings, clock: SystemClock) -> None:
        self._loop = EventLoop()
        self._sending = Sending(settings.token, settings.api_url)
        self._store = Store(settings.state)
        self._outbox = Outbox(self._sending, self._store)
        self._commands = Commands(
            store=self._store,
            replies=self._outbox.replies,
            operator_chat=settings.operator_chat,
            bot_name=lambda: self._configuration.username,
            restart=self.restart,
        )
        self._configuration: Configuration = Configuration(
            api=self._sending.api,
            menu={name: command.description for name, command in self._commands.table.items()},
            files=LocalFiles(settings.files_root, settings.token) if settings.files_root else None,
        )
        self._channel: OperatorChannel | None = None
        if settings.operator_chat is not None:
            self._channel = operator_channel(self._sending, OperatorChat(chat_id=settings.operator_chat), _tell_dropped)
        observers = Observers(on_change=lambda _: None, on_failure=_tell_failure)
        self.application = Application(self._resources(settings), clock=clock, observers=observers)

    def tell_operator(self, text: str) -> None:
        """Post into the operator's chat, where there is one. From any thread; never waits, never raises."""
        if self._channel is not None:
            self._channel.post(text)

    def restart(self) -> None:
        """End in order, and leave it to the supervisor to begin anew. Returns at once."""
        self.application.begin_shutdown()

    def _resources(self, settings: Settings) -> list[Resource]:
        """In any order: each is started after what it needs, and ends before it."""
        polling = PollingWork(
            token=settings.token,
            root_url=settings.api_url,
            handler=one_by_one(self._commands.handle, self._failed),
            polling=Polling(allowed_updates=KINDS),
            report=_tell_polling,
        )
        resources: list[Resource] = [
            self._loop,
            self._sending.resource(self._loop),
            self._store,
            self._outbox.resource(self._loop),
            self._configuration.resource(self._loop),
            polling.resource(self._loop, needs=(CONFIGURATION, OUTBOX)),
        ]
        if self._channel is not None:
            resources.append(OperatorWork(self._channel).resource(self._loop))
        return resources

    async def _failed(self, update: Update, error: Exception) -> None:
        """The update counts as handled when this returns, and does not come again: the journal is all that is left of it."""
        log.error("update %d could not be handled", update.update_id, exc_info=error)
        self.tell_operator(f"An update could not be handled ({type(error).__name__}): see the journal.")


def _tell_failure(failure: ResourceFailure) -> None:
    """The one place that tells of a part that failed: at its start, by itself, or at its end."""
    # An unusable store has said what to do: where in the code that showed would add nothing.
    error = None if isinstance(failure.error, StoreUnusable) else failure.error
    log.error("%s failed (%s): %s", failure.resource, failure.phase, failure.error, exc_info=error)


def _tell_polling(notice: Notice) -> None:
    level = logging.INFO if isinstance(notice, Hearing | Recovered) else logging.WARNING
    log.log(level, "polling: %s", notice)


def _tell_dropped(dropped: Dropped) -> None:
    log.warning("a notice to the operator was not sent: %s", dropped.reason)
