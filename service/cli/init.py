"""`the-loop init`: a settings file and a fresh webhook secret to begin with, or a project of one's own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from service.cli.common import Stopped

TEMPLATES = ("telegram-bot",)


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    help="Write a small project of that kind instead: a Telegram bot that stands on the same parts as the service.",
)
def command(folder: Path, template: str | None) -> None:
    """Write a commented the-loop.toml and a fresh webhook secret (readable by you alone) into DIR.

    Nothing that is there already is overwritten.
    """
    with _faults_in_a_sentence(folder):
        if template is None:
            _settings(folder)
        else:
            _project(folder, template)


def _settings(folder: Path) -> None:
    from service.first_settings import TOKEN_FILE, write_first_settings

    settings_file, secret_file = write_first_settings(folder, secrets.token_hex(32))
    click.echo(f"wrote {settings_file} and {secret_file}")
    click.echo(f"next: put GitHub's token into {folder / TOKEN_FILE} (mode 0600), name your repository and yourself in")
    click.echo(f"{settings_file}, then run: the-loop doctor --config {settings_file}")


def _project(folder: Path, template: str) -> None:
    from service.project_template import write_project

    name = write_project(template, folder)
    click.echo(f"wrote the project {name} into {folder}; {folder / 'README.md'} says what each file is")
    click.echo("next: get a token from @BotFather, then run in that folder, where the-loop is installed:")
    click.echo("BOT_TOKEN=… python -m bot")


@contextmanager
def _faults_in_a_sentence(folder: Path) -> Iterator[None]:
    from service.new_files import AlreadyThere
    from service.project_template import NoProjectName

    try:
        yield
    except (AlreadyThere, NoProjectName) as fault:
        raise Stopped(str(fault)) from fault
    except OSError as fault:
        raise Stopped(f"{fault.filename or folder} cannot be written: {fault.strerror}") from fault
