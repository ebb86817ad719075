"""`the-loop events`: the event log, filtered and followed; inside a session, the lines of its own work item."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.common import NotFound, Stopped, config_option, settings_of

if TYPE_CHECKING:
    from eventlog.query import Entry, Query
    from eventlog.reader import LogReader

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("table", "json", "jsonl")
LIMIT = 50
LOOK_S = 0.3
"""Between two looks at a log that is followed."""

_AGO = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment(ctx: click.Context, param: click.Parameter, text: str | None) -> datetime | None:
    """`45s`, `30m`, `2h`, `7d` ago, or a time in ISO 8601 (UTC where it names no zone), as a moment."""
    if text is None:
        return None
    try:
        if ago := _AGO.fullmatch(text):
            from service.clock import SystemClock

            return SystemClock().wall() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        named = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as fault:
        raise click.BadParameter(
            f"{text!r} is no time: write 45s, 30m, 2h, 7d, or a date such as 2026-01-31T12:00", ctx, param
        ) from fault
    return named if named.tzinfo else named.replace(tzinfo=UTC)


@click.command("events")
@click.option("--type", "types", multiple=True, metavar="GLOB", help="Event types, such as 'poll.*'; may be repeated.")
@click.option("--work-item", metavar="WORK-ITEM", help="Lines about this work item.")
@click.option("--delivery", metavar="ID", help="Lines about this delivery.")
@click.option("--key", metavar="EVENT-KEY", help="Lines about this event, and about the turns that carry it.")
@click.option("--level", type=click.Choice(LEVELS), default="debug", help="This level and above.")
@click.option(
    "--since", callback=moment, metavar="2h|ISO", help="Not before: 45s, 30m, 2h, 7d ago, or a time in ISO 8601."
)
@click.option("--limit", type=click.IntRange(1, 100_000), default=LIMIT, show_default=True, help="The newest so many.")
@click.option("--follow", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--types", "lists_types", is_flag=True, help="List the event types, and when each is true.")
@config_option
def command(
    types: tuple[str, ...], work_item: str | None, delivery: str | None, key: str | None, level: str,
    since: datetime | None, limit: int, follow: bool, form: str, lists_types: bool, config: Path | None,
) -> None:  # fmt: skip
    """Show what happened, the newest last. Reads only; works without the service.

    Inside a session it shows the lines of the session's own work item.
    """
    if lists_types:
        _list_types(form)
        return
    if follow and form == "json":
        raise Stopped("what is followed has no end, so it is no JSON array: use --format jsonl")
    from eventlog.event import Level
    from eventlog.query import Query

    asked = Query(
        types=types, work_item=work_item, delivery_id=delivery, event_key=key, level_min=Level[level.upper()],
        since=since,
    )  # fmt: skip
    if _in_session() and config is None:
        _show(_from_seat(asked, limit), form)
        return
    reader, query = _log(config, asked)
    if follow:
        _follow(reader, query, limit, form)
    else:
        _show(reader.last(query, limit), form)
    if reader.corrupt_lines:
        is_one = reader.corrupt_lines == 1
        click.echo(f"{reader.corrupt_lines} {'line is no record' if is_one else 'lines are no records'}", err=True)


def _log(config: Path | None, asked: Query) -> tuple[LogReader, Query]:
    """The log that the settings name, and the question with the work item as the log writes it."""
    from dataclasses import replace

    from eventlog.reader import LogReader
    from service.addresses import NotUnderstood, work_item
    from service.state_folder import StateFolder

    settings = settings_of(config)
    path = StateFolder(settings.state).event_log
    if not path.exists():
        raise NotFound(f"there is no event log at {path} yet: start the service first (`the-loop serve`)")
    if asked.work_item is None:
        return LogReader(path), asked
    try:
        return LogReader(path), replace(asked, work_item=str(work_item(asked.work_item, settings.github.host)))
    except NotUnderstood as fault:
        raise Stopped(str(fault)) from fault


def _in_session() -> bool:
    from sessions.seat.protocol import SOCKET_VARIABLE

    return bool(os.environ.get(SOCKET_VARIABLE))


def _from_seat(query: Query, limit: int) -> Sequence[Entry]:
    from eventlog.query import read_entry
    from service.cli.seat import ask_seat

    lines = ask_seat("events", {}).get("events", [])
    read = (read_entry(str(line).encode()) for line in lines)
    return [entry for entry in read if entry is not None and query.wants(entry)][-limit:]


def _show(entries: Sequence[Entry], form: str) -> None:
    from eventlog.output import as_json, as_jsonl, as_table

    match form:
        case "json":
            for piece in as_json(entries):
                click.echo(piece, nl=False)
        case "jsonl":
            for line in as_jsonl(entries):
                click.echo(line)
        case _:
            click.echo(as_table(entries, shutil.get_terminal_size((160, 24)).columns), nl=False)


def _follow(reader: LogReader, query: Query, limit: int, form: str) -> None:
    from eventlog.output import as_jsonl, as_rows

    pause = threading.Event()
    entries = reader.follow(query, lambda: not pause.wait(LOOK_S), limit)
    lines: Iterator[str] = as_jsonl(entries) if form == "jsonl" else as_rows(entries)
    try:
        for line in lines:
            click.echo(line)
    except KeyboardInterrupt:
        return


def _list_types(form: str) -> None:
    from eventlog.catalogue import EVENT_TYPES
    from eventlog.event import Level

    rows = [(name, Level(kind.level).name.lower(), kind.sentence) for name, kind in EVENT_TYPES.items()]
    if form == "table":
        width = max(len(name) for name, _, _ in rows)
        click.echo("\n".join(f"{name:<{width}}  {level:<7}  {sentence}" for name, level, sentence in rows))
        return
    listed = [{"event": name, "level": level, "true_when": sentence} for name, level, sentence in rows]
    click.echo(json.dumps(listed, indent=2) if form == "json" else "\n".join(map(json.dumps, listed)))
