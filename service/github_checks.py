"""What `the-loop doctor` asks GitHub: is it reachable, whose token is it, are the repositories there, do the clocks agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from domain.model import Account
from domain.ports import Missing, NoAnswer
from githubapi.failures import CallFailed
from service.checks import Finding, Verdict
from service.ports import Ports
from service.settings import RepositorySection, Settings

SKEW_MAX_MS = 60_000
"""Beyond it, what is asked for `since` a time of ours may miss something."""

WHAT_TO_DO = {
    "bad-credentials": "the token is not valid: make a new one",
    "unusable-token": "there is no usable token: set github.token_file",
    "forbidden": "the token may not do this: look at its permissions",
}


def github_findings(settings: Settings, ports: Ports, now_ms: int) -> Iterator[Finding]:
    """Asks with the settings' token; nothing is written. `now_ms` is our own time."""
    account = ports.items.me()
    if not isinstance(account, Account):
        said = WHAT_TO_DO.get(
            account.reason, f"no usable answer ({account.reason}): is the network, or a proxy, at fault?"
        )
        yield Finding(Verdict.FAIL, "github", f"{settings.github.root}: {said}")
        return
    yield Finding(Verdict.OK, "github", f"{settings.github.root} answers, and we post as {account.login}")
    yield from _clocks(ports, now_ms)
    for repository in settings.repositories:
        yield _repository(settings, ports, repository)
    if not settings.repositories:
        yield Finding(Verdict.WARN, "repository", "none is named in [[repositories]]: whatever is signed is taken")


def _clocks(ports: Ports, now_ms: int) -> Iterator[Finding]:
    try:
        theirs_ms = ports.github.read("/user").server_time_ms
    except CallFailed:
        return
    if theirs_ms is None:
        return
    skew_ms = now_ms - theirs_ms
    if abs(skew_ms) > SKEW_MAX_MS:
        said = f"this machine's clock is {skew_ms / 1000:+.0f} s away from GitHub's: set it, or let NTP set it"
        yield Finding(Verdict.WARN, "clock", said)
    else:
        yield Finding(Verdict.OK, "clock", f"within {SKEW_MAX_MS // 1000} s of GitHub's")


def _repository(settings: Settings, ports: Ports, section: RepositorySection) -> Finding:
    name = section.name
    found = ports.items.repository(name)
    match found:
        case Missing():
            return Finding(Verdict.FAIL, "repository", f"{name} does not exist, or the token may not see it")
        case NoAnswer(reason=reason):
            return Finding(
                Verdict.FAIL, "repository", f"{name}: {WHAT_TO_DO.get(reason, f'no usable answer ({reason})')}"
            )
    path = settings.path(section.path) if section.path else None
    if path is not None and not is_repository(path):
        return Finding(Verdict.FAIL, "repository", f"{name}: {path} is no git repository")
    return Finding(
        Verdict.OK, "repository", f"{name}, branch {found.default_branch}{f', cloned from {path}' if path else ''}"
    )


def is_repository(path: Path) -> bool:
    """Whether a folder is a git repository, bare or with a working tree."""
    return (path / "HEAD").is_file() or (path / ".git").exists()
