"""Which facts the operator is told of in Telegram, and in which words: with the item's page, and without text from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eventlog.event import Level, LogEvent
from eventlog.events.dispatch import DispatchGaveUp
from eventlog.events.poll import PollSourceError
from eventlog.events.reply import ReplyAbandoned, ReplyDead, ReplyRecorded
from eventlog.events.service import ServiceResourceEnded
from eventlog.events.session import SessionFailed, SessionStarted
from service.addresses import NotUnderstood, work_item
from service.telegram.kinds import PostKind, PostLevel

QUESTION = "question"
"""The kind of a reply by which an agent asks, and waits for a person."""
ROADS = {"webhook": "the webhook", "poller": "polling"}
"""The resources without which nothing arrives any more."""


RANKS = {PostLevel.INFO: Level.INFO, PostLevel.WARNING: Level.WARNING, PostLevel.ERROR: Level.ERROR}
LEVELS = {
    PostKind.SESSION_STARTED: PostLevel.INFO,
    PostKind.WAITING: PostLevel.WARNING,
    PostKind.FAILED: PostLevel.ERROR,
    PostKind.GAVE_UP: PostLevel.ERROR,
    PostKind.COVERAGE_STOPPED: PostLevel.ERROR,
    PostKind.REPLY_ABANDONED: PostLevel.ERROR,
}


@dataclass(frozen=True, slots=True)
class Post:
    """One notice for the operator's chat."""

    kind: PostKind
    text: str
    about: str
    """What it is about, so that notices about different things are not taken for one said twice."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the operator wants to be told."""

    level: PostLevel = PostLevel.INFO
    levels: Mapping[PostKind, PostLevel] = field(default_factory=dict)

    def wants(self, kind: PostKind) -> bool:
        """Whether a notice of that kind matters enough."""
        return RANKS[self.levels.get(kind, LEVELS[kind])] >= RANKS[self.level]


def post_of(event: LogEvent, host: str) -> Post | None:
    """The notice that a fact is worth, None where it is worth none; `host` is where the work items live."""
    item = event.work_item or ""
    match event:
        case SessionStarted(harness=harness):
            return Post(PostKind.SESSION_STARTED, f"An agent ({harness}) began to work on {_page(event, host)}", item)
        case ReplyRecorded(kind=kind) if kind == QUESTION:
            return Post(
                PostKind.WAITING, f"The agent asks something, and waits for an answer on {_page(event, host)}", item
            )
        case SessionFailed():
            return Post(PostKind.FAILED, f"The agent failed, and is tried again: {_page(event, host)}", item)
        case DispatchGaveUp(attempts=attempts, event_key=key):
            said = f"Gave up after {attempts} attempts: {_page(event, host)}\nthe-loop explain {key}"
            return Post(PostKind.GAVE_UP, said, key or item)
        case ReplyAbandoned() | ReplyDead():
            return Post(PostKind.REPLY_ABANDONED, f"An answer did not reach its thread: {_page(event, host)}", item)
        case PollSourceError(repository="", source_name=source):
            said = f"Polling cannot tell what became of its comments ({source}): see the-loop status"
            return Post(PostKind.COVERAGE_STOPPED, said, source)
        case PollSourceError(repository=repository, source_name=source):
            said = f"https://{host}/{repository} cannot be read ({source}): what is written there goes unheard for now"
            return Post(PostKind.COVERAGE_STOPPED, said, f"{repository} {source}")
        case ServiceResourceEnded(resource=resource) if resource in ROADS:
            said = f"Nothing arrives any more by {ROADS[resource]}: see the-loop status"
            return Post(PostKind.COVERAGE_STOPPED, said, resource)
        case _:
            return None


def _page(event: LogEvent, host: str) -> str:
    """The address of the work item's page; its name, where it has none that we can read."""
    name = event.work_item or "a work item"
    try:
        item = work_item(name, host)
    except NotUnderstood:
        return name
    return f"https://{item.host}/{item.repository}/issues/{item.number}"
