"""The agent's side of a session host: its process and the Agent Client Protocol that it speaks."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from acp import PROTOCOL_VERSION, RequestError, text_block
from acp.core import Connection
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    CancelNotification,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    LoadSessionRequest,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)
from pydantic import BaseModel, ValidationError

from sessions.host.permissions import PermissionRequest, Verdict
from sessions.host.protocol import MARK_VARIABLE
from sessions.host.records import Receipt, StopReason, TroubleKind, Usage
from sessions.host.replay import Replay
from sessions.host.spec import HostSpec
from sessions.host.tool_calls import ToolCalls
from sessions.host.translation import STOP_REASONS, permission_response, usage_of, usage_of_update
from sessions.host.transport import AGENT_LINE_BYTES_MAX, BoundedTransport
from sessions.host.trouble import kind_of_error

_STDERR_CHUNK_BYTES = 16 * 1024
_LAST_WORDS_S = 1.0
_log = logging.getLogger(__name__)
_Response = TypeVar("_Response", bound=BaseModel)
_Stream = TypeVar("_Stream")


class AgentFailed(Exception):
    """The agent answered with an error, or could not be started."""

    def __init__(self, kind: TroubleKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class AgentGone(Exception):
    """The agent ended, or closed its streams, before it answered."""


class Listener(Protocol):
    """Who is told what the agent does; none of the calls may block."""

    def signed(self, receipt: Receipt) -> None:
        """The agent gave a sign of life that only a prompt can cause."""

    def said(self, text: str, message_id: str | None) -> None:
        """A piece of the agent's text."""

    def called(self, tool_call_id: str, title: str, kind: str) -> None:
        """A tool call, new or going on."""

    def used(self, usage: Usage) -> None:
        """What the agent says about its use."""

    async def permit(self, request: PermissionRequest) -> Verdict:
        """The agent asks for leave and waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An open conversation; `replayed` are the turn ids it already holds, oldest first, empty for a new one."""

    conversation_id: str
    agent: str
    agent_version: str
    replayed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptEnd:
    """How a prompt ended."""

    stop_reason: StopReason
    usage: Usage


