"""The bot beside the service: it tells the operator's chat what needs a person, and answers who may ask."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eventlog.event import LogEvent
from eventlog.events.telegram import TelegramEnded
from eventlog.journal import Journal
from service.clock import SystemClock
from service.lifecycle.admission import Admission
from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.resource import Resource, StartContext
from service.settings import Settings, SettingsRefused
from service.standing import standing_lines, standing_of
from service.state_folder import StateFolder
from service.telegram.commands import OperatorCommands, kept_for_later
from service.telegram.operator import OperatorWork, operator_channel
from service.telegram.polling import HEARS, PollingWork
from service.telegram.posts import Told, post_of
from service.telegram.sending import NAME as SENDING
from service.telegram.sending import Sending
from service.telegram.store import SqliteUpdates
from service.telegram.telling import Telling
from service.vitals import Vitals
from telegrambot.calls import EnvironmentUnusable, Token, WrongToken
from telegrambot.failures import CallFailed
from telegrambot.handling import recorded
from telegrambot.intake import Intake
from telegrambot.notices import Hearing, Notice
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_notices import OperatorChat
from telegrambot.polling import Polling
from telegrambot.replies import Replies

INTAKE = "telegram-intake"
KINDS = ("message",)
"""The updates that are asked for."""

log = logging.getLogger(__name__)


def token_of(settings: Settings) -> Token:
    """The bot's token. Raises SettingsRefused where there is none, or what is there cannot be one."""
    written = settings.telegram_token()
    if not written:
        raise SettingsRefused("there is no token of a Telegram bot: set telegram.token_file")
    try:
        return Token(written)
    except WrongToken as wrong:
        raise SettingsRefused(f"telegram.token: {wrong}") from wrong


def seat_of(settings: Settings, journal: Journal) -> TelegramSeat | NoSeat | None:
    """The bot that the settings ask for, None where they ask for none. Raises SettingsRefused."""
    if not settings.telegram.enabled:
        return None
    try:
        return TelegramSeat(settings, journal)
    except EnvironmentUnusable as unusable:
        journal.emit(TelegramEnded(cause="environment", error=str(unusable)))
        return NoSeat(str(unusable))


@dataclass(frozen=True, slots=True)
class NoSeat:
    """The bot that cannot run where the service does: GitHub's work goes on without it."""

    why: str

    def warnings(self) -> list[str]:
        """What the operator should know at the start."""
        return [self.hearing()]

    def hearing(self) -> str:
        """Why it does not hear."""
        return f"the Telegram bot does not run: {self.why}"


