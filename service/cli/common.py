"""What several commands share: the settings file, and faults said in one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from service.explain import Sources
    from service.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

NOT_FOUND = 1
UNAVAILABLE = 2


class Stopped(click.ClickException):
    """The command ends here for bad input, or for want of something; the text says why and what to do."""

    exit_code = UNAVAILABLE

    def show(self, file: Any = None) -> None:  # noqa: ANN401 as click declares it
        """The sentence alone, on standard error."""
        click.echo(self.message, err=True)


def config_option(command: Command) -> Command:
    """`--config`."""
    return click.option(
        "--config",
        "config",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The settings file; else $THE_LOOP_CONFIG, else ./the-loop.toml.",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def settings_of(config: Path | None) -> Settings:
    """The settings, or the end of the command with every fault in them."""
    from service.settings import SettingsRefused, load

    try:
        return load(config)
    except SettingsRefused as refused:
        raise Stopped(str(refused)) from refused


class NotFound(Stopped):
    """What was named is not there, or what was asked for failed."""

    exit_code = NOT_FOUND


class Span(click.FloatRange):
    """A number within bounds: what is not a number is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 click's
        """As its base."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


@contextmanager
def faults_in_a_sentence() -> Iterator[None]:
    """Turns the faults that an operator can do something about into the end of the command."""
    from service.settings import SettingsRefused
    from service.state_folder import StateInUse, StateRefused
    from statedb.database import StoreError

    try:
        yield
    except (SettingsRefused, StateInUse, StateRefused, StoreError) as fault:
        raise Stopped(str(fault)) from fault


@contextmanager
def sources_of(settings: Settings) -> Iterator[Sources]:
    """The store, read-only, the event log, and who may: as the settings name them. For one use."""
    from domain.policy import Authorities
    from eventlog.reader import LogReader
    from service.clock import SystemClock
    from service.explain import Sources
    from service.state_folder import StateFolder
    from statedb import facts
    from statedb.database import Database

    state = StateFolder(settings.state)
    if not state.database.exists():
        raise NotFound(f"nothing was ever stored in {state.path}: start the service first (`the-loop serve`)")
    with faults_in_a_sentence():
        connection = Database(state.database, SystemClock().wall_ms).reader()
        logins = frozenset(login.lower() for login in settings.routing.authorized_users)
        pinned = facts.pins(connection, settings.github.host)
        yield Sources(
            connection=connection,
            log=LogReader(state.event_log),
            authorities=Authorities(logins=logins, pinned=pinned),
        )