class Agent:
    """One agent process with one conversation."""

    def __init__(self, process: asyncio.subprocess.Process, listener: Listener) -> None:
        self._process = process
        self._listener = listener
        self._transport = BoundedTransport(_pipe(process.stdout), _pipe(process.stdin))
        self._connection = Connection(self._handle, self._transport)
        self._stderr = asyncio.create_task(_log_stderr(_pipe(process.stderr)))
        self._conversation_id = ""
        self._replay: Replay | None = None
        self._tool_calls = ToolCalls()
        self._cancelled = asyncio.Event()

    @property
    def pid(self) -> int:
        """The agent's process id."""
        return self._process.pid

    async def open(self, spec: HostSpec) -> Opened:
        """Greet the agent and open or load its conversation; raises `AgentFailed` or `AgentGone`."""
        greeting = await self._request(
            "initialize",
            InitializeRequest(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(),
                client_info=Implementation(name="the-loop", version=str(PROTOCOL_VERSION)),
            ),
            InitializeResponse,
        )
        if greeting.protocol_version != PROTOCOL_VERSION:
            raise AgentFailed(TroubleKind.OURS, f"the agent speaks protocol version {greeting.protocol_version}")
        replayed: tuple[str, ...] = ()
        if spec.conversation_id is None:
            self._conversation_id = await self._new_conversation(str(spec.clone))
        else:
            replayed = await self._load(greeting, spec.conversation_id, str(spec.clone))
        info = greeting.agent_info
        return Opened(
            conversation_id=self._conversation_id,
            agent=info.name if info else "",
            agent_version=info.version if info else "",
            replayed=replayed,
        )

    async def prompt(self, text: str) -> PromptEnd:
        """Hand the agent a prompt and wait for the turn's end; raises `AgentFailed` or `AgentGone`."""
        self._cancelled.clear()
        self._tool_calls.clear()
        request = PromptRequest(session_id=self._conversation_id, prompt=[text_block(text)])
        response = await self._request("session_prompt", request, PromptResponse)
        return PromptEnd(STOP_REASONS[response.stop_reason], usage_of(response.usage))

    async def cancel(self) -> None:
        """Ask the agent to end its turn; what it still asks leave for is answered as cancelled."""
        self._cancelled.set()
        notice = CancelNotification(session_id=self._conversation_id)
        try:
            await self._connection.send_notification(AGENT_METHODS["session_cancel"], _dump(notice))
        except OSError as fault:
            raise AgentGone(str(fault)) from fault

    async def gone(self) -> str:
        """Wait until the agent ended or will say nothing more; returns what happened, in words."""
        ended = asyncio.create_task(self._process.wait())
        silent = asyncio.create_task(self._transport.finished.wait())
        await asyncio.wait({ended, silent}, return_when=asyncio.FIRST_COMPLETED)
        # What it said before it ended still counts; a child of it may hold its output open for ever.
        await asyncio.wait({silent}, timeout=_LAST_WORDS_S)
        silent.cancel()
        if self._transport.flooded:
            ended.cancel()
            return f"the agent sent a line of more than {AGENT_LINE_BYTES_MAX} bytes"
        try:
            code = await asyncio.wait_for(ended, timeout=_LAST_WORDS_S)
        except TimeoutError:
            return "the agent closed its output"
        return f"the agent exited with code {code}"

    async def close(self) -> int | None:
        """Let go of the agent's streams after its process was ended; returns its exit code, None if it is alive."""
        await self._connection.close()
        try:
            await asyncio.wait_for(self._process.wait(), timeout=2.0)
        except TimeoutError:
            return None
        finally:
            self._stderr.cancel()
        return self._process.returncode

    async def _new_conversation(self, clone: str) -> str:
        request = NewSessionRequest(cwd=clone, mcp_servers=[])
        return (await self._request("session_new", request, NewSessionResponse)).session_id

    async def _load(self, greeting: InitializeResponse, conversation_id: str, clone: str) -> tuple[str, ...]:
        capabilities = greeting.agent_capabilities
        if capabilities is None or not capabilities.load_session:
            raise AgentFailed(TroubleKind.CONVERSATION_GONE, "the agent cannot load conversations")
        self._conversation_id = conversation_id
        self._replay = replay = Replay()
        request = LoadSessionRequest(cwd=clone, session_id=conversation_id, mcp_servers=[])
        try:
            await self._send("session_load", request)
        except AgentFailed as fault:
            if fault.kind is TroubleKind.PROVIDER:
                raise
            raise AgentFailed(TroubleKind.CONVERSATION_GONE, fault.text) from fault
        finally:
            self._replay = None
        return tuple(replay.turn_ids)

    async def _request(self, method: str, request: BaseModel, response: type[_Response]) -> _Response:
        result = await self._send(method, request)
        try:
            return response.model_validate(result)
        except ValidationError as fault:
            raise AgentFailed(TroubleKind.OURS, f"the agent's answer to {method} has another shape") from fault

    async def _send(self, method: str, request: BaseModel) -> object:
        try:
            return await self._connection.send_request(AGENT_METHODS[method], _dump(request))
        except RequestError as fault:
            text = f"{fault} {_details(fault.data)}".strip()
            raise AgentFailed(kind_of_error(fault.code, text), text) from fault
        except OSError as fault:
            raise AgentGone(str(fault)) from fault

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:  # noqa: ANN401 - the library's handler type
        if method == CLIENT_METHODS["session_update"]:
            self._updated(params)
            return None
        if method == CLIENT_METHODS["session_request_permission"] and not is_notification:
            return await self._permit(RequestPermissionRequest.model_validate(params))
        raise RequestError.method_not_found(method)

    def _updated(self, params: object) -> None:
        try:
            notification = SessionNotification.model_validate(params)
        except ValidationError:
            _log.debug("an update of another shape was passed over")
            return
        if notification.session_id != self._conversation_id:
            return
        if self._replay is not None:
            self._replay.add(notification.update)
        else:
            self._tell(notification.update)

    def _tell(self, update: object) -> None:
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text), message_id=message_id):
                self._listener.signed(Receipt.MESSAGE)
                self._listener.said(text, message_id)
            case AgentMessageChunk():
                self._listener.signed(Receipt.MESSAGE)
            case AgentThoughtChunk():
                self._listener.signed(Receipt.THOUGHT)
            case ToolCallStart() | ToolCallProgress():
                request = self._tool_calls.learn(update)
                self._listener.signed(Receipt.TOOL)
                self._listener.called(update.tool_call_id, request.title, request.kind)
            case AgentPlanUpdate():
                self._listener.signed(Receipt.PLAN)
            case UsageUpdate():
                self._listener.signed(Receipt.USAGE)
                self._listener.used(usage_of_update(update))
            case _:
                return  # commands, modes and the like come unasked and prove nothing

    async def _permit(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        asked = self._tool_calls.learn(request.tool_call)
        answer = asyncio.ensure_future(self._listener.permit(asked))
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        await asyncio.wait({answer, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        cancelled.cancel()
        if not answer.done():
            answer.cancel()
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return permission_response(answer.result(), request.options)


async def start_agent(spec: HostSpec, listener: Listener) -> Agent:
    """Start the agent's process in the clone, with the session's mark; raises `AgentFailed`."""
    try:
        process = await asyncio.create_subprocess_exec(
            *spec.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=spec.clone,
            env={**spec.environment, MARK_VARIABLE: spec.session_id},
            start_new_session=True,
            limit=AGENT_LINE_BYTES_MAX,
        )
    except (OSError, ValueError) as fault:
        raise AgentFailed(TroubleKind.OURS, f"the agent's program cannot be started: {fault}") from fault
    return Agent(process, listener)


def _pipe(stream: _Stream | None) -> _Stream:
    if stream is None:
        raise ValueError("the agent was started without pipes")
    return stream


def _dump(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _details(data: object) -> str:
    return str(data)[:500] if data else ""


async def _log_stderr(stream: asyncio.StreamReader) -> None:
    while chunk := await stream.read(_STDERR_CHUNK_BYTES):
        _log.info("agent: %s", chunk.decode("utf-8", "replace").rstrip())
