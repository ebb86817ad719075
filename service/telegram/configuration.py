"""What a bot settles with Telegram before it is polled: that it may be, how it is called, and what its menu says."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.resource import StartContext
from service.telegram.polling import refuse_webhook
from service.telegram.sending import NAME as SENDING
from telegrambot.calls import BotApi
from telegrambot.local_files import LocalFileRefused, LocalFiles

NAME = "telegram-configuration"


@dataclass(slots=True, kw_only=True)
class Configuration:
    """Succeeds before polling begins, or is why it does not: CallFailed, WebhookSet or LocalFileRefused."""

    api: BotApi
    menu: Mapping[str, str]
    """Each command with its line, in order."""
    files: LocalFiles | None = None
    """Those of a local Bot API server, which must be usable then."""
    username: str = field(default="", init=False)
    """The bot's own, without the @ and in small letters; known once this is ready."""
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def resource(self, loop: EventLoop) -> Running:
        """This work as a resource on `loop`."""
        return Running(
            name=NAME,
            loop=loop,
            prepare=self._prepare,
            work=self._stand,
            stop=self._stopping.set,
            needs=(SENDING,),
        )

    async def _prepare(self, context: StartContext) -> None:
        told = await self.api.call("getMe")
        self.username = str(told.get("username") or "").lower() if isinstance(told, dict) else ""
        await refuse_webhook(self.api)
        if self.files is not None and (reason := self.files.check()) is not None:
            raise LocalFileRefused(reason)
        menu = [{"command": command, "description": said} for command, said in self.menu.items()]
        await self.api.call("setMyCommands", {"commands": menu})

    async def _stand(self, context: StartContext) -> None:
        await self._stopping.wait()
