"""What came to the stand-in and what came of it: calls, polls and sends, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.bot_api.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a method, spelled as it came; `status` is None until its answer was written whole."""

    method: str
    values: Mapping[str, Any]
    at_s: float
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One getUpdates as it was asked; None for what was not said. `update_ids` are those of its answer."""

    offset: int | None
    limit: int | None
    timeout_s: int | None
    allowed_updates: tuple[str, ...] | None
    at_s: float
    status: int | None
    update_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """One message that arrived in a chat, whether or not its sender heard of it. `chat_id` is a number or @name."""

    method: str
    chat_id: int | str
    text: str
    message_id: int
    at_s: float
    thread_id: int | None = None
    is_answered: bool = False


class Ledger:
    """Keeps the transcripts; a call is known by the number that `begin` gave it."""

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}
        self._parameters: dict[int, Parameters] = {}
        self._updates: dict[int, tuple[int, ...]] = {}
        self._sends: list[tuple[int, Send]] = []
        self._counts: Counter[str] = Counter()
        self._next_number = 1

    def begin(self, method: str, parameters: Parameters, at_s: float) -> int:
        number = self._next_number
        self._next_number += 1
        self._counts[method.lower()] += 1
        uploads = {name: upload.name for name, upload in parameters.uploads.items()}
        self._calls[number] = Call(method=method, values={**parameters.values, **uploads}, at_s=at_s)
        self._parameters[number] = parameters
        return number

    def count(self, method: str) -> int:
        """How often a method was called; cheap however often that was."""
        return self._counts[method.lower()]

    def found(self, number: int, update_ids: tuple[int, ...]) -> None:
        self._updates[number] = update_ids

    def sent(self, number: int, send: Send) -> None:
        if number in self._calls:
            self._sends.append((number, send))

    def answered(self, number: int, status: int | None) -> None:
        """None takes it back: the last byte could not be written."""
        if number in self._calls:
            self._calls[number] = replace(self._calls[number], status=status)

    def forget(self) -> None:
        """Start anew; what is in flight is not kept either."""
        for kept in (self._calls, self._parameters, self._updates, self._sends, self._counts):
            kept.clear()

    def calls(self, method: str | None = None) -> list[Call]:
        return [call for call in self._calls.values() if method is None or call.method.lower() == method.lower()]

    def sends(self) -> list[Send]:
        return [replace(send, is_answered=self._calls[number].status is not None) for number, send in self._sends]

    def polls(self) -> list[Poll]:
        numbers = [number for number, call in self._calls.items() if call.method.lower() == "getupdates"]
        return [self._poll(number) for number in numbers]

    def _poll(self, number: int) -> Poll:
        call, parameters = self._calls[number], self._parameters[number]

        def said(name: str) -> int | None:
            return parameters.integer(name) if name in parameters.values else None

        kinds = parameters.structure("allowed_updates")
        return Poll(
            offset=said("offset"),
            limit=said("limit"),
            timeout_s=said("timeout"),
            allowed_updates=tuple(kinds) if isinstance(kinds, list) else None,
            at_s=call.at_s,
            status=call.status,
            update_ids=self._updates.get(number, ()),
        )
