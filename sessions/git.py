"""The one door to git: a closed environment, a deadline and bounded output."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import IO, Final
from urllib.parse import urlsplit

from sessions.git_faults import DETAIL_CHARACTERS_MAX, GitFailed, GitFault, fault_of, redacted

ENVIRONMENT_ALLOWED: Final = frozenset(
    {"PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "HTTPS_PROXY"}
    | {"all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}
)
"""What a git of ours inherits of the surroundings; everything else is left behind."""

_ENVIRONMENT_FIXED: Final = {
    "HOME": "/dev/null",
    "LC_ALL": "C",
    "LANG": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": "false",
    "GIT_OPTIONAL_LOCKS": "0",
    # A partial clone would ask its own idea of a remote for what it lacks, by a command of its own choosing.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}

_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.askPass=",
    "credential.helper=",
    "protocol.ext.allow=never",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "push.recurseSubmodules=no",
    "advice.detachedHead=false",
    # Housekeeping ends before the call does, for the lock that guards the repository ends with the call.
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    # A dead network ends by itself, also where the service that set the deadline was killed.
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
)

_POLL_S: Final = 0.05
_TERMINATE_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where a repository comes from: an http(s) address, or the absolute path of a local one.

    `token` travels in the environment of one call only, to this address's host only; it is in no argv and on no disk.
    ValueError for an address with credentials inside, of another scheme, or with control characters.
    """

    address: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        is_path = self.address.startswith("/")
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname)
        if not (is_path or is_url) or not self.address.isprintable():
            raise ValueError("a repository's address is an http(s) URL or an absolute path")
        if is_url and "@" in parts.netloc:
            raise ValueError("credentials do not belong in a repository's address")

    @property
    def protocol(self) -> str:
        """The one protocol that git may speak to it."""
        return "file" if self.address.startswith("/") else urlsplit(self.address).scheme

    def environment(self) -> dict[str, str]:
        """The environment that carries the token; empty where there is none."""
        if self.token is None or self.protocol == "file":
            return {}
        parts = urlsplit(self.address)
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {_basic(self.token)}",
        }

    def secrets(self) -> tuple[str, ...]:
        """What must not be repeated in any text."""
        return () if self.token is None else (self.token, _basic(self.token))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where a call works and what holds it.

    `git_dir` None is for the calls that make a repository. `held` are locks' file descriptors: git inherits them, so
    that a lock ends only when the last git under it has ended, even when the service was killed. Setting `cancelled`
    ends the call. `settings` are further `name=value` pairs of git's configuration.
    """

    git_dir: Path | None = None
    work_tree: Path | None = None
    held: tuple[int, ...] = ()
    cancelled: Event | None = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git. `deadline_s` bounds each call; of `environment` only the allowed names are passed on."""

    deadline_s: float
    environment: Mapping[str, str]
    output_bytes_max: int = 32 * 1024 * 1024

    def run(self, scope: Scope, *arguments: str, remote: Remote | None = None, stdin: bytes = b"") -> bytes:
        """Standard output of one call. Without `remote` git may speak to local paths only. Raises GitFailed."""
        secrets = () if remote is None else remote.secrets()
        try:
            status, output, errors = self._talk(scope, self._argv(scope, arguments), self._environ(remote), stdin)
        except OSError as error:
            raise GitFailed(fault_of(str(error)), f"git could not be run: {error.strerror}") from error
        if status == 0:
            return output
        text = (errors + b"\n" + output[:DETAIL_CHARACTERS_MAX]).decode("utf-8", "replace")
        raise GitFailed(fault_of(text), f"git {arguments[0]}: {redacted(text, secrets)}")

    def text(self, scope: Scope, *arguments: str, stdin: bytes = b"") -> str:
        """Standard output of a local call as one stripped text; bytes that are not UTF-8 are replaced."""
        return self.run(scope, *arguments, stdin=stdin).decode("utf-8", "replace").strip()

    def _argv(self, scope: Scope, arguments: Sequence[str]) -> list[str]:
        argv = ["git"]
        for setting in (*_SETTINGS, *scope.settings):
            argv += ["-c", setting]
        if scope.git_dir is not None:
            argv.append(f"--git-dir={scope.git_dir}")
        if scope.work_tree is not None:
            argv.append(f"--work-tree={scope.work_tree}")
        return [*argv, *arguments]

    def _environ(self, remote: Remote | None) -> dict[str, str]:
        inherited = {name: text for name, text in self.environment.items() if name in ENVIRONMENT_ALLOWED}
        protocol = "file" if remote is None else remote.protocol
        credentials = {} if remote is None else remote.environment()
        return inherited | _ENVIRONMENT_FIXED | {"GIT_ALLOW_PROTOCOL": protocol} | credentials

    def _talk(self, scope: Scope, argv: list[str], environ: dict[str, str], stdin: bytes) -> tuple[int, bytes, bytes]:
        until = time.monotonic() + self.deadline_s
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            process = subprocess.Popen(
                argv,
                stdin=source if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=scope.work_tree or scope.git_dir or "/",
                env=environ,
                pass_fds=scope.held,
                start_new_session=True,
            )
        with process:
            try:
                output, errors = self._drain(process, until, scope.cancelled)
                return process.wait(max(0.0, until - time.monotonic())), output, errors
            except subprocess.TimeoutExpired as error:
                _end_group(process)
                raise GitFailed(GitFault.TIMEOUT, f"git did not end within {self.deadline_s:g} s") from error
            except BaseException:
                _end_group(process)
                raise

    def _drain(self, process: subprocess.Popen[bytes], until: float, cancelled: Event | None) -> tuple[bytes, bytes]:
        """Read both streams to their end, as long as nothing says to stop."""
        output, errors = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(_stream(process.stdout), selectors.EVENT_READ, output)
            selector.register(_stream(process.stderr), selectors.EVENT_READ, errors)
            while selector.get_map():
                self._check(until, cancelled, len(output) + len(errors))
                for key, _ in selector.select(_POLL_S):
                    chunk = os.read(key.fd, 65536)
                    key.data.extend(chunk)
                    if not chunk:
                        selector.unregister(key.fileobj)
        return bytes(output), bytes(errors)

    def _check(self, until: float, cancelled: Event | None, taken_bytes: int) -> None:
        if cancelled is not None and cancelled.is_set():
            raise GitFailed(GitFault.CANCELLED, "git was ended because the work was called off")
        if time.monotonic() > until:
            raise GitFailed(GitFault.TIMEOUT, f"git did not end within {self.deadline_s:g} s")
        if taken_bytes > self.output_bytes_max:
            raise GitFailed(GitFault.TOO_MUCH_OUTPUT, f"git wrote more than {self.output_bytes_max} bytes")


