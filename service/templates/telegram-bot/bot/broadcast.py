"""Sends one message to all who said /start, once each: `python -m bot.broadcast NAME TEXT`."""

import argparse
import asyncio
import os
import sys

from bot.settings import Settings, SettingsWrong, read
from bot.store import Store
from service.lifecycle.signals import STOP_SIGNALS
from telegrambot.broadcast.message import Message, sender
from telegrambot.broadcast.refusals import BroadcastRefused
from telegrambot.broadcast.report import Report, RunOutcome
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.calls import BotApi, sending_client
from telegrambot.clock import SystemClock


def run() -> None:
    """The program; run again with the same name, it goes on where it ended."""
    arguments = _parser().parse_args()
    try:
        report = asyncio.run(send(read(os.environ), arguments.name, arguments.text, is_dry=arguments.dry_run))
    except (SettingsWrong, BroadcastRefused) as fault:
        sys.exit(str(fault))
    _tell(report)
    sys.exit(0 if report.outcome in (RunOutcome.FINISHED, RunOutcome.DRY_RUN) else 1)


async def send(settings: Settings, name: str, text: str, *, is_dry: bool = False) -> Report:
    """Send until the end, or until a signal stops it between two sends. Raises BroadcastRefused."""
    message = Message("sendMessage", {"text": text})
    order = Order(name=name, directory=settings.state / "broadcasts", message=message, is_dry=is_dry)
    oversight = Oversight(observe=_tell)
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, oversight.stop.set)
    async with sending_client(trust_env=True) as client:
        send_to = sender(BotApi(settings.token, client, settings.api_url), message)
        return await broadcast(order, _subscribers(settings), send_to, SystemClock(), oversight)


def _subscribers(settings: Settings) -> list[int]:
    store = Store(settings.state / "bot.db")
    store.open()
    try:
        return store.subscribers()
    finally:
        store.shut()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bot.broadcast", description=__doc__)
    parser.add_argument("name", help="of this broadcast; nobody gets two messages by one name")
    parser.add_argument("text")
    parser.add_argument("--dry-run", action="store_true", help="count, and send nothing")
    return parser


def _tell(report: Report) -> None:
    halt = f" ({report.halt})" if report.halt else ""
    print(
        f"{report.name}: {report.outcome}{halt}, {report.delivered} of {report.total} delivered, {report.pending} to come, "
        f"{report.unreachable} unreachable, {report.failed} failed, {report.uncertain} uncertain",
        flush=True,
    )


if __name__ == "__main__":
    run()
