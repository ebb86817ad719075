"""What a session host writes down: the closed set of its journal's records, and their form on a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum

JOURNAL_VERSION = 1
TEXT_BYTES_MAX = 256 * 1024


class Receipt(StrEnum):
    """What proved that the agent has the prompt."""

    MESSAGE = "message"
    THOUGHT = "thought"
    TOOL = "tool"
    PLAN = "plan"
    USAGE = "usage"
    ANSWER = "answer"
    """The turn ended without a sign before it."""
    REPLAYED = "replayed"
    """The loaded conversation holds the turn's id."""


class StopReason(StrEnum):
    """Why a turn ended."""

    FINISHED = "finished"
    OUT_OF_TOKENS = "out-of-tokens"
    OUT_OF_REQUESTS = "out-of-requests"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    TROUBLE = "trouble"
    """A `trouble` record of the same turn stands before it; the turn may be handed over again."""


class TroubleKind(StrEnum):
    """Whose trouble it is."""

    OURS = "ours"
    """The agent could not be started, died, or broke its protocol."""
    PROVIDER = "provider"
    """Quota, login or overload behind the agent; not the comment's fault, worth trying again later."""
    CONVERSATION_GONE = "conversation-gone"
    """The conversation could not be loaded; only a new one helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the agent said about its use; None: it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    total_tokens: int | None = None
    context_tokens: int | None = None
    """Tokens in the conversation's window now."""
    context_tokens_max: int | None = None
    cost_amount: float | None = None
    """Of the whole conversation so far, as the agent counts it."""
    cost_currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The agent's conversation is open; records before it belong to an earlier host of the same folder."""

    conversation_id: str
    agent: str
    agent_version: str
    loaded: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """The turns whose prompts the loaded conversation holds, oldest first."""

    turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Handed:
    """The turn is written down and goes to the agent now."""

    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The agent has the prompt."""

    turn_id: str
    receipt: Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """The agent uses a tool; title and kind are the agent's own words."""

    turn_id: str
    title: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionAnswered:
    """The agent asked for leave and got this answer; the reason names the setting where it is a refusal."""

    turn_id: str | None
    kind: str
    title: str
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The turn is over. Both texts are bounded, with a mark where they were cut."""

    turn_id: str
    stop_reason: StopReason
    text_after_tools: str
    text_before_tools: str
    """The last text before the turn's last tool call."""
    tool_calls: int
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something failed that is not an answer; turn_id is None when no turn was running."""

    kind: TroubleKind
    text: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class IdleEnded:
    """The host ends because nothing was asked of it for long; the conversation can be loaded again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The host's last record: the agent and its whole process tree have ended.

    code is the agent's exit code, negative for a signal; None where it never ran.
    """

    code: int | None
    reason: str


Record = Started | Replayed | Handed | Taken | ToolCalled | PermissionAnswered | Ended | Trouble | IdleEnded | Exited


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A record with its place: `end_offset` is where the next record begins."""

    end_offset: int
    at: datetime
    record: Record


_NAMES: Mapping[type[Record], str] = {
    Started: "started",
    Replayed: "replayed",
    Handed: "handed",
    Taken: "taken",
    ToolCalled: "tool",
    PermissionAnswered: "permission",
    Ended: "ended",
    Trouble: "trouble",
    IdleEnded: "idle-ended",
    Exited: "exited",
}
_TYPES = {name: record_type for record_type, name in _NAMES.items()}
_COERCIONS: Mapping[tuple[str, str], Callable[[object], object]] = {
    ("replayed", "turn_ids"): lambda value: tuple(value) if isinstance(value, list) else (),
    ("taken", "receipt"): lambda value: Receipt(str(value)),
    ("ended", "stop_reason"): lambda value: StopReason(str(value)),
    ("ended", "usage"): lambda value: _usage(value),
    ("trouble", "kind"): lambda value: TroubleKind(str(value)),
}


def line_of(record: Record, at: datetime) -> bytes:
    """One journal line, newline included."""
    head = {"v": JOURNAL_VERSION, "at": at.isoformat(), "type": _NAMES[type(record)]}
    return json.dumps(head | asdict(record), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_line(line: bytes, end_offset: int) -> Recorded | None:
    """The record of one journal line; None for a line that is no record that this version knows."""
    try:
        outer = json.loads(line)
        name = outer["type"]
        record_type = _TYPES[name]
        picked = {item.name: outer[item.name] for item in fields(record_type) if item.name in outer}
        for key, value in picked.items():
            coerce = _COERCIONS.get((name, key))
            if coerce is not None:
                picked[key] = coerce(value)
        return Recorded(end_offset=end_offset, at=datetime.fromisoformat(outer["at"]), record=record_type(**picked))
    except (ValueError, KeyError, TypeError):
        return None


def bounded_text(text: str, *, characters: int | None = None, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """The text as it may stand in a record: at most `bytes_max` as JSON, with a visible mark where it was cut.

    `characters` is how many there were, where the text is already a cut one.
    """
    clean = text.encode("utf-8", "replace").decode("utf-8")
    whole = len(clean) if characters is None else characters
    if whole == len(clean) and _json_bytes(clean) <= bytes_max:
        return clean
    mark = f"\n\n[cut: {whole} characters in all]"
    room_bytes = bytes_max - _json_bytes(mark)
    kept = clean[:room_bytes]
    while (size_bytes := _json_bytes(kept)) > room_bytes:
        kept = kept[: min(len(kept) - 1, len(kept) * room_bytes // size_bytes)]
    return kept + mark


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())


def _usage(value: object) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    known = {item.name for item in fields(Usage)}
    return Usage(**{key: part for key, part in value.items() if key in known})