class TelegramSeat:
    """The bot's parts, none of which the service needs to do its work: `emit` tells it what happens, from any thread.

    Raises SettingsRefused where it cannot work by its settings, EnvironmentUnusable where it cannot by the environment's.
    """

    def __init__(self, settings: Settings, journal: Journal) -> None:
        section = settings.telegram
        self._section = section
        self._journal = journal
        self._host = settings.github.host
        self._told = Told(section.level, section.levels)
        self._telling = Telling(journal.emit)
        self._operators = frozenset(section.operators)
        self._sending = Sending(token_of(settings), section.api_url)
        self._polling: PollingWork | None = None
        self._channel: OperatorChannel | None = None
        if section.chat is not None:
            topics = {kind.value: thread for kind, thread in section.topics.items()}
            chat = OperatorChat(chat_id=section.chat, topics=topics, secrets=(self._sending.token.value,))
            self._channel = operator_channel(self._sending, chat, self._telling.dropped)

    def warnings(self) -> list[str]:
        """What the operator should know at the start: each a sentence with what to do."""
        warnings = []
        if not self._section.operators:
            warnings.append(
                "the Telegram bot answers nobody: set telegram.operators (`the-loop telegram whoami` shows ids)"
            )
        if self._section.chat is None:
            warnings.append("the Telegram bot tells nobody: set telegram.chat (`the-loop telegram whoami` shows ids)")
        return warnings

    def hearing(self) -> str:
        """Whether it hears, in words. From any thread."""
        words = self._polling.hearing() if self._polling else "the bot is not built yet"
        return words if words == HEARS else f"{words}: `the-loop telegram check` tells more"

    def emit(self, event: LogEvent) -> None:
        """Write a fact into the log, and post it where the operator wants to be told. Never raises."""
        self.emit_all((event,))

    def emit_all(self, events: Sequence[LogEvent]) -> None:
        """The same for several, with one write."""
        self._journal.emit_all(events)
        if self._channel is None:
            return
        for event in events:
            post = post_of(event, self._host)
            if post is not None and self._told.wants(post.kind):
                self._channel.post(post.text, post.kind, post.about)

    def resources(self, vitals: Vitals, state: StateFolder, clock: SystemClock) -> list[Resource]:
        """What runs of it, on an event loop of its own."""
        loop = EventLoop("telegram-loop", required=False)
        store = SqliteUpdates(committer=vitals.core.committer, bot_id=self._sending.token.bot_id, clock=clock.wall_ms)
        store.take_over()
        replies = Replies(
            self._sending.api,
            self._sending.clock,
            kept_for_later(self._telling.held),
            lambda _: None,
            floods=self._sending.floods,
        )
        answering = Answering(vitals, state)
        commands = OperatorCommands(
            api=self._sending.api,
            replies=replies,
            operators=self._operators,
            standing=answering.standing,
            emit=self.emit,
        )
        handling = Handling(Intake(store, commands, report=self._telling.taken_in), commands, answering)

        def report(notice: Notice) -> None:
            self._telling.polled(notice)
            if isinstance(notice, Hearing):
                handling.introduce()

        self._polling = polling = PollingWork(
            token=self._sending.token,
            root_url=self._section.api_url,
            handler=recorded(handling.intake.record),
            polling=Polling(allowed_updates=KINDS),
            report=report,
            again_after_s=self._telling.ended,
        )
        resources: list[Resource] = [
            loop,
            self._sending.resource(loop, required=False),
            handling.resource(loop),
            polling.resource(loop, needs=("store", INTAKE), required=False),
        ]
        if self._channel is not None:
            resources.append(OperatorWork(self._channel).resource(loop))
        return resources


class Answering:
    """How things stand, as the bot tells it."""

    def __init__(self, vitals: Vitals, state: StateFolder) -> None:
        self._vitals, self._state = vitals, state
        self.admission: Admission | None = None

    def standing(self) -> str:
        """In lines, as `the-loop status` has them."""
        reader = self._vitals.core.database.reader()
        live = self._vitals.look(self.admission) if self.admission else None
        return "\n".join(standing_lines(standing_of(self._state.path, reader, is_running=True, live=live)))


@dataclass(slots=True)
class Handling:
    """Handles what is recorded, and keeps the bot's menu told."""

    intake: Intake
    commands: OperatorCommands
    answering: Answering
    _introducing: asyncio.Task[None] | None = None

    def resource(self, loop: EventLoop) -> Running:
        """This work as a resource on `loop`."""
        return Running(
            name=INTAKE,
            loop=loop,
            work=self._run,
            stop=self.intake.stop,
            needs=("store", SENDING),
            required=False,
        )

    def introduce(self) -> None:
        """Tell Telegram the bot's menu, now that it answers; on the loop."""
        self._introducing = asyncio.ensure_future(self._introduce())

    async def _run(self, context: StartContext) -> None:
        self.answering.admission = context.admission
        await self.intake.run()

    async def _introduce(self) -> None:
        try:
            await self.commands.introduce()
        except CallFailed as failed:
            log.warning("the bot's menu stays as it was: %s", failed)


def emitters(
    seat: TelegramSeat | NoSeat | None, journal: Journal
) -> tuple[Callable[[LogEvent], None], Callable[[Sequence[LogEvent]], None]]:
    """Where the service's facts go: into the log, and past the bot where there is one."""
    return (seat.emit, seat.emit_all) if isinstance(seat, TelegramSeat) else (journal.emit, journal.emit_all)
