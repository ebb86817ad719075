"""What a harness preset says of its agent: how it is run, what it may see, and how to tell that it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

COMMON_VARIABLES = (
    "HOME",
    "LANG",
    "LC_*",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*_HOME",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """An agent that speaks ACP over its standard streams."""

    name: str
    argv: tuple[str, ...]
    """The command, from settings and presets only."""
    variables: tuple[str, ...] = ()
    """Which of the operator's variables pass through besides the common ones; `*` stands for any ending."""
    remedy: str
    """What the operator does where the program is missing."""

    def missing(self, search_path: str | None = None) -> str | None:
        """Why the harness cannot run here, with the remedy; None where its program is found.

        `search_path` stands for the operator's PATH; None: this process's own.
        """
        if not self.argv:
            return f"the harness {self.name} has no command: {self.remedy}"
        if shutil.which(self.argv[0], path=search_path) is None:
            return f"the harness {self.name} needs the program {self.argv[0]}, which is not found: {self.remedy}"
        return None


def agent_environment(harness: Harness, operator: Mapping[str, str]) -> dict[str, str]:
    """The agent's environment out of the operator's: what the lists name and nothing else."""
    allowed = (*COMMON_VARIABLES, *harness.variables)
    return {name: value for name, value in operator.items() if any(fnmatchcase(name, entry) for entry in allowed)}
