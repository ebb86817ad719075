"""Delivers what happened to the hooks that want it: signed POSTs, one log entry a try, and never a retry by itself."""

import hashlib
import hmac
import json
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import httpx

from service.demo.github.acts.hooks import hooks_of, owner_of
from service.demo.github.records import Delivery, Hook
from service.demo.github.shapes.accounts import account_shape
from service.demo.github.shapes.hooks import hook_shape
from service.demo.github.shapes.repositories import repository_shape
from service.demo.github.state import Happening, State
from service.demo.github.wire import JsonObject

DELIVERY_TIMEOUT_S = 10.0
RESPONSE_CHARACTERS_MAX = 4_096
ZEN = "Responsive is better than fast."


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One delivery that is still to be tried."""

    hook_id: int
    repository_id: int
    guid: str
    event: str
    action: str | None
    payload: str
    redelivery: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came of a try; `status_code` 0 means that no answer came."""

    status: str
    status_code: int
    body: str


def new_guid() -> str:
    """A delivery id as GitHub's: unique, said in `X-GitHub-Delivery`."""
    return str(uuid.uuid4())


def encode(hook: Hook, payload: str) -> tuple[bytes, str]:
    """A payload's bytes as a hook wants them, and their content type."""
    if hook.content_type == "form":
        return urlencode({"payload": payload}).encode(), "application/x-www-form-urlencoded"
    return payload.encode("utf-8", "replace"), "application/json"


def request_headers(hook: Hook, parcel: Parcel, body: bytes, content_type: str) -> dict[str, str]:
    """GitHub's headers for one delivery, the signatures over the raw bytes among them."""
    headers = {
        "Accept": "*/*",
        "Content-Type": content_type,
        "User-Agent": "GitHub-Hookshot/stand-in",
        "X-GitHub-Delivery": parcel.guid,
        "X-GitHub-Event": parcel.event,
        "X-GitHub-Hook-ID": str(hook.id),
        "X-GitHub-Hook-Installation-Target-ID": str(hook.repository_id),
        "X-GitHub-Hook-Installation-Target-Type": "repository",
    }
    if hook.secret:
        secret = hook.secret.encode()
        headers["X-Hub-Signature"] = "sha1=" + hmac.new(secret, body, hashlib.sha1).hexdigest()
        headers["X-Hub-Signature-256"] = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    return headers


