"""`the-loop demo`: the main job, told while it happens."""

from __future__ import annotations

import click


@click.command("demo")
@click.option("--mode", type=click.Choice(["webhook", "poll"]), default="webhook")
@click.option("--keep", is_flag=True, envvar="KEEP", show_envvar=True, help="Leave it running, and say where to look.")
def command(mode: str, keep: bool) -> None:
    """Tell the main job on a stand-in GitHub of its own: nothing to set up, no network. Exits with 0 if each step held."""
    from service.demo.story import run

    raise SystemExit(run(mode=mode, keep=keep))
