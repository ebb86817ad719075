"""The service's outside: everything that leaves the process, made from the settings or put in place of it by a test."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from domain.ports import ItemPort, PullPort, ThreadPort
from githubapi.door import GitHub
from githubapi.items import GitHubItems
from githubapi.pulls import GitHubPulls
from githubapi.threads import GitHubThreads
from service.repositories import Remotes
from service.settings import Settings
from service.state_folder import StateFolder
from sessions.harnesses import PRESETS
from sessions.host.spec import HostTimes
from sessions.hosted import HostedHarness
from sessions.port import Harness


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What the service asks, tells and starts outside of itself."""

    github: GitHub
    items: ItemPort
    threads: ThreadPort
    pulls: PullPort
    remotes: Remotes
    harness: Harness


def make_ports(settings: Settings, state: StateFolder, environment: Mapping[str, str] | None = None) -> Ports:
    """The real outside. `environment` is the operator's; None: this process's."""
    github = GitHub(
        settings.github.host,
        settings.github.root,
        settings.token,
        seconds_between_writes=settings.github.seconds_between_writes,
    )
    items = GitHubItems(github)
    paths = {r.name.lower(): settings.path(r.path) for r in settings.repositories if r.path is not None}
    return Ports(
        github=github,
        items=items,
        threads=GitHubThreads(github, items),
        pulls=GitHubPulls(github),
        remotes=Remotes(items, paths, settings.token),
        harness=make_harness(settings, state, os.environ if environment is None else environment),
    )


def make_harness(settings: Settings, state: StateFolder, environment: Mapping[str, str]) -> HostedHarness:
    """The operator's choice of agent."""
    sessions = settings.sessions
    preset = PRESETS[sessions.harness](sessions.command)
    return HostedHarness(
        preset=replace(preset, variables=(*preset.variables, *sessions.pass_variables)),
        instance=settings.name,
        socket_folder=state.sockets,
        lock_folder=state.locks,
        operator_environment=environment,
        command_prefix=sessions.command_prefix,
        permissions=sessions.permissions,
        allow_commands=sessions.allow_commands,
        times=HostTimes(idle_s=sessions.idle_s),
    )


SEAT_SOCKET = "agent.sock"
CONTROL_SOCKET = "control.sock"


def command_folder() -> Path:
    """Where the `the-loop` command lies, so that an agent finds it."""
    return Path(sys.executable).parent
