"""Where the demo's story takes place: names, the settings file, and the environment of its processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

OWNER = "ada"
STRANGER = "mallory"
BOT = "loop-bot"
BOT_TOKEN = "demo-token"  # noqa: S105 - opens nothing but the stand-in
WEBHOOK_SECRET = "demo-secret"  # noqa: S105 - signs nothing but the stand-in's webhooks
REPOSITORY = "acme/parser"
LABEL = "the-loop"
STEP_OF_SLOW_WORK_S = "0.4"
"""Eight of them make a turn long enough to be killed in its middle."""
NOT_PASSED_ON = ("THE_LOOP_", "GIT_", "DEMO_AGENT_")
"""Variables that would make this story another one on another machine."""


class Mode(StrEnum):
    """The road by which comments come."""

    WEBHOOK = "webhook"
    POLL = "poll"


def settings_text(folder: Path, api_url: str, port: int, mode: Mode) -> str:
    """The settings file in the demo's folder: what a real one holds, with a stand-in's addresses and pauses for the
    impatient. It needs nothing of our environment, so that whoever keeps it can serve it again."""
    pushed = mode is Mode.WEBHOOK
    return f"""\
name = "demo"
state_folder = "state"

[github]
host = {_text(api_url.removeprefix("http://"))}
api_url = {_text(api_url)}
token = {_text(BOT_TOKEN)}
seconds_between_writes = 0

[[repositories]]
name = {_text(REPOSITORY)}

[webhook]
enabled = {_text(pushed)}
port = {port}
secrets = [{_text(WEBHOOK_SECRET)}]

[polling]
enabled = {_text(not pushed)}
interval_s = 1

[routing]
authorized_users = [{_text(OWNER)}]
label = {_text(LABEL)}

[sessions]
harness = "command"
command = [{_text(sys.executable)}, "-P", "-m", "service.demo.agent", {_text(str(folder / "conversations"))}]
pass_variables = ["DEMO_AGENT_*"]
"""


def environment(ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the demo's processes: ours (None: this process's) without settings and proxies."""
    kept = {
        name: value
        for name, value in (os.environ if ours is None else ours).items()
        if not name.startswith(NOT_PASSED_ON) and not name.lower().endswith("_proxy")
    }
    return kept | {"DEMO_AGENT_STEP_S": STEP_OF_SLOW_WORK_S}


def _text(value: str | bool) -> str:
    """A value as TOML writes it, which for these is as JSON does."""
    return json.dumps(value, ensure_ascii=False)
