"""Everything that the service says to people in its own voice; no text from outside is repeated here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from domain import control
from domain.control import NearMiss, Verb
from domain.decision import Effect, RejectReason
from domain.model import Phase

CUT = "\n\n… *(cut here; the whole answer is kept: `the-loop explain` shows it)*"
"""Stands where an answer is longer than a comment may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a work item stands, for `status`."""

    phase: Phase
    has_session: bool
    waiting: int
    refused: int
    in_turn: bool


def rejected(reason: RejectReason, verb: Verb, label: str, near_miss: NearMiss | None = None) -> str:
    """Why a command was refused, and what to do."""
    match reason:
        case RejectReason.SPAWN_POLICY:
            return (
                f"Not started: this thread needs the label `{label}` first (setting `routing.spawn`). "
                "Add it and write `the-loop start` again."
            )
        case RejectReason.NOTHING_TO_RESUME:
            return "There is nothing to resume here: this thread is not paused. `the-loop start` begins a session."
        case RejectReason.NEAR_MISS:
            meant = near_miss.meant if near_miss else verb
            return f"That is not a command of mine. Did you mean `the-loop {meant}`? Nothing was done."
        case RejectReason.OTHER_INSTANCE:
            return (
                "Not started: another the-loop has spoken here within the last week, and two must not work on one thread. "
                f"If that one is gone, write `the-loop start {control.TAKE_OVER}`."
            )
        case RejectReason.NO_SUCH_ITEM:
            return "Not started: GitHub says that this thread does not exist."


def ambiguous(verbs: tuple[Verb, ...]) -> str:
    """Two different commands in one comment."""
    named = ", ".join(f"`the-loop {verb}`" for verb in verbs)
    return f"Your comment holds more than one command ({named}), so none of them ran. Please write one a comment."


def edited_command() -> str:
    """A command in a text that had been edited before we read it, or whose editor is unknown."""
    return (
        "There is a command in an edited comment. I cannot tell who edited it, so it did not run; "
        "please write it again as a new comment."
    )


def help_text() -> str:
    """The commands."""
    return f"I understand these at the start of a line:\n\n{control.help_text()}"


def standing(now: Standing) -> str:
    """The answer to `status`."""
    session = (
        "a session is at work" if now.in_turn else "a session is ready" if now.has_session else "no session is live"
    )
    if now.phase is Phase.NONE:
        return "This thread was never started; `the-loop start` begins a session."
    lines = [f"This thread is **{now.phase}**; {session}."]
    if now.waiting:
        lines.append(f"{_count(now.waiting, 'comment')} waiting for a turn.")
    if now.refused:
        lines.append(f"{_count(now.refused, 'comment')} not delivered; the session will be told to read the thread.")
    return " ".join(lines)


def acknowledged(verb: Verb, effect: Effect) -> str:
    """A command in a review body was carried out: reviews take no reactions."""
    return f"`the-loop {verb}`: {effect.value.replace('-', ' ')}."


def gave_up(urls: tuple[str, ...], attempts: int, cause: str) -> str:
    """Something could not be carried out. `cause` is of our own making."""
    named = "\n".join(f"- {url}" for url in urls)
    return (
        f"I could not carry this out after {_count(attempts, 'attempt')} ({cause}):\n\n{named}\n\n"
        "Nothing more will be tried by itself. Write a new comment here to try again, or ask the operator to look at "
        "`the-loop explain` with that address."
    )


def interrupted_twice() -> str:
    """A turn died twice under the agent."""
    return (
        "The agent died twice in the middle of the same turn, so I stopped trying. What it had been told counts as "
        "delivered. Write a new comment here to start it again."
    )


def waits_for_place(ahead: int) -> str:
    """All places are in a turn for a minute or more."""
    before = f", {_count(ahead, 'thread')} before this one" if ahead else ""
    return f"All places for sessions are at work{before}. This thread starts as soon as one is free."


def cleanup_refused(lost: tuple[str, ...]) -> str:
    """A clone holds what exists nowhere else. `lost` names counts and our own branch, no outside text."""
    named = "\n".join(f"- {line}" for line in lost)
    return (
        f"The session is stopped, but its clone was kept, because removing it would lose:\n\n{named}\n\n"
        f"Write `the-loop cleanup {control.FORCE}` to remove it all the same."
    )


def refused_since(count: int, since_ms: int) -> str:
    """What the first prompt after a stretch of refusing says, in our own voice, outside the marked block."""
    since = datetime.fromtimestamp(since_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{_count(count, 'comment')} since {since} {'was' if count == 1 else 'were'} not delivered to you."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
