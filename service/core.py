"""What stands before any thread runs: the store, what this instance is, and the one dispatch path."""

from __future__ import annotations

from dataclasses import dataclass

from replies.publisher import Publisher
from replies.record import Recorder
from service.identity import Identity
from statedb.committer import Committer
from statedb.database import Database
from webhook.dispatcher import Dispatcher
from webhook.handled import Handled, Submission
from webhook.lanes import Lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What stands before any thread runs: the store, what this instance is, and the one dispatch path."""

    database: Database
    committer: Committer[Submission, Handled]
    dispatcher: Dispatcher
    recorder: Recorder
    lanes: Lanes
    identity: Identity
    publisher: Publisher
