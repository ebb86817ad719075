"""The agent's side of the seat: one call, one answer; used by the commands that an agent runs."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Final

from sessions.seat.protocol import (
    ANSWER_BYTES_MAX,
    SOCKET_VARIABLE,
    TOKEN_VARIABLE,
    Declined,
    Request,
    Verb,
    write_request,
)

CALL_S: Final = 600.0
"""How long a call may take: a push waits for git."""


class SeatCallFailed(Exception):
    """The call was not carried out; the text says why and what to do."""


class OutsideSession(SeatCallFailed):
    """There is no seat here."""


class SeatRefused(SeatCallFailed):
    """The seat answered that it does not do this."""


def call(
    verb: Verb, arguments: Mapping[str, str], environment: Mapping[str, str], timeout_s: float = CALL_S
) -> dict[str, object]:
    """Ask the seat that the environment names and return its answer. Not repeated by itself.

    Raises OutsideSession where the environment names none, SeatRefused with the seat's own words, SeatCallFailed where
    the service does not answer: then it is not known whether the call was carried out.
    """
    path, token = environment.get(SOCKET_VARIABLE, ""), environment.get(TOKEN_VARIABLE, "")
    if not path or not token:
        raise OutsideSession(
            f"this command works inside a session of the-loop: {SOCKET_VARIABLE} and {TOKEN_VARIABLE} are not set here"
        )
    try:
        line = write_request(Request(token=token, verb=verb, arguments=arguments))
    except Declined as declined:
        raise SeatRefused(str(declined)) from declined
    return _read(_exchange(path, line, timeout_s))


def _exchange(path: str, line: bytes, timeout_s: float) -> bytes:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(path)
            connection.sendall(line)
            with connection.makefile("rb") as answers:
                return answers.readline(ANSWER_BYTES_MAX + 1)
    except TimeoutError as fault:
        raise SeatCallFailed(
            f"the service did not answer within {timeout_s:.0f} s: look at the thread before you repeat"
        ) from fault
    except OSError as fault:
        raise SeatCallFailed(
            f"the service cannot be reached ({fault.strerror or fault}): it may be restarting; try again in a minute"
        ) from fault


def _read(line: bytes) -> dict[str, object]:
    try:
        answer = json.loads(line)
    except ValueError as fault:
        raise SeatCallFailed("the service gave no answer: it is busy or ending; try again in a minute") from fault
    if not isinstance(answer, dict):
        raise SeatCallFailed("the service gave an answer of another version")
    if "error" in answer:
        raise SeatRefused(str(answer["error"]))
    return answer
