"""What the operator asks for on this machine, what is answered, and how both travel: one line of JSON each way."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from domain.control import VERBS, Verb
from domain.model import ID_MAX, Label
from domain.phase import MOVES

PROTOCOL_VERSION: Final = 1
LINE_BYTES_MAX: Final = 64 * 1024

_ORDER_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


class NotAnOrder(ValueError):
    """The line is no order or no answer that we know; the text says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A control command by the operator. `order_id` is made once by the client and repeated with every try."""

    order_id: str
    verb: Verb
    item: Label
    flags: frozenset[str] = frozenset()

    @property
    def body(self) -> str:
        """The command as people write it on a thread."""
        return " ".join(["the-loop", self.verb, *sorted(self.flags)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of an order, true on disk. `fate` is `inflight` while its effect is still to come."""

    item: str
    event_key: str
    fate: str
    outcome: str = ""
    effect: str = ""
    reason: str = ""
    said: str = ""
    """What the service says about it on the thread, if it says anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What only the running service knows of itself."""

    pid: int
    store_writable: bool
    workers_up: bool
    admission_open: bool
    log_lines_held: int
    log_lines_lost: int
    telegram: str | None = None
    """Whether the bot hears, in words; None: there is to be none."""


@dataclass(frozen=True, slots=True)
class HowAreYou:
    """Asks the service for its Live."""


@dataclass(frozen=True, slots=True)
class NotDone:
    """Nothing was done; the text says why and what to do. `is_missing`: what was named does not exist."""

    error: str
    is_missing: bool = False


Request = Order | HowAreYou
Answer = Result | Live | NotDone


def write_request(request: Request) -> bytes:
    """One request as a line."""
    if isinstance(request, HowAreYou):
        return _line({"ask": "live"})
    item = request.item
    return _line(
        {
            "ask": "order",
            "id": request.order_id,
            "verb": request.verb,
            "item": [item.host, item.repository, item.number],
            "flags": sorted(request.flags),
        }
    )


def read_request(line: bytes) -> Request:
    """The request of a line. Raises NotAnOrder."""
    message = _message(line)
    if message.get("ask") == "live":
        return HowAreYou()
    item, order_id, flags = message.get("item"), message.get("id"), message.get("flags")
    verb = next((verb for verb in MOVES if verb == message.get("verb")), None)
    if verb is None or not isinstance(order_id, str) or not _ORDER_ID.fullmatch(order_id):
        raise NotAnOrder("an order has a verb that moves the phase and an id of 8 to 64 letters, digits and hyphens")
    if not isinstance(flags, list) or not VERBS[verb].flags.issuperset(map(str, flags)):
        raise NotAnOrder(f"`{verb}` knows these flags: {', '.join(sorted(VERBS[verb].flags)) or 'none'}")
    return Order(order_id=order_id, verb=verb, item=_item(item), flags=frozenset(map(str, flags)))


def write_answer(answer: Answer) -> bytes:
    """One answer as a line."""
    return _line({"answer": type(answer).__name__, **asdict(answer)})


def read_answer(line: bytes) -> Answer:
    """The answer of a line. Raises NotAnOrder."""
    message = _message(line)
    for kind in (Result, Live, NotDone):
        if message.get("answer") == kind.__name__:
            known: dict[str, Any] = {field.name: message[field.name] for field in fields(kind) if field.name in message}
            try:
                return kind(**known)
            except TypeError as fault:
                raise NotAnOrder("the answer is of another version: restart the service") from fault
    raise NotAnOrder("the answer is of another version: restart the service")


def _item(said: object) -> Label:
    match said:
        case [str(host), str(repository), int(number)] if host and _REPOSITORY.fullmatch(repository):
            if 0 < number <= ID_MAX:
                return Label(host=host, repository=repository, number=number)
    raise NotAnOrder("an order names its work item by host, owner/repo and number")


def _line(message: dict[str, object]) -> bytes:
    return json.dumps({"v": PROTOCOL_VERSION, **message}, separators=(",", ":")).encode() + b"\n"


def _message(line: bytes) -> dict[str, object]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise NotAnOrder("the other side does not speak one JSON object a line") from fault
    if not isinstance(message, dict) or message.get("v") != PROTOCOL_VERSION:
        raise NotAnOrder(f"the other side does not speak version {PROTOCOL_VERSION}: use the same the-loop on both")
    return message
