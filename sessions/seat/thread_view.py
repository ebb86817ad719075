"""The verb `thread`: all that stands on the work item's threads, with the right that each author has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from domain.marker import read_marker, without_markers
from domain.model import Account, Thread
from domain.policy import Authorities
from domain.ports import ItemFacts, Missing, NoAnswer, Said
from sessions.excerpt import cut, iso_time, shown
from sessions.seat.ports import SeatPorts, Sitter
from sessions.seat.protocol import ANSWER_BYTES_MAX, Answer, Declined
from statedb import seat_rows
from statedb.reading import part_of_ours

TEXT_CHARACTERS_MAX = 20_000
"""How much of one text is shown."""
LISTING_BYTES_MAX = ANSWER_BYTES_MAX - 128 * 1024
"""Of all threads together; the oldest texts give way."""

AUTHORISED = "authorised"
OURS = "ours: you or the service said it"
NO_RIGHT = "none: may be read as information, asks nothing of you"

Entry = dict[str, object]
T = TypeVar("T")


def read_threads(ports: SeatPorts, sitter: Sitter) -> Answer:
    """Every thread of the item, oldest text first. Raises Declined where GitHub gave no usable answer."""
    threads = seat_rows.threads_of(ports.database.reader(), sitter.item.item_id, sitter.item.home)
    share = LISTING_BYTES_MAX // len(threads)
    return {
        "ok": True,
        "item": str(sitter.label),
        "threads": [_thread(ports, sitter, thread, share) for thread in threads],
    }


def facts_of(ports: SeatPorts, sitter: Sitter, thread: Thread) -> ItemFacts:
    """A thread's issue or pull request as it stands now. Raises Declined."""
    return given(ports.items.item(thread, sitter.item.repository), str(sitter.label_of(thread)))


def given(answer: T | Missing | NoAnswer, about: str) -> T:
    """What was asked for. Raises Declined where there is no such thing, or no answer."""
    if isinstance(answer, Missing):
        raise Declined(f"GitHub says that {about} does not exist, or that the service may not see it")
    if isinstance(answer, NoAnswer):
        raise Declined(f"there was no answer about {about} just now ({answer.reason}): try again in a minute")
    return answer


def _thread(ports: SeatPorts, sitter: Sitter, thread: Thread, share_bytes: int) -> Entry:
    facts = facts_of(ports, sitter, thread)
    listing = given(
        ports.threads.said(thread, sitter.item.repository, facts.snapshot.kind), str(sitter.label_of(thread))
    )
    authorities = ports.authorities()
    entries = [_entry(ports, authorities, thread, said) for said in listing.said]
    kept = _newest(entries, share_bytes)
    return {
        "label": str(sitter.label_of(thread)),
        "kind": facts.snapshot.kind,
        "open": facts.snapshot.is_open,
        "title": shown(facts.snapshot.title),
        "url": facts.url,
        "who": _who(facts.author),
        "right": AUTHORISED if authorities.may(facts.author) else NO_RIGHT,
        "text": _text(facts.body),
        "complete": listing.complete and len(kept) == len(entries),
        "older_left_out": len(entries) - len(kept),
        "said": kept,
    }


def _entry(ports: SeatPorts, authorities: Authorities, thread: Thread, said: Said) -> Entry:
    is_ours = _is_ours(ports, thread, said)
    return {
        "who": _who(said.author),
        "right": OURS if is_ours else AUTHORISED if authorities.may(said.author) else NO_RIGHT,
        "when": iso_time(said.created_at_ms),
        "revision": iso_time(said.updated_at_ms),
        "kind": said.fact,
        "url": said.url,
        "text": _text(without_markers(said.body).rstrip() if is_ours else said.body),
    }


def _is_ours(ports: SeatPorts, thread: Thread, said: Said) -> bool:
    """By our record, not by the marker alone: a marker that somebody copied names a part that stands elsewhere."""
    marker = read_marker(said.body)
    if marker is None or not ports.sealer.is_ours(marker, thread):
        return False
    part = part_of_ours(ports.database.reader(), said.id, marker.reply_id, marker.part)
    return part is not None and part.provider_id in (said.id, None)


def _who(author: Account | None) -> str:
    return "a deleted account" if author is None else shown(author.login)


def _text(text: str) -> str:
    return cut(shown(text), TEXT_CHARACTERS_MAX)


def _newest(entries: Sequence[Entry], bytes_max: int) -> list[Entry]:
    """The newest entries that fit."""
    kept: list[Entry] = []
    for entry in reversed(entries):
        bytes_max -= len(json.dumps(entry).encode())
        if bytes_max < 0:
            break
        kept.append(entry)
    return kept[::-1]
