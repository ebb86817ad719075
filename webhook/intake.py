"""From a request to a delivery on disk, in this order: admitted, read within bounds, signed, parsed, submitted, answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from starlette.responses import Response
from starlette.types import Receive, Scope

from domain.model import Delivery, Event, Road
from eventlog.event import LogEvent
from eventlog.events.routing import RoutingDropped
from eventlog.events.webhook import WebhookOverloaded, WebhookPing, WebhookReceived, WebhookRejected
from githubapi.events import needs_reading, with_reading
from statedb.committer import Overloaded, Ticket
from statedb.database import StoreUnavailable
from webhook import answers
from webhook.bodies import Body, BodyLimits, InFlight
from webhook.decisions import one_by_one
from webhook.dispatcher import HANDLE_S, Dispatcher
from webhook.handled import Handled
from webhook.heads import Head, read_head, unfit_to_read
from webhook.payloads.results import Passed, Pong
from webhook.reading import Read, read_delivery
from webhook.refusals import Refusal, Rejected, Trouble, Unavailable
from webhook.waiting import LoopNotifier, outcome_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """How the pushed road is set up.

    `secrets`: whoever signs with one of them is GitHub; several while one takes another's place. `hosts`: the GitHub
    hosts whose payloads are ours, in lower case. `answer_s` is how long the store may take, `retry_after_s` when a
    request that could not be taken may come again. Bodies over `parse_here_bytes` that name us are parsed off the event
    loop.
    """

    secrets: tuple[bytes, ...] = field(repr=False)
    hosts: tuple[str, ...] = ("github.com",)
    path: str = "/webhook/github"
    body: BodyLimits = field(default_factory=BodyLimits)
    answer_s: float = HANDLE_S
    retry_after_s: int = 10
    parse_here_bytes: int = 4 * 1024


class Intake:
    """Takes the requests of one event loop. Every answer has its event in the log."""

    def __init__(
        self,
        settings: WebhookSettings,
        dispatcher: Dispatcher,
        *,
        admission: Callable[[], bool],
        clock: Callable[[], int],
        emit: Callable[[LogEvent], None],
        parsers: Executor,
        emit_all: Callable[[Sequence[LogEvent]], None] | None = None,
    ) -> None:
        self._settings = settings
        self._dispatcher = dispatcher
        self._admission = admission
        self._clock = clock
        self._emit = emit
        self._emit_all = emit_all or partial(one_by_one, emit)
        self._received: list[LogEvent] = []
        self._parsers = parsers
        self._in_flight = InFlight(settings.body)
        self._notifier: LoopNotifier | None = None

    async def take(self, scope: Scope, receive: Receive) -> Response:
        """Answer one request. After a 2xx what it states is on disk, after anything else nothing of it is."""
        head = read_head(scope["headers"])
        body = Body(self._in_flight)
        try:
            answer = await self._take(head, body, receive)
        finally:
            body.release()
        return answer if isinstance(answer, Response) else self.refuse(answer, head)

    def refuse(self, refusal: Refusal, head: Head | None = None) -> Response:
        """Say and log that a request is no delivery."""
        delivery_id = head.delivery_id if head else None
        match refusal:
            case Rejected():
                self._emit(
                    WebhookRejected(
                        delivery_id=delivery_id,
                        reason=refusal.reason,
                        status=refusal.status,
                        github_event=head.event_name if head else None,
                        body_bytes=head.content_length if head else None,
                    )
                )
            case Unavailable():
                retry_after_s = self._settings.retry_after_s
                self._emit(
                    WebhookOverloaded(delivery_id=delivery_id, reason=refusal.reason, retry_after_s=retry_after_s)
                )
            case _:
                assert_never(refusal)
        return answers.refusal_answer(refusal, self._settings.retry_after_s)

    async def _take(self, head: Head, body: Body, receive: Receive) -> Response | Refusal:
        if not self._admission():
            return Unavailable(Trouble.DRAINING)
        unfit = unfit_to_read(head, self._settings.body.body_bytes_max)
        if unfit is not None:
            return unfit
        raw = await body.read(receive)
        if not isinstance(raw, bytes):
            return raw
        read = read_delivery(head, raw, self._settings.secrets, self._settings.hosts)
        if isinstance(read, Rejected):
            return read
        match read.result:
            case Event():
                return await self._deliver(read, read.result, receive)
            case Passed():
                return self._pass(read, read.result)
            case Pong():
                return self._pong(read, read.result)
            case _:
                assert_never(read.result)

    async def _deliver(self, read: Read, event: Event, receive: Receive) -> Response | Refusal:
        self._tell_received(_received(read, event))
        whole = await self._with_commands(event)
        submitted = whole if isinstance(whole, Unavailable) else self._submit(read, whole)
        if isinstance(submitted, Ticket):
            submitted = await outcome_of(submitted, self._loop_notifier(), receive, self._settings.answer_s)
        return submitted if isinstance(submitted, Unavailable) else answers.handled_answer(submitted)

    async def _with_commands(self, event: Event) -> Event | Unavailable:
        """The event with its commands read, if its author may give any; a long body off the loop."""
        if not needs_reading(event) or not self._dispatcher.policy.authorities.may(event.actor):
            return event
        if len(event.body.encode()) <= self._settings.parse_here_bytes:
            return with_reading(event)
        try:
            async with asyncio.timeout(self._settings.answer_s):
                return await asyncio.get_running_loop().run_in_executor(self._parsers, with_reading, event)
        except TimeoutError:
            return Unavailable(Trouble.LATE)

    def _submit(self, read: Read, event: Event) -> Ticket[Handled] | Handled | Unavailable:
        delivery = Delivery(road=Road.WEBHOOK, delivery_id=read.delivery_id, arrived_at_ms=self._clock())
        try:
            return self._dispatcher.submit(event, delivery, self._loop_notifier())
        except Overloaded:
            return Unavailable(Trouble.QUEUE_FULL)
        except StoreUnavailable:
            return Unavailable(Trouble.STORE)

    def _pass(self, read: Read, passed: Passed) -> Response:
        dropped = RoutingDropped(
            delivery_id=read.delivery_id,
            reason=passed.reason,
            road=Road.WEBHOOK,
            github_event=read.event_name,
            action=read.action,
        )
        self._emit_all((_received(read), dropped))
        return answers.ignored_answer(passed.reason)

    def _pong(self, read: Read, pong: Pong) -> Response:
        self._emit(WebhookPing(delivery_id=read.delivery_id, hook_id=read.hook_id, missing_events=pong.missing_events))
        return answers.pong_answer(pong)

    def _tell_received(self, line: WebhookReceived) -> None:
        """Write the lines of one turn of the loop at once, still before any of these deliveries has its answer."""
        if not self._received:
            asyncio.get_running_loop().call_soon(self._write_received)
        self._received.append(line)

    def _write_received(self) -> None:
        lines, self._received = self._received, []
        self._emit_all(lines)

    def _loop_notifier(self) -> LoopNotifier:
        if self._notifier is None:
            self._notifier = LoopNotifier(asyncio.get_running_loop())
        return self._notifier


def _received(read: Read, event: Event | None = None) -> WebhookReceived:
    return WebhookReceived(
        delivery_id=read.delivery_id,
        event_key=event.key if event else None,
        work_item=str(event.label) if event else None,
        github_event=read.event_name,
        action=read.action,
        body_bytes=read.body_bytes,
    )
