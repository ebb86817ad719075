"""The demo's agent: a small program that speaks ACP, remembers its conversations, and does the same every time."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    run_agent,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_user_message_text,
)
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    TextContentBlock,
    ToolCallUpdate,
    Usage,
)

STEP_VARIABLE = "DEMO_AGENT_STEP_S"
"""How long each of the steps of slow work takes, in seconds (0.5 unless set)."""
SLOW_WORDS = "work slowly"
COMMIT_WORDS = "please commit"
SLOW_STEPS = 8
NOTES_NAME = "demo-notes.md"

_CONVERSATION = re.compile(r"demo-[0-9]{1,9}")
_COMMENT = re.compile(r"#(issuecomment-[0-9]+|discussion_r[0-9]+|pullrequestreview-[0-9]+)")
_MISSED = re.compile(r"^.*\bnot delivered\b.*$", re.IGNORECASE | re.MULTILINE)
_OPTIONS = [
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


@dataclass(slots=True)
class Conversation:
    """One conversation: what was said, on disk, and the folder it is about."""

    path: Path
    working_folder: Path
    cancelled: asyncio.Event

    def remember(self, role: str, text: str) -> None:
        """Append what one side said."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"role": role, "text": text}) + "\n")

    def remembered(self) -> list[tuple[str, str]]:
        """Who said what, from the beginning."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [(entry["role"], entry["text"]) for entry in map(json.loads, lines)]


class DemoAgent:
    """An agent without a model: it says which comments it read, works slowly when asked to, and commits when asked to."""

    def __init__(self, folder: Path, step_s: float) -> None:
        self._folder = folder
        self._step_s = step_s
        self._conversations: dict[str, Conversation] = {}
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Called by the protocol library before anything else."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:  # noqa: ANN401 - the protocol's open fields
        """Say who we are and that we can load conversations."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="the-loop demo agent", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:  # noqa: ANN401 - the protocol's open fields
        """Open a conversation under the first free number."""
        number = 1
        while not _made(self._folder / f"demo-{number}.jsonl"):
            number += 1
        self._open(f"demo-{number}", cwd)
        return NewSessionResponse(session_id=f"demo-{number}")

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:  # noqa: ANN401 - the protocol's open fields
        """Take up a conversation and replay it."""
        if _CONVERSATION.fullmatch(session_id) is None or not (self._folder / f"{session_id}.jsonl").exists():
            raise RequestError.resource_not_found(session_id)
        for role, text in self._open(session_id, cwd).remembered():
            update = update_user_message_text(text) if role == "user" else update_agent_message_text(text)
            await self._connected().session_update(session_id=session_id, update=update)
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: Sequence[object], **_: Any) -> PromptResponse:  # noqa: ANN401 - the protocol's open fields
        """Take one turn."""
        conversation = self._conversations[session_id]
        conversation.cancelled.clear()
        text = "\n".join(block.text for block in prompt if isinstance(block, TextContentBlock))
        conversation.remember("user", text)
        await self._connected().session_update(
            session_id=session_id, update=update_agent_thought_text("Reading the prompt.")
        )
        if SLOW_WORDS in text.lower() and not await self._work_slowly(session_id, conversation):
            return PromptResponse(stop_reason="cancelled")
        committed = await self._commit(session_id, conversation, text) if COMMIT_WORDS in text.lower() else ""
        answer = " ".join(part for part in (what_was_read(text), committed) if part)
        await self._say(session_id, answer)
        conversation.remember("agent", answer)
        return PromptResponse(stop_reason="end_turn", usage=_usage(text, answer))

    async def cancel(self, session_id: str, **_: Any) -> None:  # noqa: ANN401 - the protocol's open fields
        """End the running turn at its next step."""
        self._conversations[session_id].cancelled.set()

    def _open(self, session_id: str, cwd: str) -> Conversation:
        conversation = Conversation(self._folder / f"{session_id}.jsonl", Path(cwd), asyncio.Event())
        self._conversations[session_id] = conversation
        return conversation

    def _connected(self) -> Client:
        if self._client is None:
            raise RequestError.internal_error({"details": "not connected"})
        return self._client

    async def _say(self, session_id: str, text: str) -> None:
        await self._connected().session_update(session_id=session_id, update=update_agent_message_text(text))

    async def _work_slowly(self, session_id: str, conversation: Conversation) -> bool:
        """Stream some narration, then look something up; False where the turn was cancelled meanwhile."""
        for step in range(1, SLOW_STEPS + 1):
            await self._say(session_id, f"Working, step {step} of {SLOW_STEPS}. ")
            try:
                await asyncio.wait_for(conversation.cancelled.wait(), self._step_s)
            except TimeoutError:
                continue
            return False
        looking = start_tool_call("look", "Look at the working folder", kind="read", status="completed")
        await self._connected().session_update(session_id=session_id, update=looking)
        return True

    async def _commit(self, session_id: str, conversation: Conversation, prompt: str) -> str:
        """Write a note and commit it, each with leave; says what became of it."""
        notes = conversation.working_folder / NOTES_NAME
        edit = ToolCallUpdate(
            tool_call_id="note", title=f"Write {NOTES_NAME}", kind="edit", raw_input={"file_path": str(notes)}
        )
        if not await self._may(session_id, edit):
            return "I was not allowed to write a file."
        entries = len(notes.read_text(encoding="utf-8").splitlines()) if notes.exists() else 0
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"- note {entries + 1}: {what_was_read(prompt)}\n")
        author = ("-c", "user.name=Demo Agent", "-c", "user.email=demo-agent@localhost")
        message = f"Add note {entries + 1}"
        for shown, arguments in (
            (f"git add {NOTES_NAME}", ("add", "--", NOTES_NAME)),
            (f"git commit --quiet --message '{message}'", (*author, "commit", "--quiet", "--message", message)),
        ):
            call = ToolCallUpdate(tool_call_id=shown, title=shown, kind="execute", raw_input={"command": shown})
            if not await self._may(session_id, call):
                return "I was not allowed to commit."
            if failed := await _git(conversation.working_folder, *arguments):
                return f"git refused: {failed}"
        return f"I committed note {entries + 1}."

    async def _may(self, session_id: str, call: ToolCallUpdate) -> bool:
        answer = await self._connected().request_permission(session_id=session_id, tool_call=call, options=_OPTIONS)
        return isinstance(answer.outcome, AllowedOutcome) and answer.outcome.option_id == "yes"


