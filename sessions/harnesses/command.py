"""The preset `command`: any program that speaks ACP, as the operator's settings name it."""

from __future__ import annotations

from sessions.harness import Harness


def command(argv: tuple[str, ...]) -> Harness:
    """The operator's own command; it sees the common variables only."""
    return Harness(name="command", argv=argv, remedy="name an agent that speaks ACP in sessions.command")
