"""The harness shelf: one file for each preset, and one line for it in this table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sessions.harness import Harness
from sessions.harnesses.claude import claude
from sessions.harnesses.command import command

PRESETS: Mapping[str, Callable[[tuple[str, ...]], Harness]] = {
    "claude": claude,
    "command": command,
}
"""From a preset's name to what makes its harness of the operator's command (`sessions.command`; may be empty)."""
