"""Tells the story: which lines of the event log are worth a reader's time, in which words, and how they are printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.model import Outcome, PassReason
from eventlog.output import shown, visible
from eventlog.query import Entry

WHO_WIDTH = 12


class Tone(StrEnum):
    """How a line looks, by what it is."""

    PERSON = "bold cyan"
    SERVICE = "dim"
    DECISION = "yellow"
    AGENT = "green"
    HELD = "bold green"
    FAULT = "bold red"


@dataclass(frozen=True, slots=True)
class Words:
    """What a type of event is called in the story; `{field}` stands for a field of its line."""

    who: str
    text: str
    tone: Tone = Tone.SERVICE


WHY: Final[Mapping[str, str]] = {
    Outcome.AWAITING_START: "nobody has started this thread; it is not delivered later either",
    Outcome.SESSION_PAUSED: "the thread is paused; the session will be told that it missed something",
    Outcome.CONTROL_EXECUTED: "a command, and its effect is confirmed",
    PassReason.UNAUTHORIZED_ACTOR: "not in routing.authorized_users: no row, no reaction, no reply",
}
TOLD: Final[Mapping[str, Words]] = {
    "service.ready": Words("service", "ready after {took_ms} ms"),
    "webhook.ping": Words("webhook", "GitHub said that a hook points here"),
    "poll.baselined": Words("poller", "watches {repository} from now on; what is older is not delivered"),
    "dispatch.accepted": Words("accepted", "{kind} of {actor}, by {road}: it is on disk"),
    "dispatch.settled": Words("decided", "settled, {outcome}: {why}", Tone.DECISION),
    "routing.dropped": Words("decided", "passed over, {reason}: {why}", Tone.DECISION),
    "control.command": Words("decided", "command {verb}: {effect} (phase before: {phase})", Tone.DECISION),
    "control.rejected": Words("decided", "command refused, {reason}", Tone.DECISION),
    "control.executed": Words("carried out", "{verb}: {effect}, confirmed", Tone.DECISION),
    "dispatch.queued": Words("decided", "queued for the thread's session", Tone.DECISION),
    "dispatch.done": Words("carried out", "done: a session has it", Tone.DECISION),
    "dispatch.failed": Words("service", "attempt {attempt} failed: {error}", Tone.FAULT),
    "dispatch.gave_up": Words("service", "gave up after {attempts} attempts: {error}", Tone.FAULT),
    "session.started": Words("session", "{session_id} started, in a clone of its own"),
    "session.attached": Words("session", "{session_id} went on in its host; read from byte {from_offset_bytes} on"),
    "session.resumed": Words("session", "{session_id} runs again, with its conversation"),
    "session.failed": Words("session", "failed: {error}", Tone.FAULT),
    "session.ended": Words("session", "{session_id} ended, its whole process tree: {cause}"),
    "turn.taken": Words("session", "has turn {turn_id}; the receipt is a {receipt}"),
    "turn.interrupted": Words("session", "turn {turn_id} was interrupted: {cause}"),
    "turn.ended": Words("session", "turn {turn_id} ended ({stop_reason})"),
    "reply.delivered": Words("reply", "posted as comment {comment_id}"),
    "reply.unknown": Words("reply", "may have been posted: {error}", Tone.FAULT),
}
"""The rest of the log is for `the-loop events`."""


class Teller:
    """Prints the story as it happens. Text of people is shown, never obeyed: no markup, no control characters."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def chapter(self, number: int, title: str) -> None:
        """A step begins."""
        self._console.print()
        self._console.print(Text(f"{number}. {title}", style="bold"))

    def line(self, who: str, text: str, tone: Tone = Tone.SERVICE) -> None:
        """Somebody did or said something."""
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=WHO_WIDTH, justify="right", no_wrap=True)
        grid.add_column()
        grid.add_row(Text(visible(who), style=tone), _block(text, tone))
        self._console.print(grid)

    def entry(self, entry: Entry) -> None:
        """What a line of the event log says, if the story tells it; that our own words came back it need not."""
        words = TOLD.get(entry.event)
        if words is None or entry.fields.get("reason") == PassReason.SELF_AUTHORED:
            return
        fields = _Fields(entry)
        self.line(words.who, words.text.format_map(fields), words.tone)

    def held(self, text: str) -> None:
        """A step did what it should."""
        self.line("✓", text, Tone.HELD)

    def plain(self, text: str) -> None:
        """Text as it is."""
        self._console.print(_block(text, Tone.SERVICE), soft_wrap=True)


class _Fields(dict[str, str]):
    """The fields of a line as texts; what it does not have is a dash."""

    def __init__(self, entry: Entry) -> None:
        super().__init__({key: shown(value) for key, value in entry.fields.items()})
        reason = entry.named("outcome") or entry.named("reason")
        self["why"] = WHY.get(reason, "see docs/glossary.md")

    def __missing__(self, key: str) -> str:
        return "-"


def _block(text: str, tone: Tone) -> Text:
    style = "" if tone in (Tone.PERSON, Tone.AGENT) else tone
    return Text("\n".join(visible(line) for line in text.splitlines()), style=style)
