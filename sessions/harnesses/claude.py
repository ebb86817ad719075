"""The preset `claude`: Claude Code through its ACP adapter."""

from __future__ import annotations

from sessions.harness import Harness

PROGRAM = "claude-agent-acp"
PACKAGE = "@agentclientprotocol/claude-agent-acp"


def claude(command: tuple[str, ...]) -> Harness:
    """The adapter as the operator's command names it, or found in PATH."""
    return Harness(
        name="claude",
        argv=command or (PROGRAM,),
        variables=("ANTHROPIC_*", "CLAUDE_*", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
        remedy=f"npm install --global {PACKAGE}, or name it in sessions.command",
    )
