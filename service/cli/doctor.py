"""`the-loop doctor`: looks at everything that has to be right, and says what to do where it is not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.common import config_option, json_option, settings_of

if TYPE_CHECKING:
    from service.checks import Finding
    from service.settings import Settings

GIT_S = 10.0
MARKS = {"ok": "ok  ", "warn": "WARN", "fail": "FAIL"}


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Ask GitHub nothing.")
@json_option
@config_option
def command(offline: bool, as_json: bool, config: Path | None) -> None:
    """Look at the settings, GitHub, the agent, git, the disk and the clocks, and say what to do where one is wrong.

    Changes nothing. Exits with 1 where the service could not do its work, with 2 where the settings cannot be read.
    """
    show(_findings(settings_of(config), offline), as_json)


def show(findings: Iterable[Finding], as_json: bool) -> None:
    """Print what was found, as it is found, and exit with 1 where something fails."""
    from service.telling import harmless

    shown = []
    for finding in findings:
        shown.append(finding)
        if not as_json:
            click.echo(f"{MARKS[finding.verdict]}  {finding.about:<11}{harmless(finding.said)}")
    if as_json:
        listed = [{"verdict": each.verdict, "about": each.about, "said": each.said} for each in shown]
        click.echo(json.dumps(listed, indent=2))
    if any(finding.verdict == "fail" for finding in shown):
        raise SystemExit(1)


def _findings(settings: Settings, offline: bool) -> Iterator[Finding]:
    from service.checks import Finding, Verdict, git_finding, local_findings
    from service.clock import SystemClock
    from service.ports import make_ports
    from service.state_folder import StateFolder

    state = StateFolder(settings.state)
    yield from local_findings(settings, state)
    yield git_finding(_git_version())
    ports = make_ports(settings, state)
    missing = ports.harness.missing()
    yield (
        Finding(Verdict.FAIL, "agent", missing) if missing else Finding(Verdict.OK, "agent", settings.sessions.harness)
    )
    if not offline and _has_token(settings):
        from service.github_checks import github_findings

        yield from github_findings(settings, ports, SystemClock().wall_ms())
    if settings.telegram.enabled and not offline:
        from service.telegram.checks import telegram_findings

        yield from telegram_findings(settings)


def _git_version() -> str | None:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=GIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _has_token(settings: Settings) -> bool:
    from service.settings import SettingsRefused

    try:
        return bool(settings.token())
    except SettingsRefused:
        return False
