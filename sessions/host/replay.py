"""Which turns a loaded conversation already holds: the receipt of a turn whose host died."""

from __future__ import annotations

from acp.schema import TextContentBlock, UserMessageChunk

from sessions.host.protocol import turn_id_of

REPLAYED_MAX = 2_000

_PROMPT_CHARACTERS_KEPT = 4096


class Replay:
    """The turn ids in the prompts of a conversation that is being loaded; the newest `REPLAYED_MAX` of them."""

    def __init__(self) -> None:
        self.turn_ids: dict[str, None] = {}
        self._prompt = ""
        self._message_id: str | None = None

    def add(self, update: object) -> None:
        """Take in one replayed update; a prompt may come in several pieces."""
        if not isinstance(update, UserMessageChunk):
            self._prompt = ""
            return
        if not isinstance(update.content, TextContentBlock):
            return
        if update.message_id != self._message_id:
            self._prompt = ""
        self._message_id = update.message_id
        self._prompt = (self._prompt + update.content.text)[-_PROMPT_CHARACTERS_KEPT:]
        turn_id = turn_id_of(self._prompt)
        if turn_id is not None:
            self.turn_ids[turn_id] = None
            if len(self.turn_ids) > REPLAYED_MAX:
                del self.turn_ids[next(iter(self.turn_ids))]
