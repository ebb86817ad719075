"""Whose account we post with: asked of GitHub until it is known, and remembered for starts without a network."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from domain.model import Account
from domain.ports import ItemPort
from statedb.committer import Committer
from statedb.facts import keep_fact

ASK_AGAIN_S = 30.0

log = logging.getLogger(__name__)


class Identity:
    """The numeric id of our own account by host. `run` is the body of a thread that ends once it is known."""

    def __init__(self, host: str, items: ItemPort, committer: Committer[Any, Any], remembered: str | None) -> None:
        self._host = host
        self._items = items
        self._committer = committer
        self._stopping = threading.Event()
        self.accounts: dict[str, int] = {host: int(json.loads(remembered)["id"])} if remembered else {}

    def run(self) -> None:
        """Ask, again and again while there is no answer; then wait for the end. Each reason for none is said once."""
        said = ""
        while not self._stopping.is_set():
            answer = self._items.me()
            if isinstance(answer, Account):
                self._keep(answer)
                break
            if answer.reason != said:
                said = answer.reason
                log.warning("GitHub does not say whose token this is (%s): `the-loop doctor` tells more", answer.reason)
            self._stopping.wait(ASK_AGAIN_S)
        self._stopping.wait()

    def stop(self) -> None:
        """Let `run` end."""
        self._stopping.set()

    def _keep(self, account: Account) -> None:
        self.accounts[self._host] = account.id
        said = json.dumps({"login": account.login, "id": account.id})
        self._committer.write(lambda c: keep_fact(c, "account", said))
