"""Which chats Telegram takes nothing for at the moment: its limit is one chat's, whoever writes there."""

from telegrambot.clock import Clock

ChatId = int | str
"""A chat's number, or the @name of a public one."""


class Floods:
    """What Telegram said about waiting, chat by chat. One bot's senders share it; to be told of floods on their event loop."""

    __slots__ = ("_clock", "_until")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[ChatId, float] = {}

    def mute(self, chat_id: ChatId, seconds: float) -> None:
        """Telegram takes nothing for that chat for so long."""
        now = self._clock.monotonic()
        self._until = {muted: until for muted, until in self._until.items() if until > now}
        self._until[chat_id] = max(now + seconds, self._until.get(chat_id, now))

    def muted_until(self, chat_id: ChatId) -> float | None:
        """The clock's monotonic reading at which the chat may be written to again; None: it may be now. From any thread."""
        until = self._until.get(chat_id)
        return until if until is not None and until > self._clock.monotonic() else None
