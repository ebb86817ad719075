"""Looks for a part of ours among the comments of our account, by its marker."""

from __future__ import annotations

from domain.marker import Sealer, read_marker
from domain.model import Thread
from domain.ports import Listing, NoAnswer, Said
from domain.sending import Absent, Finding, Found, Unresolved


def find(listing: Listing | NoAnswer, reply_id: str, part: int, thread: Thread, sealer: Sealer) -> Finding:
    """What a listing of our account's comments on the thread says of one part.

    Found in a listing that is not complete is found; of several the oldest counts.
    """
    if isinstance(listing, NoAnswer):
        return Unresolved(listing.reason, listing.retry_after_s)
    ours = [said for said in listing.said if _is_part(said, reply_id, part, thread, sealer)]
    ours.sort(key=lambda said: (said.created_at_ms, said.id))
    if ours:
        return Found(ours[0].id, ours[0].url, tuple(said.id for said in ours[1:]))
    return Absent() if listing.complete else Unresolved("listing-incomplete")


def _is_part(said: Said, reply_id: str, part: int, thread: Thread, sealer: Sealer) -> bool:
    """Whether a line of it is the part's marker: who edits our comment may write below it, and it is delivered all the same."""
    markers = (read_marker(line) for line in said.body.splitlines())
    return any(
        marker is not None and (marker.reply_id, marker.part) == (reply_id, part) and sealer.is_ours(marker, thread)
        for marker in markers
    )