def item_branch(number: int) -> str:
    """The branch that belongs to the issue or pull request of that number."""
    return f"the-loop/{number}"


def is_branch_name(name: str) -> bool:
    """Whether git would take the name for a branch; stricter than git in that no part may look like an option."""
    parts = name.split("/")
    return (
        0 < len(name.encode("utf-8", "surrogatepass")) <= 200
        and name != "@"
        and not name.endswith(".")
        and not any(bad in name for bad in ("..", "@{"))
        and not re.search(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]", name)
        and all(part and not part.startswith((".", "-")) and not part.endswith(".lock") for part in parts)
    )


def plain_folder(folder: Path) -> Path:
    """The folder, fit to be named in git's files and on its command line. ValueError where it is not."""
    if not folder.is_absolute() or not str(folder).isprintable():
        raise ValueError("a folder for repositories is an absolute path of printable characters")
    return folder


def _basic(token: str) -> str:
    return b64encode(f"x-access-token:{token}".encode()).decode()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("both streams are pipes")
    return stream


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End git and its children: first asked, so that it takes its own lock files away, then made to.

    The leader is not reaped before the last signal, for until then nobody else can bear its group's number.
    """
    if process.returncode is not None:
        return
    _signal_group(process.pid, signal.SIGTERM)
    until = time.monotonic() + _TERMINATE_S
    while time.monotonic() < until and os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        time.sleep(0.01)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    if group > 1:
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return
