"""What a service of the crash tests is set to: its roads and its agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = "octo/repo"
SECRET = "s3cret"
TOKEN = "tok"
CONVERSATIONS = "conversations"
DEMO_AGENT = (sys.executable, "-P", "-m", "service.demo.agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`agent`: its command; behind it stands where the agents of the harness `command` keep their conversations.
    `variables`: more of the service's environment, which its agents may see."""

    pushed: bool = True
    polled: bool = False
    harness: str = "command"
    agent: tuple[str, ...] = DEMO_AGENT
    variables: Mapping[str, str] = field(default_factory=dict)

    def text(self, folder: Path, api_url: str, port: int) -> str:
        """The settings file in this folder."""
        command = (*self.agent, str(folder / CONVERSATIONS)) if self.harness == "command" else self.agent
        return f"""\
name = "crash"
state_folder = "state"

[webhook]
enabled = {json.dumps(self.pushed)}
port = {port}
secrets = ["{SECRET}"]

[polling]
enabled = {json.dumps(self.polled)}
interval_s = 0.5

[github]
host = "{api_url.removeprefix("http://")}"
api_url = "{api_url}"
token = "{TOKEN}"
seconds_between_writes = 0

[[repositories]]
name = "{REPOSITORY}"

[routing]
authorized_users = ["ada"]

[sessions]
harness = "{self.harness}"
command = {json.dumps(command)}
pass_variables = {json.dumps(["DEMO_AGENT_*", *self.variables])}
"""
