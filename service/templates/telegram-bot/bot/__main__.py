"""Runs the bot in the foreground until a signal, or until a part that it cannot do without has ended."""

import logging
import os
import sys
from collections.abc import Mapping

from bot.application import Bot
from bot.settings import Settings, SettingsWrong, read
from eventlog.handler import JournalHandler, quiet_http_clients
from eventlog.masking import secrets_of_environment
from service.clock import SystemClock
from service.lifecycle import foreground
from service.lifecycle.shutdown import exit_code
from service.lifecycle.startup import StartFailed
from telegrambot.calls import EnvironmentUnusable

log = logging.getLogger("bot")


def run() -> None:
    """The program."""
    keep_journal(os.environ)
    try:
        code = serve(read(os.environ))
    except (SettingsWrong, EnvironmentUnusable) as wrong:
        log.error("%s", wrong)
        code = 1
    sys.exit(code)


def keep_journal(environment: Mapping[str, str]) -> None:
    """From now on, all that anybody logs is a line of JSON on standard output, without the environment's secrets."""
    journal = JournalHandler("bot", secrets_of_environment(environment), sys.stdout)
    logging.basicConfig(level=logging.INFO, handlers=[journal], force=True)
    quiet_http_clients()


def serve(settings: Settings) -> int:
    """Run to the end, and return the exit code: 0 for an end that was asked for, clean and complete; else 1.

    Raises EnvironmentUnusable, before anything is begun.
    """
    clock = SystemClock()
    bot = Bot(settings, clock)

    def ready() -> None:
        log.info("the bot is ready")
        bot.tell_operator("The bot is up.")

    try:
        result = foreground.run(bot.application, clock, on_ready=ready)
    except StartFailed:
        return 1  # what failed has told the journal itself
    code = exit_code(result)
    log.info("the bot has ended", extra={"exit_code": code, "outcome": result.outcome})
    return code


if __name__ == "__main__":
    run()
