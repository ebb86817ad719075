"""`the-loop status`: how the service and its work items stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.common import config_option, faults_in_a_sentence, json_option, settings_of

if TYPE_CHECKING:
    from service.orders import Live
    from service.standing import Standing
    from service.state_folder import StateFolder


@click.command("status")
@json_option
@config_option
def command(as_json: bool, config: Path | None) -> None:
    """Say whether the service runs, what its items and sessions do, what waits, and what was given up.

    Reads only; works without the service. Exits with 0 also where none runs.
    """
    settings = settings_of(config)
    from service.standing import standing_form, standing_lines
    from service.state_folder import StateFolder

    with faults_in_a_sentence():
        standing = _look(StateFolder(settings.state))
    if as_json:
        click.echo(json.dumps(standing_form(standing), indent=2))
    else:
        click.echo("\n".join(standing_lines(standing)))


def _look(state: StateFolder) -> Standing:
    from service.clock import SystemClock
    from service.standing import standing_of
    from statedb.database import Database

    is_running = state.is_locked()
    reader = Database(state.database, SystemClock().wall_ms).reader() if state.database.exists() else None
    return standing_of(state.path, reader, is_running=is_running, live=_live(state) if is_running else None)


def _live(state: StateFolder) -> Live | None:
    from service.control_socket import NotReachable, SocketRefused, ask
    from service.orders import HowAreYou, Live
    from service.ports import CONTROL_SOCKET

    try:
        answer = ask(state.sockets / CONTROL_SOCKET, HowAreYou(), timeout_s=3.0)
    except (NotReachable, SocketRefused):
        return None
    return answer if isinstance(answer, Live) else None