def what_was_read(prompt: str) -> str:
    """Which comments a prompt carried, by the anchors of their addresses, and what it says was missed."""
    comments = list(dict.fromkeys(_COMMENT.findall(prompt)))
    read = f"I read {len(comments)} comment{'s' if len(comments) != 1 else ''}"
    named = f": {', '.join(comments)}." if comments else "."
    missed = _MISSED.search(prompt)
    return f"{read}{named} I was told: {missed.group().strip()}" if missed else f"{read}{named}"


def _usage(prompt: str, answer: str) -> Usage:
    read, written = len(prompt.split()), len(answer.split())
    return Usage(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _made(path: Path) -> bool:
    try:
        path.open("x").close()
    except FileExistsError:
        return False
    return True


async def _git(folder: Path, *arguments: str) -> str:
    """Run git in the agent's own folder; returns what it said where it failed, else nothing."""
    git = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await git.communicate()
    return output.decode("utf-8", "replace").strip()[:200] if git.returncode else ""


def main() -> None:
    """Run over standard input and output until the client goes; the one argument is where conversations are kept."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    agent = DemoAgent(folder, float(os.environ.get(STEP_VARIABLE, "0.5")))
    asyncio.run(run_agent(cast(Agent, agent)))


if __name__ == "__main__":
    main()
