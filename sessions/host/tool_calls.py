"""What the agent said about each of its tool calls so far, as a request for leave needs it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from acp.schema import FileEditToolCallContent, ToolCallProgress, ToolCallStart, ToolCallUpdate

from sessions.host.permissions import PermissionRequest
from sessions.host.turn import TITLE_CHARACTERS_MAX

_CALLS_MAX = 200
_PATHS_MAX = 100
_UNSEEN_PATHS = "~"
"""Stands for the paths that were not kept; it is never inside a clone, so such a call is refused."""
_COMMAND_CHARACTERS_MAX = 64 * 1024
_COMMAND_KEYS = ("command", "cmd")
_PATH_KEYS = ("file_path", "path", "notebook_path", "abs_path")
_NOTHING = PermissionRequest(kind="other", title="", command=None, paths=())


class ToolCalls:
    """The tool calls of the running turn; a request for leave may leave out what an update said before."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, PermissionRequest] = OrderedDict()

    def clear(self) -> None:
        """Forget them: a new turn begins."""
        self._calls.clear()

    def learn(self, update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> PermissionRequest:
        """Take in what was said now and return all that is known of that call."""
        before = self._calls.get(update.tool_call_id, _NOTHING)
        now = PermissionRequest(
            kind=update.kind or before.kind,
            title=(update.title or before.title)[:TITLE_CHARACTERS_MAX],
            command=before.command if update.raw_input is None else _command_of(update.raw_input),
            paths=_bounded(dict.fromkeys([*before.paths, *_paths_of(update)])),
        )
        self._calls[update.tool_call_id] = now
        if len(self._calls) > _CALLS_MAX:
            self._calls.popitem(last=False)
        return now


def _command_of(raw_input: object) -> str | None:
    """The shell command; an argv is no shell line and is never taken for one."""
    if not isinstance(raw_input, dict):
        return None
    commands = [raw_input[key] for key in _COMMAND_KEYS if isinstance(raw_input.get(key), str)]
    return commands[0] if len(commands) == 1 and len(commands[0]) <= _COMMAND_CHARACTERS_MAX else None


def _paths_of(update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> list[str]:
    """Every path named anywhere in the call: each of them must be allowed."""
    paths = [location.path for location in update.locations or ()]
    paths += [part.path for part in update.content or () if isinstance(part, FileEditToolCallContent)]
    if isinstance(update.raw_input, dict):
        paths += [value for key in _PATH_KEYS if isinstance(value := update.raw_input.get(key), str)]
    return paths


def _bounded(paths: Iterable[str]) -> tuple[str, ...]:
    every = tuple(paths)
    return every if len(every) <= _PATHS_MAX else (*every[:_PATHS_MAX], _UNSEEN_PATHS)
