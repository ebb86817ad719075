"""`the-loop serve`: the service in the foreground."""

from __future__ import annotations

from pathlib import Path

import click

from service.cli.common import Stopped, config_option, faults_in_a_sentence, settings_of

UNSIGNED = (
    "the webhook is enabled and has no secret, and there is no unsigned mode: set webhook.secret_file "
    "(`the-loop init` makes one), or webhook.enabled = false"
)


@click.command("serve")
@config_option
def command(config: Path | None) -> None:
    """Run the service in the foreground until it is told to stop (Ctrl-C or SIGTERM; a second one ends it at once).

    Exits with 0 only after a clean and complete end.
    """
    settings = settings_of(config)
    from service.serve import serve

    with faults_in_a_sentence():
        if settings.webhook.enabled and not settings.secrets():
            raise Stopped(UNSIGNED)
        code = serve(settings)
    raise SystemExit(code)
