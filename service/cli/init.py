"""`the-loop init`: a settings file to begin with, and a fresh webhook secret."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from service.cli.common import Stopped


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Write a commented the-loop.toml and a fresh webhook secret (readable by you alone) into DIR.

    Nothing that is there already is overwritten.
    """
    from service.first_settings import TOKEN_FILE, AlreadyThere, write_first_settings

    try:
        settings_file, secret_file = write_first_settings(folder, secrets.token_hex(32))
    except AlreadyThere as fault:
        raise Stopped(str(fault)) from fault
    except OSError as fault:
        raise Stopped(f"{fault.filename or folder} cannot be written: {fault.strerror}") from fault
    click.echo(f"wrote {settings_file} and {secret_file}")
    click.echo(f"next: put GitHub's token into {folder / TOKEN_FILE} (mode 0600), name your repository and yourself in")
    click.echo(f"{settings_file}, then run: the-loop doctor --config {settings_file}")
