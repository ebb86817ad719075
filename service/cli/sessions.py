"""`the-loop sessions`: what the operator sees and asks of work items."""

from __future__ import annotations

import json
import os
import secrets
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from domain.control import FORCE, TAKE_OVER, Verb
from service.cli.common import (
    NotFound,
    Span,
    Stopped,
    config_option,
    faults_in_a_sentence,
    json_option,
    settings_of,
    sources_of,
)

if TYPE_CHECKING:
    from service.orders import Answer, NotDone, Order, Result
    from service.settings import Settings
    from service.state_folder import StateFolder

ENDING_WAIT_S = 60.0
TRIES = 3
TRY_AGAIN_S = 1.0

item_argument = click.argument("item", metavar="WORK-ITEM")
wait_option = click.option(
    "--wait", "wait_s", type=Span(0, 3600), default=ENDING_WAIT_S, show_default=True, metavar="SECONDS",
    help="How long to wait for the end; 0: return once it is decided.",
)  # fmt: skip


@click.group("sessions")
def command() -> None:
    """See the work items, and start, stop, pause, resume or clean up one.

    A work item is written github:[host/]owner/repo#15, owner/repo#15, or as the address of its page. What you ask here
    stands behind everything said on the thread so far.
    """


@command.command("list")
@json_option
@config_option
def list_sessions(as_json: bool, config: Path | None) -> None:
    """List the work items that were started or on which something waits. Reads only; works without the service."""
    settings = settings_of(config)
    from service.explain_form import item_form
    from service.standing import session_lines
    from statedb import inquiries

    with sources_of(settings) as sources:
        standings = inquiries.standings(sources.connection)
    if as_json:
        click.echo(json.dumps([item_form(standing) for standing in standings], indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(session_lines(standings)) if standings else "no work item was ever started")


@command.command("start")
@click.option(TAKE_OVER, "take_over", is_flag=True, help="Also where another instance of the-loop spoke lately.")
@item_argument
@json_option
@config_option
def start(take_over: bool, item: str, as_json: bool, config: Path | None) -> None:
    """Give a work item to a session. Needs the running service."""
    flags = frozenset({TAKE_OVER}) if take_over else frozenset[str]()
    _carry_out(config, Verb.START, item, flags, wait_s=0.0, as_json=as_json)


@command.command("pause")
@item_argument
@json_option
@config_option
def pause(item: str, as_json: bool, config: Path | None) -> None:
    """Let the running turn end and hand over nothing more. Needs the running service."""
    _carry_out(config, Verb.PAUSE, item, frozenset(), wait_s=0.0, as_json=as_json)


@command.command("resume")
@item_argument
@json_option
@config_option
def resume(item: str, as_json: bool, config: Path | None) -> None:
    """Go on after a pause. Needs the running service."""
    _carry_out(config, Verb.RESUME, item, frozenset(), wait_s=0.0, as_json=as_json)


@command.command("stop")
@wait_option
@item_argument
@json_option
@config_option
def stop(wait_s: float, item: str, as_json: bool, config: Path | None) -> None:
    """End a work item's session and everything it runs; its clone stays. Works without the service."""
    _carry_out(config, Verb.STOP, item, frozenset(), wait_s=wait_s, as_json=as_json)


@command.command("cleanup")
@click.option(FORCE, "force", is_flag=True, help="Also where work would be lost that exists nowhere else.")
@wait_option
@item_argument
@json_option
@config_option
def cleanup(force: bool, wait_s: float, item: str, as_json: bool, config: Path | None) -> None:
    """Stop a work item and remove its clone. Works without the service."""
    flags = frozenset({FORCE}) if force else frozenset[str]()
    _carry_out(config, Verb.CLEANUP, item, flags, wait_s=wait_s, as_json=as_json)


def _carry_out(
    config: Path | None, verb: Verb, item: str, flags: frozenset[str], *, wait_s: float, as_json: bool
) -> None:
    from sessions.seat.protocol import TOKEN_VARIABLE

    if TOKEN_VARIABLE in os.environ:
        raise Stopped("a session cannot move sessions: that is the operator's, and people's on the thread")
    settings = settings_of(config)
    from service.addresses import NotUnderstood, work_item
    from service.orders import Order

    try:
        named = work_item(item, settings.github.host)
    except NotUnderstood as fault:
        raise Stopped(str(fault)) from fault
    order = Order(order_id=secrets.token_hex(16), verb=verb, item=named, flags=flags)
    with faults_in_a_sentence():
        answer = _done(settings, order, wait_s)
    _tell(order, answer, as_json)


def _done(settings: Settings, order: Order, wait_s: float) -> Result | NotDone:
    from service.orders import NotDone, Result
    from service.state_folder import StateFolder

    state = StateFolder(settings.state)
    answer = _ask(state, order)
    if answer is None:
        return _without_service(settings, order, wait_s)
    if isinstance(answer, Result):
        return _awaited(state, answer, wait_s)
    return answer if isinstance(answer, NotDone) else NotDone("the service gave an answer of another version")


def _ask(state: StateFolder, order: Order) -> Answer | None:
    """The service's answer; None where none runs. The order keeps its id, so asking again does nothing twice."""
    from service.control_socket import NotReachable, SocketRefused, ask
    from service.ports import CONTROL_SOCKET

    for _ in range(TRIES):
        try:
            return ask(state.sockets / CONTROL_SOCKET, order)
        except SocketRefused as refused:
            raise Stopped(str(refused)) from refused
        except NotReachable as fault:
            if not state.is_locked():
                return None
            reason = fault
            threading.Event().wait(TRY_AGAIN_S)
    raise Stopped(f"{reason}: it is starting, ending or stuck; `the-loop status` says more") from reason


def _awaited(state: StateFolder, result: Result, wait_s: float) -> Result:
    from domain.model import EventKey
    from service.clock import SystemClock
    from service.operating import result_of
    from service.without_service import await_effect
    from statedb.database import Database

    database, key = Database(state.database, SystemClock().wall_ms), EventKey(result.event_key)
    return await_effect(lambda: result_of(database.reader(), key), wait_s) or result


def _without_service(settings: Settings, order: Order, wait_s: float) -> Result | NotDone:
    if order.verb not in (Verb.STOP, Verb.CLEANUP):
        raise Stopped(f"the service is not running, and `{order.verb}` needs it: start it with `the-loop serve`")
    from service.clock import SystemClock
    from service.without_service import carry_out

    return carry_out(settings, order, SystemClock(), wait_s)


def _tell(order: Order, answer: Result | NotDone, as_json: bool) -> None:
    from domain.model import Fate, Outcome
    from service.orders import NotDone
    from service.telling import harmless_lines

    if isinstance(answer, NotDone):
        raise (NotFound if answer.is_missing else Stopped)(answer.error)
    is_refused = bool(answer.said) or answer.outcome == Outcome.CONTROL_REJECTED
    if as_json:
        click.echo(json.dumps(asdict(answer), indent=2))
    elif answer.said:
        click.echo("\n".join(harmless_lines(answer.said)))
    else:
        under_way = " (under way)" if answer.fate == Fate.INFLIGHT else ""
        click.echo(f"{answer.item}: {answer.effect or answer.outcome or 'accepted'}{under_way}")
        if under_way:
            click.echo(f"follow it with: the-loop explain {answer.event_key}")
    if is_refused:
        raise SystemExit(1)
