"""The turn that an agent is working on: its texts, tools and use, gathered within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sessions.host.records import TEXT_BYTES_MAX, Ended, StopReason, Usage, bounded_text

NOTES_MAX = 500
TITLE_CHARACTERS_MAX = 300


@dataclass(slots=True)
class BoundedText:
    """Text that grows by chunks and keeps a bounded beginning; `characters` counts everything that came."""

    _chunks: list[str] = field(default_factory=list)
    _kept: int = 0
    characters: int = 0

    def add(self, chunk: str) -> None:
        """Append a chunk; what lies beyond the bound is counted and not kept."""
        self.characters += len(chunk)
        room = TEXT_BYTES_MAX - self._kept
        if room > 0:
            self._chunks.append(chunk[:room])
            self._kept += min(len(chunk), room)

    def text(self) -> str:
        """What was kept, as it may stand in a record, with a mark where something is missing."""
        return bounded_text("".join(self._chunks), characters=self.characters)

    @property
    def blank(self) -> bool:
        """True where nothing but white space came."""
        return not any(chunk.strip() for chunk in self._chunks)


@dataclass(slots=True)
class RunningTurn:
    """One turn while it runs."""

    turn_id: str
    taken: bool = False
    cancelling: bool = False
    usage: Usage = field(default_factory=Usage)
    notes_left: int = NOTES_MAX
    """How many more tool and permission records this turn may write."""
    _tool_ids: set[str] = field(default_factory=set)
    _tool_calls: int = 0
    _message_id: str | None = None
    _text: BoundedText = field(default_factory=BoundedText)
    _text_before_tools: BoundedText = field(default_factory=BoundedText)

    @property
    def tool_calls(self) -> int:
        """How many tools the agent used so far."""
        return self._tool_calls

    def said(self, text: str, message_id: str | None) -> None:
        """The agent said something; another message of it begins a paragraph of its own."""
        if message_id is not None and self._message_id is not None and message_id != self._message_id:
            self._text.add("\n\n")
        self._message_id = message_id
        self._text.add(text)

    def called(self, tool_call_id: str) -> bool:
        """The agent speaks of a tool call; True where it is a new one, which ends the text before it."""
        if tool_call_id in self._tool_ids:
            return False
        if len(self._tool_ids) < NOTES_MAX:
            self._tool_ids.add(tool_call_id)
        self._tool_calls += 1
        if not self._text.blank:
            self._text_before_tools = self._text
        self._text = BoundedText()
        self._message_id = None
        return True

    def used(self, more: Usage) -> None:
        """Take over what the agent now says about its use; what it does not say stays."""
        known = {name: value for name in Usage.__slots__ if (value := getattr(more, name)) is not None}
        self.usage = replace(self.usage, **known)

    def may_note(self) -> bool:
        """True while the turn may write another note; counts it."""
        self.notes_left -= 1
        return self.notes_left >= 0

    def ended(self, stop_reason: StopReason) -> Ended:
        """The turn's last record."""
        return Ended(
            turn_id=self.turn_id,
            stop_reason=stop_reason,
            text_after_tools=self._text.text().strip(),
            text_before_tools=self._text_before_tools.text().strip(),
            tool_calls=self._tool_calls,
            usage=self.usage,
        )
