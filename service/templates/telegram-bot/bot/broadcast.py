"""Sends one message to all who said /start, once each: `python -m bot.broadcast NAME TEXT`."""

import argparse
import asyncio
import os
import sys

from bot.settings import Settings, SettingsWrong, read
from bot.store import Store, StoreUnusable
from service.lifecycle.signals import STOP_SIGNALS
from telegrambot.broadcast.message import TextRefused, sender, text_message
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
from telegrambot.broadcast.report import Report, RunOutcome
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.calls import BotApi, EnvironmentUnusable, sending_client
from telegrambot.clock import SystemClock


def run() -> None:
    """The program; run again with the same name, it goes on where it ended."""
    arguments = _parser().parse_args()
    try:
        settings = read(os.environ)
        order = Order(
            name=arguments.name,
            directory=settings.state / "broadcasts",
            message=text_message(arguments.text),
            is_dry=arguments.dry_run,
            may_differ=arguments.force,
        )
        report = asyncio.run(send(settings, order))
    except (SettingsWrong, TextRefused, StoreUnusable, EnvironmentUnusable, BroadcastRefused, OSError) as fault:
        sys.exit(_in_a_sentence(fault))
    _tell(report)
    sys.exit(0 if report.outcome in (RunOutcome.FINISHED, RunOutcome.DRY_RUN) else 1)


async def send(settings: Settings, order: Order) -> Report:
    """Send until the end, or until a signal stops it between two sends.

    Raises BroadcastRefused, StoreUnusable and EnvironmentUnusable, where nothing was sent; and OSError, where what became of
    a recipient cannot be written down.
    """
    oversight = Oversight(observe=_tell)
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, oversight.stop.set)
    async with sending_client(trust_env=True) as client:
        send_to = sender(BotApi(settings.token, client, settings.api_url), order.message)
        return await broadcast(order, _subscribers(settings), send_to, SystemClock(), oversight)


def _subscribers(settings: Settings) -> list[int]:
    store = Store(settings.state)
    store.open_existing()
    try:
        return store.subscribers()
    finally:
        store.shut()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bot.broadcast", description=__doc__)
    parser.add_argument("name", help="of this broadcast; nobody gets two messages by one name")
    parser.add_argument("text")
    parser.add_argument("--dry-run", action="store_true", help="count, and send nothing")
    parser.add_argument("--force", action="store_true", help="go on with this name although it began with another text")
    return parser


def _in_a_sentence(fault: Exception) -> str:
    match fault:
        case BroadcastRefused(refusal=Refusal.CONTENT_CHANGED):
            return (
                "this name began with another text: take another, or add --force to send this one to all still to come"
            )
        case OSError():
            what = f"{fault.filename or 'a file'} cannot be used ({fault.strerror or fault})"
            return f"{what}: make room if the disk is full, and run this again: it goes on where it ended"
        case _:
            return str(fault)


def _tell(report: Report) -> None:
    halt = f" ({report.halt})" if report.halt else ""
    print(
        f"{report.name}: {report.outcome}{halt}, {report.delivered} of {report.total} delivered, {report.pending} to come, "
        f"{report.unreachable} unreachable, {report.failed} failed, {report.uncertain} uncertain",
        flush=True,
    )


if __name__ == "__main__":
    run()
