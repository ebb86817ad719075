"""`the-loop telegram`: looks at the bot, shows whose ids the settings ask for, and writes to many people once each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from service.cli.common import NotFound, Span, Stopped, config_option, faults_in_a_sentence, json_option, settings_of

if TYPE_CHECKING:
    from service.settings import Settings
    from service.telegram.checks import Bot
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

        async def look(api: BotApi) -> tuple[Bot, list[Seen]]:
            return await who_is(api), stored if stored is not None else await peek(api)

        try:
            bot, people = ask(settings, look)
        except CallFailed as failed:
            raise NotFound(
                f"Telegram gives no usable answer ({failed}): `the-loop telegram check` tells more"
            ) from failed
    _show_people(bot, people, as_json)


@command.command("broadcast")
@click.option("--name", required=True, help="What it is resumed by.")
@click.option("--to", "recipients", required=True, type=click.File("rb"),
              help="The recipients, a chat id or an @channel a line; - for standard input.")  # fmt: skip
@click.option("--text", help="What is sent, as plain text.")
@click.option("--text-file", type=click.File("rb"), help="What is sent, in a file.")
@click.option("--copy", "copied", metavar="CHAT/MESSAGE", help="Copy this message instead.")
@click.option("--rate", type=Span(0.01, 30), default=25.0, show_default=True, help="Messages a second.")
@click.option("--dry-run", is_flag=True, help="Count only: send nothing and write nothing.")
@click.option("--force", is_flag=True, help="Go on although the message is another one than before.")
@json_option
@config_option
def broadcast(
    name: str, recipients: BinaryIO, text: str | None, text_file: BinaryIO | None, copied: str | None,
    rate: float, dry_run: bool, force: bool, as_json: bool, config: Path | None,
) -> None:  # fmt: skip
    """Write to many people, each once, over any crash: the same command goes on where it ended.

    Whoever was written to just when it was killed is uncertain, and not written to again. Exits with 0 where nobody is
    left, with 1 where it was stopped or halted, with 2 for bad input.
    """
    from sessions.seat.protocol import TOKEN_VARIABLE

    if TOKEN_VARIABLE in os.environ:
        raise Stopped("a session writes to nobody by itself: that is the operator's")
    settings = settings_of(config)
    from service.state_folder import StateFolder
    from service.telegram.broadcasting import message_of, recipients_in, run
    from telegrambot.broadcast.delivery import Pace
    from telegrambot.broadcast.run import Order

    with faults_in_a_sentence(), _faults_of_a_broadcast():
        order = Order(
            name=name,
            directory=StateFolder(settings.state).broadcasts,
            message=message_of(_one_text(text, text_file, recipients), copied),
            pace=Pace(sends_per_s=rate),
            is_dry=dry_run,
            may_differ=force,
        )
        report = run(settings, order, recipients_in(_read(recipients)), _show_progress)
    _show_report(report, as_json)


@contextmanager
def _faults_of_a_broadcast() -> Iterator[None]:
    from service.telegram.broadcasting import Interrupted, NotUnderstood
    from telegrambot.broadcast.message import TextRefused
    from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
    from telegrambot.calls import EnvironmentUnusable

    try:
        yield
    except BroadcastRefused as refused:
        changed = refused.refusal is Refusal.CONTENT_CHANGED
        said = "this name was begun with another message: choose another name, or go on with --force" if changed else ""
        raise Stopped(said or str(refused)) from refused
    except (NotUnderstood, TextRefused, EnvironmentUnusable) as fault:
        raise Stopped(str(fault)) from fault
    except Interrupted as fault:
        raise NotFound(f"{fault}; run the same command again to go on") from fault
    except OSError as fault:
        where = f" ({fault.filename})" if fault.filename else ""
        raise NotFound(
            f"it cannot be written down{where}: {fault.strerror or fault}; mend that and run it again"
        ) from fault


def _one_text(text: str | None, file: BinaryIO | None, recipients: BinaryIO) -> str | None:
    from service.telegram.broadcasting import NotUnderstood

    if file is None:
        return text
    if text is not None:
        raise NotUnderstood("say what to send, once: --text, --text-file or --copy")
    if _name(file) == _name(recipients):
        raise NotUnderstood("the recipients and the text cannot both come from one place")
    return _read(file)


def _read(file: BinaryIO) -> str:
    """A file's text, without the mark that some editors put in front of it."""
    from service.telegram.broadcasting import NotUnderstood

    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise NotUnderstood(f"{_name(file)} is not UTF-8: save it as that") from fault


def _name(file: BinaryIO) -> str:
    return str(getattr(file, "name", "standard input"))


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
    from telegrambot.broadcast.delivery import HaltCause
    from telegrambot.broadcast.report import RunOutcome

    if report.outcome in (RunOutcome.HALTED, RunOutcome.STOPPED):
        mends = report.halt is not None and report.halt.cause is HaltCause.MESSAGE_REFUSED
        then = "mend the message, then run it again with --force" if mends else "run the same command again to go on"
        click.echo(then, err=True)
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


def _show_people(bot: Bot, people: list[Seen], as_json: bool) -> None:
    from service.telling import harmless

    if as_json:
        click.echo(json.dumps({**asdict(bot), "people": [asdict(seen) for seen in people]}, indent=2))
        return
    click.echo(f"@{bot.username}, bot {bot.bot_id}")
    if not people:
        click.echo("nobody wrote to it lately: write to it, or /start in a group, and ask again")
    for seen in people:
        place = "in private" if seen.chat_id == seen.user_id else f"in chat {seen.chat_id} ({harmless(seen.chat_name)})"
        click.echo(f"account {seen.user_id} ({harmless(seen.name)}) {place}")
