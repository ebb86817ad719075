"""The demo's stage: one folder, a stand-in GitHub and a service, each a process of its own that ends with the story."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from service.demo import setting
from service.demo.child import Child
from service.demo.github.door import RemoteStandIn
from service.demo.leftovers import end_sessions
from service.demo.patience import Patience
from service.demo.setting import BOT, BOT_TOKEN, LABEL, OWNER, REPOSITORY, STRANGER, WEBHOOK_SECRET, Mode
from service.ports import command_folder
from service.settings import FILE_NAME
from service.state_folder import StateFolder
from sessions.tree_removal import remove_tree

START_S = 15.0
COMMAND_S = 20.0


class StageFault(Exception):
    """Something the story needs cannot be set up; the text says what, and what it said itself."""


class Stage:
    """Everything that runs. `end` is to be called whatever happened; nothing that is not ours is ended by it."""

    def __init__(self, folder: Path, mode: Mode, patience: Patience, *, outlives_us: bool) -> None:
        """`outlives_us`: the stand-in goes on when this process ends without having ended it."""
        self.folder = folder
        self.mode = mode
        self.config = folder / FILE_NAME
        self.state = StateFolder(folder / "state")
        self.service: Child | None = None
        self.github: Child | None = None
        self.address = ""
        """Where the stand-in listens."""
        self.webhook_port = 0
        self.thread_number = 0
        self._patience = patience
        self._outlives_us = outlives_us
        self._environment = setting.environment()
        self._door: RemoteStandIn | None = None

    @property
    def thread_url(self) -> str:
        """The address of the work item's thread, as people see it."""
        return f"{self.address}/{REPOSITORY}/issues/{self.thread_number}"

    def set_up(self) -> None:
        """Start GitHub, with its people, a repository and a labelled issue, and write the service's settings."""
        self._start_github()
        self.act("add_account", login=OWNER)
        self.act("add_account", login=STRANGER)
        self.act("add_account", login=BOT, token=BOT_TOKEN)
        self.act("add_repository", repo=REPOSITORY)
        for login in (OWNER, BOT):
            self.act("set_permission", repo=REPOSITORY, login=login, permission="write")
        issue = self.act(
            "open_issue",
            as_login=OWNER,
            repo=REPOSITORY,
            title="parse() fails on an empty list",
            body="It raises IndexError. It should return an empty result.",
            labels=[LABEL],
        )
        self.thread_number = _number(issue, "number")
        self.webhook_port = _free_port()
        text = setting.settings_text(self.folder, self.address, self.webhook_port, self.mode)
        self.config.write_text(text, "utf-8")

    def start_service(self) -> int:
        """Start `the-loop serve`; returns its pid, while it is still starting."""
        argv = [str(command_folder() / "the-loop"), "serve", "--config", str(self.config)]
        self.service = Child(argv, self.folder / "service.log", self._environment)
        return self.service.pid

    def point_webhook_at_service(self) -> None:
        """Do what the owner of a repository does in its settings."""
        url = f"http://127.0.0.1:{self.webhook_port}/webhook/github"
        self.act("add_hook", repo=REPOSITORY, url=url, secret=WEBHOOK_SECRET)

    def kill_service(self) -> None:
        """SIGKILL: nothing of it can be put in order before it ends."""
        if self.service is not None:
            self.service.kill()

    def act(self, verb: str, **arguments: object) -> object:
        """Do something on GitHub, or ask it something; see `People`."""
        if self._door is None:
            raise StageFault("GitHub has not been started")
        return self._door.act(verb, **arguments)

    def comments(self) -> list[dict[str, object]]:
        """What stands on the thread, oldest first."""
        listed = self.act("comments", repo=REPOSITORY, number=self.thread_number)
        return [comment for comment in _list(listed) if isinstance(comment, dict)]

    def account_id(self, login: str) -> int:
        """The number of an account."""
        return _number(self.act("add_account", login=login), "id")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of `the-loop` to its end, as a person at this machine would. Raises StageFault when it hangs."""
        argv = [str(command_folder() / "the-loop"), *arguments, "--config", str(self.config)]
        try:
            return subprocess.run(
                argv,
                capture_output=True,
                text=True,
                timeout=COMMAND_S,
                env=self._environment,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as hung:
            raise StageFault(f"{' '.join(argv)} did not end within {COMMAND_S:g} s") from hung

    def end(self) -> None:
        """End the service, its sessions and GitHub. Safe to repeat."""
        if self.service is not None:
            self.service.end()
        end_sessions(self.state)
        if self._door is not None:
            self._door.close()
        if self.github is not None:
            self.github.end()
        shutil.rmtree(self.state.sockets, ignore_errors=True)

    def clear(self) -> None:
        """Remove the folder."""
        remove_tree(self.folder)

    def _start_github(self) -> None:
        argv = [sys.executable, "-P", "-m", "service.demo.github", "--folder", str(self.folder / "github")]
        parental = [] if self._outlives_us else ["--with-parent"]
        github = Child(
            [*argv, *parental], self.folder / "github.log", self._environment, dies_with_us=not self._outlives_us
        )
        self.github = github
        line = self._patience.wait(lambda: github.first_line() or _ended(github), START_S)
        try:
            said: Mapping[str, object] = json.loads(line or "")
            self.address = str(said["address"])
        except (ValueError, KeyError) as fault:
            raise StageFault(f"the stand-in GitHub did not start; it said:\n{github.last_lines()}") from fault
        self._door = RemoteStandIn(self.address)


def _ended(child: Child) -> str | None:
    return None if child.is_running() else "it ended"


def _free_port() -> int:
    """A port that is free now: the service keeps it over its restart, so that the webhook's address stays."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _number(answer: object, key: str) -> int:
    return int(answer[key]) if isinstance(answer, dict) else 0


def _list(answer: object) -> list[object]:
    return answer if isinstance(answer, list) else []
