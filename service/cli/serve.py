"""`the-loop serve`: the service in the foreground."""

from __future__ import annotations

from pathlib import Path

import click

from service.cli.common import Stopped, config_option, faults_in_a_sentence, settings_of


@click.command("serve")
@config_option
def command(config: Path | None) -> None:
    """Run the service in the foreground until it is told to stop (Ctrl-C or SIGTERM; a second one ends it at once).

    Exits with 0 only after a clean and complete end.
    """
    settings = settings_of(config)
    from service.serve import serve
    from webhook.app import NoSecret

    with faults_in_a_sentence():
        try:
            code = serve(settings)
        except NoSecret as missing:
            raise Stopped(str(missing)) from missing
    raise SystemExit(code)
