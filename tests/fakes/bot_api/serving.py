"""Brings a request from the wire to the method that it names, and the answer back, past the fault that is armed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import assert_never
from urllib.parse import unquote, urlsplit

from tests.fakes.bot_api.answers import NOT_FOUND, UNAUTHORIZED, Answer, Refusal, done
from tests.fakes.bot_api.control import controlled
from tests.fakes.bot_api.faults import (
    DropHalfway,
    DropUnanswered,
    DropUnread,
    Hang,
    NotJson,
    Oversized,
    Result,
    Slow,
    Spoken,
    Struck,
    Trickle,
)
from tests.fakes.bot_api.parameters import Parameters, read_parameters
from tests.fakes.bot_api.parts import Request
from tests.fakes.bot_api.wire import Exchange
from tests.fakes.bot_api.world import World

TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
METHOD_PATH = re.compile(r"/bot([^/]*)/([^/]+)/?")
FILE_PATH = re.compile(r"/file/bot([^/]*)/(.+)")
CONTROL_PATH = re.compile(r"/stand-in/([a-z-]+)")


def serve(world: World, exchange: Exchange) -> None:
    """Answer one request, or do to it what is armed."""
    url = urlsplit(exchange.path)
    path = unquote(url.path)
    if found := METHOD_PATH.fullmatch(path):
        _serve_method(world, exchange, *found.groups())
    elif found := FILE_PATH.fullmatch(path):
        exchange.write(_file(world, *found.groups()), _untold)
    elif found := CONTROL_PATH.fullmatch(path):
        exchange.write(controlled(world, found.group(1), exchange.read_body()), _untold)
    else:
        exchange.read_body()
        exchange.write(NOT_FOUND.answer(), _untold)


def _serve_method(world: World, exchange: Exchange, token: str, method: str) -> None:
    struck = _strike(world, token, method)
    fault = struck.fault
    if isinstance(fault, DropUnread):
        _begin(world, method, Parameters())
        exchange.reset()
        return
    query, content_type = urlsplit(exchange.path).query, exchange.headers.get("Content-Type", "")
    parameters = read_parameters(query, content_type, exchange.read_body())
    number = _begin(world, method, parameters)
    if isinstance(fault, Hang):
        _hold(world, struck)
        exchange.hang_up()
        return
    answer = _answer(world, method, Request(number=number, parameters=parameters, is_gone=exchange.is_gone), fault)
    if isinstance(fault, Slow):
        _hold(world, struck)
    if exchange.is_gone() or world.gate.is_closing:
        exchange.hang_up()
    else:
        _write(world, exchange, number, answer, fault)


def _strike(world: World, token: str, method: str) -> Struck:
    """A bad token is refused whatever else would go wrong."""
    with world.gate:
        refusal = _token_refusal(world, token)
        return world.faults.strike(method) if refusal is None else Struck(refusal, 0)


def _begin(world: World, method: str, parameters: Parameters) -> int:
    with world.gate:
        return world.ledger.begin(method, parameters, world.now_s)


def _answer(world: World, method: str, request: Request, fault: Spoken | None) -> Answer:
    """What is to be written; the method is called unless the fault is that it is not."""
    match fault:
        case Refusal():
            return fault.answer()
        case Result():
            return done(fault.result)
        case NotJson():
            return Answer(status=fault.status, body=fault.text.encode(), content_type="text/html")
        case Oversized():
            answer = world.call(method, request)
            return replace(answer, body=answer.body.ljust(fault.body_bytes))
        case None | DropUnanswered() | DropHalfway() | Slow() | Trickle():
            return world.call(method, request)
        case _:
            assert_never(fault)


def _write(world: World, exchange: Exchange, number: int, answer: Answer, fault: Spoken | None) -> None:
    def tell(status: int | None) -> None:
        with world.gate:
            world.ledger.answered(number, status)

    def on_last_byte() -> None:
        tell(answer.status)

    try:
        match fault:
            case DropUnanswered():
                exchange.hang_up()
            case DropHalfway():
                exchange.write_half(answer)
            case Trickle():
                exchange.trickle(answer, fault.interval_s, on_last_byte)
            case Oversized(is_announced=False):
                exchange.write_in_chunks(answer, on_last_byte)
            case None | Refusal() | Result() | NotJson() | Slow() | Oversized():
                exchange.write(answer, on_last_byte)
            case _:
                assert_never(fault)
    except OSError:
        tell(None)
        raise


def _hold(world: World, struck: Struck) -> None:
    with world.gate:
        world.gate.wait_until(lambda: world.faults.is_released(struck))


def _token_refusal(world: World, token: str) -> Refusal | None:
    if not TOKEN.fullmatch(token):
        return NOT_FOUND
    return None if token == world.token and world.is_token_valid else UNAUTHORIZED


def _file(world: World, token: str, path: str) -> Answer:
    refusal = _token_refusal(world, token)
    content = None if refusal is not None else world.files.read(path)
    if content is None:
        return (refusal or NOT_FOUND).answer()
    return Answer(status=200, body=content, content_type="application/octet-stream")


def _untold() -> None:
    """Nobody keeps a transcript of it."""
