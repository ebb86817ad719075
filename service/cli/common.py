"""What several commands share: the settings file, and faults said in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
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
