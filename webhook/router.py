"""The first look at an event: is it for us, and do we know it already?"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cachetools import LRUCache

from domain.control import Verb
from domain.model import Account, Change, Event, EventKey, Fact, PassReason
from domain.policy import Authorities

DEDUP_CACHE_SIZE = 10_000


class Deduper:
    """What the service lately saw: event key → outcome, empty while the event is in play.

    A bounded fast path in front of the store, which alone decides what is known; the outcome shares the entry of its
    mark, so neither can outlive the other. Safe to use from any thread.
    """

    def __init__(self, size: int = DEDUP_CACHE_SIZE) -> None:
        self._outcomes: LRUCache[str, str] = LRUCache(maxsize=size)
        self._lock = threading.Lock()

    def add(self, event_key: str, outcome: str = "") -> None:
        """Mark an event as seen. Repeating it refreshes its place and replaces its outcome."""
        with self._lock:
            self._outcomes[event_key] = outcome

    def mark_settled(self, event_key: str, outcome: str) -> None:
        """Keep the mark, and say why nothing more will come of it. Marks an event that was not marked."""
        self.add(event_key, outcome)

    def outcome(self, event_key: str) -> str:
        """Why the event is finished with; empty while it is in play, and for an event that is not marked."""
        with self._lock:
            return self._outcomes.get(event_key, "")

    def discard(self, event_key: str) -> None:
        """Release the mark, so that a new arrival may claim the event. Safe to repeat."""
        with self._lock:
            self._outcomes.pop(event_key, None)

    def adopt(self, seen: Iterable[tuple[EventKey, str]]) -> None:
        """Take over what the store knows, the earliest seen first, so that the bound keeps the newest."""
        for event_key, outcome in seen:
            self.add(event_key, outcome)

    def __contains__(self, event_key: object) -> bool:
        with self._lock:
            return self._outcomes.get(event_key) is not None  # type: ignore[call-overload]

    def __len__(self) -> int:
        with self._lock:
            return len(self._outcomes)


@dataclass(frozen=True, slots=True)
class Routed:
    """It concerns a work item, and whoever wrote it may speak: the Dispatcher decides."""

    event: Event
    is_known: bool
    """The Deduper has seen it: it is recorded as an arrival, and nothing is decided anew."""


@dataclass(frozen=True, slots=True)
class Passed:
    """It is not an event for us, and leaves no row."""

    reason: PassReason


class Router:
    """Lets through what authorised people write, and the facts that need nobody's right."""

    def __init__(
        self,
        deduper: Deduper,
        authorities: Authorities,
        repositories: frozenset[str],
        own_accounts: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`repositories` are the names (owner/repo, lower case) that we watch; empty: whatever is signed.

        `own_accounts`: host → the id of the account that we post as; what it writes may be a receipt of ours.
        """
        self._own_accounts = own_accounts
        self._deduper = deduper
        self._authorities = authorities
        self._repositories = repositories

    def route(self, event: Event) -> Routed | Passed:
        """Let an event through, or say why not. Strangers' texts end here: they can make nothing grow."""
        if self._repositories and event.label.repository.lower() not in self._repositories:
            return Passed(PassReason.NOT_FOR_US)
        needs_right = event.fact not in (Fact.CLOSURE, Fact.SNAPSHOT)
        if needs_right and not self._is_ours(event) and not self._authorities.may(event.actor):
            return Passed(PassReason.UNAUTHORIZED_ACTOR)
        return Routed(event, event.key is not None and event.key in self._deduper)

    def _is_ours(self, event: Event) -> bool:
        own_id = self._own_accounts.get(event.thread.host)
        return own_id is not None and isinstance(event.actor, Account) and event.actor.id == own_id


def first_pin(event: Event, authorities: Authorities) -> Account | None:
    """The account whose numeric id is seen for the first time under a listed login; from now on the id counts."""
    actor = event.actor
    if not isinstance(actor, Account) or event.change is Change.DELETED:
        return None
    login = actor.login.lower()
    if login in authorities.logins and login not in authorities.pinned and authorities.may(actor):
        return actor
    return None


def verbs_of(event: Event) -> tuple[Verb, ...]:
    """The commands that the text holds."""
    return tuple(command.verb for command in event.reading.commands) if event.reading else ()
