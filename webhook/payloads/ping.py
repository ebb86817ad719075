"""Reads `ping`: a hook says hello and tells how it is set up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from githubapi.fields import Fields
from webhook.payloads.results import Pong


def reader(needed: Iterable[str]) -> Callable[[Fields, str], Pong]:
    """A reader that knows which events we need; a ping need not name a repository, so its host is not looked at."""
    wanted = sorted(needed)

    def read(payload: Fields, _host: str) -> Pong:
        hook = payload.part("hook")
        sent = hook.items("events")
        config = hook.optional_part("config")
        return Pong(
            missing_events=() if "*" in sent else tuple(event for event in wanted if event not in sent),
            content_type=config.optional_text("content_type") if config else None,
        )

    return read
