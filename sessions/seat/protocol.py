"""How an agent's command and the seat talk: one line of JSON each way over a private socket."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

PROTOCOL_VERSION: Final = 1
SOCKET_NAME: Final = "agent.sock"
SOCKET_VARIABLE: Final = "THE_LOOP_AGENT_SOCKET"
TOKEN_VARIABLE: Final = "THE_LOOP_AGENT_TOKEN"  # noqa: S105 a variable's name
REQUEST_BYTES_MAX: Final = 256 * 1024
ANSWER_BYTES_MAX: Final = 1024 * 1024
SOCKET_PATH_BYTES_MAX: Final = 107
"""What the system's address of a socket holds."""

Answer = dict[str, object]
"""`ok` with what was asked for, or `error` with a text that says what to do."""


class Verb(StrEnum):
    """What an agent may ask for."""

    THREAD = "thread"
    """All that stands on the work item's threads."""
    REPLY = "reply"
    """Post a message now."""
    ASK = "ask"
    """Post a question and wait for a person from the end of the turn on."""
    PUSH = "push"
    """Push the work item's own branch."""
    PR = "pr"
    """Push, and open a pull request from that branch."""
    EVENTS = "events"
    """What became of the work item's events."""


ARGUMENTS: Final[Mapping[Verb, tuple[str, ...]]] = {
    Verb.THREAD: (),
    Verb.REPLY: ("text",),
    Verb.ASK: ("text",),
    Verb.PUSH: (),
    Verb.PR: ("title", "body"),
    Verb.EVENTS: (),
}
"""The arguments of each verb, all of them texts. None of them names a work item or a branch: the token does."""


class Declined(Exception):
    """The seat does not do what was asked; the text is ours and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an agent asks for; an argument that was not given is missing."""

    token: str
    verb: Verb
    arguments: Mapping[str, str]


def seat_environment(socket_path: Path, token: str) -> dict[str, str]:
    """What the agent's environment gets, and all that it needs to use the seat."""
    return {SOCKET_VARIABLE: str(socket_path), TOKEN_VARIABLE: token}


def token_digest(token: str) -> str:
    """What the session's row keeps of its token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def check_socket_path(path: Path) -> None:
    """Raises ValueError for a path that no socket can have."""
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise ValueError(f"the socket's path is longer than {SOCKET_PATH_BYTES_MAX} bytes: {path}")


def write_request(request: Request) -> bytes:
    """One request as a line. Raises Declined where it is too large to be sent."""
    message = {
        "v": PROTOCOL_VERSION,
        "token": request.token,
        "verb": request.verb,
        "arguments": dict(request.arguments),
    }
    line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    if len(line) > REQUEST_BYTES_MAX:
        raise Declined(TOO_LARGE)
    return line


def read_request(line: bytes) -> Request:
    """The request of a line; raises Declined."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise Declined("the seat takes one JSON object a line") from fault
    if not isinstance(message, dict) or message.get("v") != PROTOCOL_VERSION:
        raise Declined(f"the seat speaks version {PROTOCOL_VERSION}: use the `the-loop` of this service")
    token, arguments = message.get("token"), message.get("arguments", {})
    if not isinstance(token, str) or not isinstance(arguments, dict):
        raise Declined("the seat takes `token`, `verb` and `arguments`")
    verb = _verb(message.get("verb"))
    return Request(token=token, verb=verb, arguments=_arguments(verb, arguments))


def write_answer(answer: Answer) -> bytes:
    """One answer as a line."""
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


TOO_LARGE: Final = f"a request is larger than {REQUEST_BYTES_MAX // 1024} KB: send less"


def _verb(said: object) -> Verb:
    try:
        return Verb(str(said))
    except ValueError as fault:
        raise Declined(f"the seat has no such verb; it has {', '.join(Verb)}") from fault


def _arguments(verb: Verb, said: Mapping[str, object]) -> dict[str, str]:
    known = ARGUMENTS[verb]
    if not set(said) <= set(known):
        takes = f"takes {' and '.join(known)}" if known else "takes no argument"
        raise Declined(f"`{verb}` {takes}: it always acts on your own work item and branch")
    arguments = {name: value for name, value in said.items() if isinstance(value, str)}
    if len(arguments) != len(said):
        raise Declined(f"`{verb}` takes texts")
    return {name: _storable(value) for name, value in arguments.items()}


def _storable(text: str) -> str:
    """The text without what neither the store nor GitHub takes: NUL, and halves of pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
