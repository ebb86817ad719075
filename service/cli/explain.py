"""`the-loop explain`: what became of something, on one page."""

from __future__ import annotations

import json
from pathlib import Path

import click

from service.cli.common import NotFound, Stopped, config_option, json_option, settings_of, sources_of


@click.command("explain")
@click.argument("what", metavar="COMMENT-ADDRESS|EVENT-KEY|DELIVERY-ID|WORK-ITEM")
@click.option("--whole", is_flag=True, help="Show every reply with all of its text.")
@json_option
@config_option
def command(what: str, whole: bool, as_json: bool, config: Path | None) -> None:
    """Say what became of a comment, an event, a delivery or a work item, and why.

    Shows how it arrived, how it was read and what in it did not count, who wrote it and with what right, what was
    decided and what was looked at, its attempts, its turn with the receipt, and what was said about it. Reads only;
    works without the service.
    """
    settings = settings_of(config)
    from service.addresses import NotUnderstood, named
    from service.explain import explain
    from service.explain_form import form
    from service.explain_page import page

    try:
        meant = named(what, settings.github.host)
    except NotUnderstood as fault:
        raise Stopped(str(fault)) from fault
    with sources_of(settings) as sources:
        found = explain(what.strip(), meant, sources)
    if found.is_empty:
        raise NotFound(
            f"nothing is known of {what}: no event, delivery or work item of that name is in the store, and the event "
            "log does not tell of it either. If it is a comment, look whether GitHub's page of deliveries shows it"
        )
    click.echo(json.dumps(form(found), indent=2, ensure_ascii=False) if as_json else "\n".join(page(found, whole)))
