"""What a method of the server works with: one request, and the parts of the server that it may look at and change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes.bot_api.chats import Chats
from tests.fakes.bot_api.files import Files
from tests.fakes.bot_api.gate import Clock
from tests.fakes.bot_api.parameters import Parameters
from tests.fakes.bot_api.polling import Polling
from tests.fakes.bot_api.transcripts import Ledger
from tests.fakes.bot_api.updates import UpdateQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a method, known to the ledger by its number; `is_gone` tells whether its client has hung up."""

    number: int
    parameters: Parameters
    is_gone: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one bot's server; whoever uses them holds the gate."""

    clock: Clock
    queue: UpdateQueue
    polling: Polling
    chats: Chats
    files: Files
    ledger: Ledger
