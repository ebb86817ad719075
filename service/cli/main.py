"""The entry point `the-loop`: finds the command that was named and loads nothing else."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

COMMANDS = {
    "init": "Write a settings file and a fresh webhook secret to begin with, or a project for a Telegram bot.",
    "doctor": "Look at settings, GitHub, the agent and this machine, and say what is missing.",
    "serve": "Run the service in the foreground.",
    "status": "Say how the service and its work items stand.",
    "explain": "Say what became of a comment, an event, a delivery or a work item, and why.",
    "events": "Show the event log.",
    "sessions": "See the work items, and start, stop, pause, resume or clean up one.",
    "telegram": "Look at the Telegram bot, find ids for its settings, write to many people once each.",
    "demo": "Show the main job on a stand-in GitHub, with nothing to set up.",
}
"""Every command and its line of help; its code is the file of that name in this folder."""

SEAT_COMMANDS = {
    "thread": "Show everything on your work item's threads.",
    "reply": "Post a message to the thread now.",
    "ask": "Post a question, and be woken by the answer.",
    "push": "Push your branch.",
    "pr": "Open a pull request from your branch.",
}
"""What agents run inside a session."""

TRACEBACK_VARIABLE = "THE_LOOP_TRACEBACK"
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Commands(click.Group):
    """Loads the file of a command when it is run or asked about, so that starting stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the tables."""
        return [*COMMANDS, *SEAT_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None where there is none."""
        if cmd_name in SEAT_COMMANDS:
            found = import_module("service.cli.seat").COMMANDS[cmd_name]
        elif cmd_name in COMMANDS:
            found = import_module(f"service.cli.{cmd_name}").command
        else:
            return None
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The tables, without loading any command."""
        for title, commands in (("Commands", COMMANDS), ("Inside a session", SEAT_COMMANDS)):
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def the_loop() -> None:
    """Comments on GitHub issues become work for coding agents."""


def main() -> None:
    """Run the command line and exit: 0 done, 1 not found or failed, 2 bad input or unavailable, 130 Ctrl-C. No traceback."""
    try:
        the_loop()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as fault:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        if isinstance(fault, OSError) and fault.errno in NO_ROOM:
            click.echo(f"the-loop: what it says cannot be written: {fault.strerror}", err=True)
            os._exit(2)  # the interpreter would try once more, and complain in its own words
        click.echo(
            f"the-loop: a fault of its own ({type(fault).__name__}: {fault}); "
            f"repeat it with {TRACEBACK_VARIABLE}=1 to see where, and report it",
            err=True,
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
