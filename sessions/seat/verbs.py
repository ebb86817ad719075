"""What each verb of the seat does, for the session whose token was shown and for nothing else."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Event

from sessions.seat import records
from sessions.seat.ports import SeatPorts, Sitter
from sessions.seat.protocol import Answer, Declined, Verb, read_request
from sessions.seat.pushing import Pushing
from sessions.seat.speech import Kind, say
from sessions.seat.thread_view import read_threads
from statedb import seat_rows
from statedb.database import StoreUnavailable

EVENTS_MAX = 200
"""How many lines of the event log are shown."""

_log = logging.getLogger(__name__)


class Seat:
    """Answers the requests of agents; safe to use from any thread. `stopping` ends what takes long."""

    def __init__(self, ports: SeatPorts, stopping: Event) -> None:
        self._ports = ports
        self._pushing = Pushing(ports, stopping)

    def answer(self, line: bytes) -> Answer:
        """Do what a request asks for; never raises. What is not done comes back as `error`, with what to do instead."""
        try:
            request = read_request(line)
            sitter = records.sitter(self._ports.database.reader(), request.token)
            return self._carry_out(sitter, request.verb, request.arguments)
        except Declined as declined:
            return {"error": str(declined)}
        except StoreUnavailable:
            return {"error": "the service cannot write just now, and nothing was recorded: try again in a minute"}
        except Exception:  # one agent's request must not end the thread that serves the others
            _log.exception("a request to the seat failed")
            return {
                "error": "the service failed at this request: say so in your answer, the operator finds it in the log"
            }

    def settle_openings(self) -> None:
        """Bind the pull requests that were opened just before the service died. Asks GitHub; safe to repeat."""
        self._pushing.settle_openings()

    def _carry_out(self, sitter: Sitter, verb: Verb, arguments: Mapping[str, str]) -> Answer:
        match verb:
            case Verb.THREAD:
                return read_threads(self._ports, sitter)
            case Verb.REPLY:
                return say(self._ports, sitter, Kind.REPLY, arguments.get("text", ""))
            case Verb.ASK:
                return say(self._ports, sitter, Kind.QUESTION, arguments.get("text", ""))
            case Verb.PUSH:
                return self._pushing.push(sitter)
            case Verb.PR:
                return self._pushing.open_pull(sitter, arguments.get("title", ""), arguments.get("body", ""))
            case Verb.EVENTS:
                return self._events(sitter)

    def _events(self, sitter: Sitter) -> Answer:
        threads = seat_rows.threads_of(self._ports.database.reader(), sitter.item.item_id, sitter.item.home)
        labels = [str(sitter.label_of(thread)) for thread in threads]
        return {"ok": True, "item": str(sitter.label), "events": list(self._ports.events(labels, EVENTS_MAX))}
