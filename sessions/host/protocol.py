"""How the service and a session host talk: newline-delimited JSON over a private socket, with a version."""

from __future__ import annotations

import json
import re
from enum import IntEnum, StrEnum

PROTOCOL_VERSION = 1
MESSAGE_BYTES_MAX = 1024 * 1024
TURN_LINE = "turn: "
MARK_VARIABLE = "THE_LOOP_SESSION"

_TURN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Verb(StrEnum):
    """What a client may ask of a host."""

    ATTACH = "attach"
    HAND = "hand"
    CANCEL = "cancel"
    END = "end"
    PING = "ping"


class HandState(StrEnum):
    """What the host knows of a turn that was just handed to it; asking again is harmless."""

    HANDED = "handed"
    TAKEN = "taken"
    ENDED = "ended"
    BUSY = "busy"
    """Another turn is running; this one is not written down."""
    STARTING = "starting"
    """The agent is not ready; this turn is not written down: ask again."""
    ENDING = "ending"
    """The host is about to go; this turn is not written down."""


class CancelState(StrEnum):
    """What became of the wish to cancel a turn."""

    CANCELLING = "cancelling"
    NOT_RUNNING = "not-running"


class HostExit(IntEnum):
    """With which code `python -m sessions.host` ends."""

    DONE = 0
    CLONE_HELD = 73
    """Another host holds the lock of the same clone."""
    SPEC_REFUSED = 78
    """The spec cannot be read or asks for the impossible."""


class MalformedMessage(Exception):
    """What arrived is no message of this protocol."""


Message = dict[str, object]


def encode(message: Message) -> bytes:
    """One message as a line, newline included."""
    return json.dumps(message | {"v": PROTOCOL_VERSION}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message of one line; raises `MalformedMessage`."""
    try:
        message = json.loads(line)
    except ValueError as fault:
        raise MalformedMessage("not JSON") from fault
    if not isinstance(message, dict):
        raise MalformedMessage("not an object")
    if message.get("v") != PROTOCOL_VERSION:
        raise MalformedMessage(f"version {message.get('v')!r} is not {PROTOCOL_VERSION}")
    return message


def text_field(message: Message, name: str) -> str:
    """A field that must be a text; raises `MalformedMessage`."""
    value = message.get(name)
    if not isinstance(value, str):
        raise MalformedMessage(f"{name} is no text")
    return value


def turn_id_field(message: Message) -> str:
    """The message's turn id; raises `MalformedMessage` where it is not made of plain characters."""
    turn_id = text_field(message, "turn_id")
    if _TURN_ID.fullmatch(turn_id) is None:
        raise MalformedMessage("turn_id is not a plain id")
    return turn_id


def turn_id_of(prompt: str) -> str | None:
    """The id on a prompt's last line; None where the last line is none."""
    last_line = prompt.rstrip().rpartition("\n")[2].strip()
    if not last_line.startswith(TURN_LINE):
        return None
    turn_id = last_line.removeprefix(TURN_LINE).strip()
    return turn_id if _TURN_ID.fullmatch(turn_id) else None
