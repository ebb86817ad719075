"""All that the stand-in knows and a test may turn, without the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fakes.bot_api import webhooks
from tests.fakes.bot_api.answers import UNAUTHORIZED, Answer
from tests.fakes.bot_api.chats import Chat, Chats
from tests.fakes.bot_api.faults import Armed, Fault, Faults
from tests.fakes.bot_api.files import Files
from tests.fakes.bot_api.gate import Clock, Gate
from tests.fakes.bot_api.methods import Methods, called
from tests.fakes.bot_api.parts import Parts, Request
from tests.fakes.bot_api.polling import Polling
from tests.fakes.bot_api.samples import text_message
from tests.fakes.bot_api.sending import Sending
from tests.fakes.bot_api.transcripts import Call, Ledger, Poll, Send
from tests.fakes.bot_api.updates import UpdateQueue
from tests.fakes.bot_api.webhooks import Pushed, Webhook

TOKEN = "123456:stand-in-token-of-35-characters-xyz"


class World:
    """One bot's server. `stands_at_s` makes its clock stand still; `is_local` and `files_root` are about getFile."""

    def __init__(
        self,
        *,
        token: str = TOKEN,
        first_id: int = 10,
        stands_at_s: float | None = None,
        files_root: Path | None = None,
        is_local: bool = False,
    ) -> None:
        self.token = token
        self.gate = Gate(Clock(stands_at_s))
        self.ledger = Ledger()
        self.faults = Faults()
        self.files = Files(files_root, token, is_local=is_local)
        self.is_token_valid = True
        self._queue = UpdateQueue(first_id)
        self._polling = Polling(self.gate, self._queue)
        self._chats = Chats()
        parts = Parts(
            clock=self.gate.clock,
            queue=self._queue,
            polling=self._polling,
            chats=self._chats,
            files=self.files,
            ledger=self.ledger,
        )
        self._sending = Sending(parts)
        self._methods = Methods(int(token.partition(":")[0]), parts)
        self._table = self._methods.table(self._sending)

    def call(self, method: str, request: Request) -> Answer:
        """What the server says to a call; for the wire."""
        with self.gate:
            return called(self._table, method, request)

    def push(self, update: Mapping[str, Any]) -> int | None:
        """Something happens at Telegram; the id that the update got, None when its kind is not wanted by the bot."""
        with self.gate:
            self._remember(update)
            return self._queue.push(update, self.gate.clock.now_s())

    def push_text(self, text: str, chat_id: int = 5, sender_id: int = 5, thread_id: int | None = None) -> int:
        """Somebody writes to the bot; the update's id."""
        update_id = self.push(text_message(text, chat_id, sender_id, thread_id))
        assert update_id is not None, "the bot does not want messages"
        return update_id

    def chat(self, chat_id: int | str) -> Chat:
        """A chat, to be told whom it refuses; `@name` for a channel."""
        with self.gate:
            return self._chats.chat(chat_id)

    def advance(self, by_s: float) -> None:
        """Time passes: updates expire, long polls end, pauses are over."""
        with self.gate:
            self.gate.clock.move(by_s)

    def restart_ids(self, at: int) -> None:
        """The next update gets this id and what is queued is gone, as on another server."""
        with self.gate:
            self._queue.restart_ids(at)

    def revoke(self) -> None:
        """From now on the token is one of no bot; a long poll in flight hears of it."""
        with self.gate:
            self.is_token_valid = False
            self._polling.end(UNAUTHORIZED)

    def pace(self, *, is_on: bool) -> None:
        """Whether impatient polls are slowed down and a second conflict is told late, as by default they are."""
        with self.gate:
            self._polling.is_pacing = is_on

    def arm(self, method: str, fault: Fault, times: int | None = 1) -> Armed:
        """Something goes wrong with the next calls of a method; None: until it is lifted."""
        with self.gate:
            return self.faults.arm(method, fault, times)

    def lift(self, method: str | None = None) -> None:
        """Nothing goes wrong any more, with one method or at all; what is held goes on."""
        with self.gate:
            self.faults.lift(method)

    def release(self) -> None:
        """What hangs or is slow at this moment goes on."""
        with self.gate:
            self.faults.release()

    def deliver_webhooks(self) -> list[Pushed]:
        """Push every update that is due to the webhook, once; how it went. None is due again before time passes."""
        with self.gate:
            now_s, webhook, deliveries = self.gate.clock.now_s(), self._methods.webhook, self._methods.deliveries
            self._queue.expire(now_s)
            due = [queued for queued in self._queue.queued if deliveries.is_due(queued.update_id, now_s)]
        if webhook is None:
            return []
        before = len(deliveries.pushed)
        for queued in due:
            answered = webhooks.push(webhook, queued.update)
            with self.gate:
                if deliveries.note(queued.update_id, answered, now_s):
                    self._queue.settle(queued.update_id)
        with self.gate:
            if deliveries.is_gone_for_good(now_s):
                self._methods.webhook = None
        return deliveries.pushed[before:]

    @property
    def now_s(self) -> float:
        return self.gate.clock.now_s()

    @property
    def webhook(self) -> Webhook | None:
        with self.gate:
            return self._methods.webhook

    @property
    def polled_offset(self) -> int | None:
        """The offset of the long poll that waits at this moment (0: it said none); None: there is none."""
        with self.gate:
            return self._polling.waiting_offset

    @property
    def is_polled(self) -> bool:
        """Whether a long poll waits at this moment."""
        return self.polled_offset is not None

    @property
    def polls(self) -> list[Poll]:
        with self.gate:
            return self.ledger.polls()

    @property
    def sends(self) -> list[Send]:
        """What arrived in chats, whether or not the sender heard of it."""
        with self.gate:
            return self.ledger.sends()

    @property
    def calls(self) -> list[Call]:
        """All calls, refused ones and bad tokens included, in the order in which they came."""
        with self.gate:
            return self.ledger.calls()

    def calls_of(self, method: str) -> list[Call]:
        with self.gate:
            return self.ledger.calls(method)

    @property
    def highest_offset(self) -> int | None:
        """The highest offset that any poll carried: what the server was told to forget. None: no poll carried one."""
        return max((poll.offset for poll in self.polls if poll.offset is not None), default=None)

    @property
    def unconfirmed_ids(self) -> list[int]:
        """The updates that are still kept, in their order."""
        with self.gate:
            self._queue.expire(self.now_s)
            return [queued.update_id for queued in self._queue.queued]

    @property
    def confirmed_ids(self) -> list[int]:
        """The updates that were forgotten because the bot said so or its webhook took them."""
        with self.gate:
            return list(self._queue.confirmed_ids)

    @property
    def expired_ids(self) -> list[int]:
        """The updates that were forgotten because nobody took them for a day."""
        with self.gate:
            self._queue.expire(self.now_s)
            return list(self._queue.expired_ids)

    def forget_transcripts(self) -> None:
        """Calls, polls and sends start anew; updates, chats and faults stay."""
        with self.gate:
            self.ledger.forget()

    def wait_for(self, is_so: Callable[[], bool], what: str = "what the test counts on") -> None:
        """Wait for a fact about the stand-in; fails when it is not so in time."""
        self.gate.expect(is_so, what)

    def wait_for_calls(self, method: str, count: int = 1) -> list[Call]:
        """Wait until a method was called so often."""
        self.wait_for(lambda: self.ledger.count(method) >= count, f"{count} calls of {method}")
        return self.calls_of(method)

    def wait_for_poll(self, offset: int | None = None) -> None:
        """Wait until a long poll waits, with this offset or with any."""
        self.wait_for(lambda: self.is_polled and offset in (None, self.polled_offset), "a long poll")

    def _remember(self, update: Mapping[str, Any]) -> None:
        """Messages can be copied and buttons be answered, as far as an update is whole enough to say which."""
        match update:
            case {"message": {"message_id": int(message_id), "chat": {"id": int(chat_id)}, **rest}}:
                self._chats.chat(chat_id).holds(message_id, str(rest.get("text", "")))
            case {"callback_query": {"id": str(button_id)}}:
                self._sending.button_ids.add(button_id)