class Courier:
    """Delivers in order on threads of its own; may be held, so that what happens arrives late or in another order."""

    def __init__(self, state: State, threads: int = 1, new_guid: Callable[[], str] = new_guid) -> None:
        self._state = state
        self._new_guid = new_guid
        self._queue: queue.SimpleQueue[Parcel | None] = queue.SimpleQueue()
        self._idle = threading.Condition()
        self._undelivered = 0
        self._held: list[Parcel] | None = None
        self._threads = [
            threading.Thread(target=self._run, name=f"stand-in-courier-{index}", daemon=True)
            for index in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after the tries under way; what was not tried is lost, as GitHub may lose it."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout=1.0)

    def tell(self, happening: Happening) -> None:
        """Send what happened to the active hooks that want the event. The caller holds the state's lock."""
        state = self._state
        repository = state.tables.repositories[happening.repository_id]
        wanting = [
            hook
            for hook in hooks_of(state, repository)
            if hook.active and ("*" in hook.events or happening.event in hook.events)
        ]
        if not wanting:
            return
        content: JsonObject = {
            "action": happening.action,
            **happening.parts,
            "repository": repository_shape(state, repository),
            "sender": account_shape(state, state.tables.accounts[happening.sender_id]),
        }
        for hook in wanting:
            self._send(self._parcel(hook, happening.event, happening.action, content))

    def ping(self, hook: Hook) -> None:
        """Send a hook its ping, whatever events it wants. The caller holds the state's lock."""
        state = self._state
        repository = state.tables.repositories[hook.repository_id]
        content: JsonObject = {
            "zen": ZEN,
            "hook_id": hook.id,
            "hook": hook_shape(state, repository, hook),
            "repository": repository_shape(state, repository),
            "sender": account_shape(state, owner_of(state, repository)),
        }
        self._send(self._parcel(hook, "ping", None, content))

    def redeliver(self, delivery: Delivery, *, guid: str | None = None) -> None:
        """Send a payload again, under its own GUID or (another delivery of the same fact) under a given one."""
        self._send(
            Parcel(
                hook_id=delivery.hook_id,
                repository_id=delivery.repository_id,
                guid=guid if guid is not None else delivery.guid,
                event=delivery.event,
                action=delivery.action,
                payload=delivery.payload,
                redelivery=True,
            )
        )

    def hold(self) -> None:
        """Keep deliveries back until they are released."""
        with self._idle:
            if self._held is None:
                self._held = []

    def release(self, *, newest_first: bool = False, drop: bool = False) -> None:
        """Let go what was held back, in order or the newest first; `drop` loses it instead."""
        with self._idle:
            held = self._held or []
            self._held = None
            if drop:
                self._undelivered -= len(held)
                self._idle.notify_all()
                return
            for parcel in reversed(held) if newest_first else held:
                self._queue.put(parcel)

    def wait_until_idle(self, timeout_s: float = 15.0) -> bool:
        """Wait until nothing is on its way; False when something still is after the timeout. Held ones count."""
        with self._idle:
            return self._idle.wait_for(lambda: self._undelivered == 0, timeout_s)

    def _parcel(self, hook: Hook, event: str, action: str | None, content: JsonObject) -> Parcel:
        return Parcel(
            hook_id=hook.id,
            repository_id=hook.repository_id,
            guid=self._new_guid(),
            event=event,
            action=action,
            payload=json.dumps(content, ensure_ascii=False, separators=(",", ":")),
        )

    def _send(self, parcel: Parcel) -> None:
        with self._idle:
            self._undelivered += 1
            if self._held is not None:
                self._held.append(parcel)
                return
        self._queue.put(parcel)

    def _run(self) -> None:
        with httpx.Client(timeout=DELIVERY_TIMEOUT_S, trust_env=False) as client:
            while (parcel := self._queue.get()) is not None:
                try:
                    self._deliver(client, parcel)
                finally:
                    with self._idle:
                        self._undelivered -= 1
                        self._idle.notify_all()

    def _deliver(self, client: httpx.Client, parcel: Parcel) -> None:
        state = self._state
        with state.lock:
            hook = state.tables.hooks.get(parcel.hook_id)
        if hook is None:
            return
        body, content_type = encode(hook, parcel.payload)
        headers = request_headers(hook, parcel, body, content_type)
        began_s = time.monotonic()
        response = post(client, hook.url, body, headers)
        duration_s = time.monotonic() - began_s
        with state.lock:
            delivery = Delivery(
                id=state.new_id("delivery"),
                hook_id=hook.id,
                guid=parcel.guid,
                event=parcel.event,
                action=parcel.action,
                repository_id=parcel.repository_id,
                url=hook.url,
                payload=parcel.payload,
                request_headers=headers,
                redelivery=parcel.redelivery,
                delivered_at=state.now(),
                duration_s=duration_s,
                status=response.status,
                status_code=response.status_code,
                response_body=response.body,
            )
            state.tables.deliveries[delivery.id] = delivery


def post(client: httpx.Client, url: str, body: bytes, headers: dict[str, str]) -> Response:
    """Post one delivery; a redirect is not followed and nothing is tried twice."""
    try:
        answer = client.post(url, content=body, headers=headers)
    except httpx.TimeoutException:
        return Response(status="timed out", status_code=0, body="")
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        return Response(status=f"failed to connect to host: {type(problem).__name__}", status_code=0, body="")
    status = "OK" if answer.is_success else f"Invalid HTTP Response: {answer.status_code}"
    return Response(status=status, status_code=answer.status_code, body=answer.text[:RESPONSE_CHARACTERS_MAX])
