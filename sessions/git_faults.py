"""What can go wrong with git, told from its own words, and those words made fit to be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

DETAIL_CHARACTERS_MAX: Final = 2000
"""How much of git's words a fault keeps."""


class GitFault(StrEnum):
    """What went wrong."""

    TIMEOUT = "timeout"
    """The deadline passed; git and its children were ended."""
    CANCELLED = "cancelled"
    """The caller changed his mind; git and its children were ended."""
    BUSY = "busy"
    """Another git works on the same repository and did not end before the deadline."""
    AUTHENTICATION = "authentication"
    """The remote wants other credentials, or does not give these what was asked."""
    NOT_FOUND = "not-found"
    """There is no such repository or no such ref."""
    UNREACHABLE = "unreachable"
    """The remote did not answer."""
    EMPTY_REPOSITORY = "empty-repository"
    """The remote has no branch at all."""
    DEFAULT_BRANCH_MISSING = "default-branch-missing"
    """The remote has branches, and its HEAD points to none of them."""
    DISK_FULL = "disk-full"
    """There is no space left, here or at the remote."""
    REJECTED = "rejected"
    """The remote's branch has commits that are not in ours (non-fast-forward)."""
    REFUSED = "refused"
    """The remote declined the push: protection, a hook, a missing permission."""
    CLONE_CHANGED = "clone-changed"
    """The clone is not what we made: its git directory is gone, replaced, or points outside."""
    TOO_MUCH_OUTPUT = "too-much-output"
    """Git wrote more than we take; it was ended."""
    OTHER = "other"
    """None of these; the detail holds git's own words."""


class GitFailed(Exception):
    """A call of git, or what stands around it, failed; `fault` names how and `detail` is fit for an operator's eyes."""

    def __init__(self, fault: GitFault, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail


def fault_of(text: str) -> GitFault:
    """The first fault whose signs stand in git's, or the system's, untranslated words."""
    return next((fault for fault, sign in _SIGNS if re.search(sign, text, re.IGNORECASE)), GitFault.OTHER)


def redacted(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without the secrets, without anything shaped like a credential or a control character, and cut."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    for pattern, replacement in _CREDENTIALS:
        text = pattern.sub(replacement, text)
    lines = (line.rsplit("\r", 1)[-1].strip() for line in text.replace("\r\n", "\n").split("\n"))
    printable = ("".join(sign if sign.isprintable() else "�" for sign in line) for line in lines)
    return "\n".join(filter(None, printable))[:DETAIL_CHARACTERS_MAX]


_CREDENTIALS: Final = (
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@]+@"), r"\1***@"),
    (re.compile(r"(?i)(authorization:\s*)(?:\w+\s+)?\S+"), r"\1***"),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_)\w+"), "***"),
)

_SIGNS: Final = (
    (GitFault.DISK_FULL, r"no space left|disk quota exceeded|disk full"),
    (GitFault.AUTHENTICATION, r"authentication failed|could not read (username|password)|terminal prompts disabled"),
    (GitFault.AUTHENTICATION, r"returned error: 40[13]|write access to repository not granted|invalid credentials"),
    (GitFault.REJECTED, r"non-fast-forward|\(fetch first\)|\(stale info\)"),
    (GitFault.REFUSED, r"remote rejected|pre-receive hook declined"),
    (GitFault.NOT_FOUND, r"returned error: 404|repository .{0,400}(not found|does not exist)"),
    (GitFault.NOT_FOUND, r"not appear to be a git repository|couldn't find remote ref"),
    (
        GitFault.UNREACHABLE,
        r"could not resolve|failed to connect|connection (refused|reset|timed out)|unable to access",
    ),
    (GitFault.UNREACHABLE, r"early eof|the remote end hung up|operation too slow|network is unreachable"),
)
