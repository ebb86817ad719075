"""`the-loop telegram`: looks at the bot, shows whose ids the settings ask for, and writes to many people once each."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from service.cli.common import NotFound, Stopped, config_option, faults_in_a_sentence, json_option, settings_of

if TYPE_CHECKING:
    from service.settings import Settings
    from service.telegram.people import Seen
    from telegrambot.broadcast.report import Report
    from telegrambot.calls import BotApi


@click.group("telegram")
def command() -> None:
    """Look at the Telegram bot, find ids for its settings, and write to many people once each."""


@command.command("check")
@click.option("--post", "say", is_flag=True, help="Post one line into telegram.chat.")
@json_option
@config_option
def check(say: bool, as_json: bool, config: Path | None) -> None:
    """Ask Telegram whose token it is, whether updates can come, and whether the operator's chat can be told.

    Changes nothing. Exits with 1 where the bot could not do its work, with 2 where the settings cannot be read.
    """
    settings = settings_of(config)
    from service.cli.doctor import show
    from service.telegram.checks import telegram_findings

    show(telegram_findings(settings, say=say), as_json)


@command.command("whoami")
@json_option
@config_option
def whoami(as_json: bool, config: Path | None) -> None:
    """Say which bot the token belongs to, and who wrote to it lately, with the ids for telegram.operators and telegram.chat.

    Write something to the bot first, and /start in a group. Confirms nothing: what waits at Telegram still comes.
    """
    settings = settings_of(config)
    from service.telegram.checks import ask, who_is
    from service.telegram.people import peek
    from telegrambot.failures import CallFailed

    with faults_in_a_sentence():
        stored = _stored(settings)

        async def look(api: BotApi) -> dict[str, object]:
            bot = await who_is(api)
            people = stored if stored is not None else await peek(api)
            return {"bot_id": bot.bot_id, "username": bot.username, "people": people}

        try:
            told = ask(settings, look)
        except CallFailed as failed:
            raise NotFound(
                f"Telegram gives no usable answer ({failed}): `the-loop telegram check` tells more"
            ) from failed
    _show_people(told, as_json)


@command.command("broadcast")
@click.option("--name", required=True, help="What it is resumed by.")
@click.option("--to", "recipients", required=True, type=click.File("r", encoding="utf-8"),
              help="The recipients, a chat id or an @channel a line; - for standard input.")  # fmt: skip
@click.option("--text", help="What is sent, as plain text.")
@click.option("--text-file", type=click.File("r", encoding="utf-8"), help="What is sent, in a file.")
@click.option("--copy", "copied", metavar="CHAT/MESSAGE", help="Copy this message instead.")
@click.option("--rate", type=click.FloatRange(0.01, 30), default=25.0, show_default=True, help="Messages a second.")
@click.option("--dry-run", is_flag=True, help="Count only: send nothing and write nothing.")
@click.option("--force", is_flag=True, help="Go on although the message is another one than before.")
@json_option
@config_option
def broadcast(
    name: str, recipients: TextIO, text: str | None, text_file: TextIO | None, copied: str | None,
    rate: float, dry_run: bool, force: bool, as_json: bool, config: Path | None,
) -> None:  # fmt: skip
    """Write to many people, each once, over any crash: the same command goes on where it ended.

    Whoever was written to just when it was killed is uncertain, and not written to again. Exits with 1 where somebody is
    left, with 2 for bad input.
    """
    from sessions.seat.protocol import TOKEN_VARIABLE

    if TOKEN_VARIABLE in os.environ:
        raise Stopped("a session writes to nobody by itself: that is the operator's")
    settings = settings_of(config)
    from service.state_folder import StateFolder
    from service.telegram.broadcasting import NotUnderstood, message_of, recipients_in, run
    from telegrambot.broadcast.delivery import Pace
    from telegrambot.broadcast.refusals import BroadcastRefused
    from telegrambot.broadcast.run import Order

    with faults_in_a_sentence():
        try:
            said = text_file.read() if text_file is not None and text is None else text
            if text_file is not None and text is not None:
                raise NotUnderstood("say what to send, once: --text, --text-file or --copy")
            order = Order(
                name=name,
                directory=StateFolder(settings.state).broadcasts,
                message=message_of(said, copied),
                pace=Pace(sends_per_s=rate),
                is_dry=dry_run,
                may_differ=force,
            )
            report = run(settings, order, recipients_in(recipients.read()), _show_progress)
        except (NotUnderstood, BroadcastRefused, UnicodeDecodeError) as fault:
            raise Stopped(str(fault)) from fault
    _show_report(report, as_json)


def _show_progress(report: Report) -> None:
    click.echo(_line(report), err=True)


def _show_report(report: Report, as_json: bool) -> None:
    if as_json:
        halt = {"halt": str(report.halt) if report.halt else None}
        click.echo(json.dumps({**asdict(report), **halt}, indent=2))
    else:
        click.echo(_line(report))
        if report.halt is not None:
            click.echo(f"halted: {report.halt}")
    if report.pending and report.outcome != "dry-run":
        click.echo("run the same command again to go on", err=True)
        raise SystemExit(1)


def _line(report: Report) -> str:
    return (
        f"{report.name} {report.outcome}: {report.delivered} of {report.total} delivered, {report.unreachable} unreachable, "
        f"{report.failed} failed, {report.uncertain} uncertain, {report.pending} left"
    )


def _stored(settings: Settings) -> list[Seen] | None:
    """Who wrote, from the store of a service that runs: it has taken the updates, and polls meanwhile. None: none runs."""
    from service.clock import SystemClock
    from service.state_folder import StateFolder
    from service.telegram.people import seen_in
    from service.telegram.seat import token_of
    from service.telegram.store import newest_messages
    from statedb.database import Database

    state = StateFolder(settings.state)
    if not state.is_locked() or not settings.telegram.enabled:
        return None
    reader = Database(state.database, SystemClock().wall_ms).reader()
    return seen_in(newest_messages(reader, token_of(settings).bot_id))


def _show_people(told: dict[str, object], as_json: bool) -> None:
    from service.telling import harmless

    people: list[Seen] = told["people"]  # type: ignore[assignment]
    if as_json:
        click.echo(json.dumps({**told, "people": [asdict(seen) for seen in people]}, indent=2))
        return
    click.echo(f"@{told['username']}, bot {told['bot_id']}")
    if not people:
        click.echo("nobody wrote to it lately: write to it, or /start in a group, and ask again")
    for seen in people:
        place = "in private" if seen.chat_id == seen.user_id else f"in chat {seen.chat_id} ({harmless(seen.chat_name)})"
        click.echo(f"account {seen.user_id} ({harmless(seen.name)}) {place}")
