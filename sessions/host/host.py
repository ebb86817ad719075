"""The life of one session host: one agent, one turn at a time, everything written down before it is told."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from enum import StrEnum

from sessions.host.agent import Agent, AgentFailed, AgentGone, Opened, start_agent
from sessions.host.journal import Journal, JournalFailed, read_journal
from sessions.host.permissions import PermissionPort, PermissionRequest, Verdict
from sessions.host.protocol import CancelState, HandState
from sessions.host.records import (
    Ended,
    Exited,
    Handed,
    IdleEnded,
    PermissionAnswered,
    Receipt,
    Record,
    Replayed,
    Started,
    StopReason,
    Taken,
    ToolCalled,
    Trouble,
    TroubleKind,
    Usage,
)
from sessions.host.spec import LOG_NAME, HostSpec
from sessions.host.trouble import is_provider_notice
from sessions.host.turn import TITLE_CHARACTERS_MAX, RunningTurn
from sessions.process_tree import Ending

_TICK_S = 1.0
_CANCEL_SEND_S = 1.0
_REASON_CHARACTERS_MAX = 200
_TEXT_CHARACTERS_MAX = 2_000
_log = logging.getLogger(__name__)


class EndCause(StrEnum):
    """Why the host ends."""

    ASKED = "asked"
    IDLE = "idle"
    UNATTACHED = "unattached"
    TERMINATED = "terminated"
    """By a signal, as at a reboot."""
    START_FAILED = "start-failed"
    AGENT_DIED = "agent-died"
    CANCEL_OVERDUE = "cancel-overdue"


class Host:
    """A session host. It listens to its agent, answers its server, and ends once."""

    def __init__(self, spec: HostSpec, journal: Journal, permit: PermissionPort) -> None:
        self._spec = spec
        self._journal = journal
        self._permit = permit
        self._known = _turns_that_ended(journal)
        self._replayed: frozenset[str] = frozenset()
        self._held: deque[Record] = deque()
        self._grown = asyncio.Event()
        self._ending = asyncio.Event()
        self._cause = EndCause.ASKED
        self._reason = ""
        self._agent: Agent | None = None
        self._opened = False
        self._running: RunningTurn | None = None
        self._prompting: asyncio.Task[None] | None = None
        self._cancel_watch: asyncio.Task[None] | None = None
        self._connections = 0
        self._busy_until_s = self._now_s()
        self._attached_until_s = self._now_s()

    async def run(self) -> None:
        """Start the agent, serve until something ends the host, then end the agent's process tree."""
        opening = self._guarded(self._open())
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self._tick_s())
            self._write_held()
            self._end_if_overdue()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await self._finish()

    @property
    def _log_says_more(self) -> str:
        return f"sessions/{self._spec.session_id}/{LOG_NAME} in the state folder says more"

    # What the server asks.

    async def hand(self, turn_id: str, text: str) -> HandState:
        """Hand a turn over, or say what is known of it; raises `JournalFailed` where it cannot be written down."""
        known = self._known.get(turn_id)
        if known is not None:
            return known
        if self._ending.is_set():
            return HandState.ENDING
        if self._agent is None or not self._opened:
            return HandState.STARTING
        if turn_id in self._replayed:
            self._record(Taken(turn_id=turn_id, receipt=Receipt.REPLAYED))
            self._known[turn_id] = HandState.TAKEN
            return HandState.TAKEN
        if self._running is not None:
            return HandState.BUSY
        self._write_held()
        if self._held:
            raise JournalFailed("earlier records are not written yet")
        self._journal.append(Handed(turn_id))
        self._told()
        self._known[turn_id] = HandState.HANDED
        self._running = running = RunningTurn(turn_id)
        self._prompting = self._guarded(self._prompt(self._agent, running, text))
        return HandState.HANDED

    async def cancel(self, turn_id: str) -> CancelState:
        """Ask the agent to end the running turn; where it has not ended in time, its process tree is ended."""
        running, agent = self._running, self._agent
        if running is None or agent is None or running.turn_id != turn_id:
            return CancelState.NOT_RUNNING
        if not running.cancelling:
            running.cancelling = True
            self._cancel_watch = asyncio.create_task(self._end_where_cancel_is_overdue(running))
            # An agent that does not read must not hold up whoever wants its end.
            with suppress(AgentGone, TimeoutError):
                await asyncio.wait_for(agent.cancel(), _CANCEL_SEND_S)
        return CancelState.CANCELLING

    def end(self, cause: EndCause, reason: str = "") -> None:
        """Let the host end; the first cause stands. Safe to repeat."""
        if not self._ending.is_set():
            self._cause = cause
            self._reason = reason[:_REASON_CHARACTERS_MAX]
            self._ending.set()

    def connected(self, change: int) -> None:
        """A client came (+1) or went (-1)."""
        self._connections += change
        self._attached_until_s = self._now_s()

    @property
    def agent_pid(self) -> int | None:
        """The agent's process; None before it started."""
        return self._agent.pid if self._agent is not None else None

    @property
    def journal_end_offset(self) -> int:
        """How far the journal may be read."""
        return self._journal.end_offset

    @property
    def grown(self) -> asyncio.Event:
        """Set when the journal is longer than it was when this was asked for."""
        return self._grown

    # What the agent does.

    def signed(self, receipt: Receipt) -> None:
        """The first sign of life after a prompt is the turn's receipt."""
        running = self._running
        if running is None or running.taken:
            return
        running.taken = True
        self._record(Taken(turn_id=running.turn_id, receipt=receipt))
        self._known[running.turn_id] = HandState.TAKEN

    def said(self, text: str, message_id: str | None) -> None:
        """Gather the running turn's text."""
        if self._running is not None:
            self._running.said(text, message_id)

    def called(self, tool_call_id: str, title: str, kind: str) -> None:
        """Write down a new tool call of the running turn, up to a bound for each turn."""
        running = self._running
        if running is not None and running.called(tool_call_id) and running.may_note():
            self._record(ToolCalled(turn_id=running.turn_id, title=_clean(title), kind=kind))

    def used(self, usage: Usage) -> None:
        """Take over the running turn's use."""
        if self._running is not None:
            self._running.used(usage)

    async def permit(self, request: PermissionRequest) -> Verdict:
        """Ask the port, and write down what it answered."""
        verdict = await self._permit(request)
        running = self._running
        if running is None or running.may_note():
            answered = PermissionAnswered(
                turn_id=running.turn_id if running else None,
                kind=request.kind,
                title=_clean(request.title),
                allowed=verdict.allowed,
                reason=verdict.reason,
            )
            self._record(answered)
        return verdict

    # The life itself.

    async def _open(self) -> None:
        try:
            async with asyncio.timeout(self._spec.times.start_s):
                self._agent = await start_agent(self._spec, self)
                opened = await self._agent.open(self._spec)
        except AgentFailed as fault:
            self._fail_to_start(fault.kind, fault.text)
        except AgentGone:
            happened = await self._agent.gone() if self._agent else "the agent is gone"
            self._fail_to_start(TroubleKind.OURS, f"{happened} before its conversation was open; {self._log_says_more}")
        except TimeoutError:
            text = f"the agent did not open its conversation in {self._spec.times.start_s:g} s; {self._log_says_more}"
            self._fail_to_start(TroubleKind.OURS, text)
        else:
            self._begin(opened)
            await self._watch(self._agent)

    def _begin(self, opened: Opened) -> None:
        loaded = self._spec.conversation_id is not None
        self._record(
            Started(
                conversation_id=opened.conversation_id,
                agent=_clean(opened.agent),
                agent_version=_clean(opened.agent_version),
                loaded=loaded,
            )
        )
        if loaded:
            self._record(Replayed(opened.replayed))
        self._replayed = frozenset(opened.replayed)
        self._opened = True
        self._busy_until_s = self._now_s()

    def _fail_to_start(self, kind: TroubleKind, text: str) -> None:
        self._record(Trouble(kind=kind, text=_clean(text, _TEXT_CHARACTERS_MAX)))
        self.end(EndCause.START_FAILED)

    async def _watch(self, agent: Agent) -> None:
        self._agent_died(await agent.gone())

    def _agent_died(self, happened: str) -> None:
        """The running turn gets no end: it is interrupted, and whoever comes next looks it up."""
        if self._ending.is_set():
            return
        if self._running is not None and self._running.cancelling:
            self._close_turn(self._running.ended(StopReason.CANCELLED))
        turn_id = self._running.turn_id if self._running else None
        self._record(Trouble(kind=TroubleKind.OURS, text=happened, turn_id=turn_id))
        self.end(EndCause.AGENT_DIED)

    async def _prompt(self, agent: Agent, running: RunningTurn, text: str) -> None:
        try:
            end = await agent.prompt(text)
        except AgentGone:
            self._agent_died(await agent.gone())
            return
        except AgentFailed as fault:
            if self._running is running:
                self._end_failed_turn(running, fault)
            return
        if self._running is not running:
            return  # its end was written down before the agent came to it
        running.used(end.usage)
        if end.stop_reason is not StopReason.CANCELLED:
            self.signed(Receipt.ANSWER)
        ended = running.ended(end.stop_reason)
        if is_provider_notice(ended.text_after_tools, ended.tool_calls):
            self._record(Trouble(kind=TroubleKind.PROVIDER, text=ended.text_after_tools, turn_id=running.turn_id))
            ended = running.ended(StopReason.TROUBLE)
        self._close_turn(ended)

    def _end_failed_turn(self, running: RunningTurn, fault: AgentFailed) -> None:
        if running.cancelling:
            self._close_turn(running.ended(StopReason.CANCELLED))
            return
        text = _clean(fault.text, _TEXT_CHARACTERS_MAX)
        self._record(Trouble(kind=fault.kind, text=text, turn_id=running.turn_id))
        self._close_turn(running.ended(StopReason.TROUBLE))

    def _close_turn(self, ended: Ended) -> None:
        self._record(ended)
        if ended.stop_reason is StopReason.TROUBLE:
            del self._known[ended.turn_id]
        else:
            self._known[ended.turn_id] = HandState.ENDED
        self._running = None
        self._busy_until_s = self._now_s()

    async def _end_where_cancel_is_overdue(self, running: RunningTurn) -> None:
        await asyncio.sleep(self._spec.times.cancel_s)
        if self._running is not running:
            return
        text = f"the cancelled turn did not end in {self._spec.times.cancel_s:g} s; the agent's process tree is ended"
        self._record(Trouble(kind=TroubleKind.OURS, text=text, turn_id=running.turn_id))
        self._close_turn(running.ended(StopReason.CANCELLED))
        self.end(EndCause.CANCEL_OVERDUE)

    async def _finish(self) -> None:
        if self._cause is EndCause.IDLE:
            self._record(IdleEnded())
        if self._cause is EndCause.ASKED:
            await self._cancel_running_turn()
        if self._cancel_watch is not None:
            self._cancel_watch.cancel()
        # From here on nothing that the agent says counts: a turn without an end is an interrupted one.
        self._running = None
        if self._prompting is not None:
            self._prompting.cancel()
        ending = Ending(self._spec.session_id, grace_s=self._spec.times.grace_s, root_pid=os.getpid())
        for pause_s in ending:
            await asyncio.sleep(pause_s)
        if ending.left:
            _log.error("processes that would not end: %s", ending.left)
        code = await self._agent.close() if self._agent is not None else None
        self._record(Exited(code=code, reason=self._reason or self._cause))

    async def _cancel_running_turn(self) -> None:
        running, prompting = self._running, self._prompting
        if running is None or prompting is None:
            return
        await self.cancel(running.turn_id)
        await asyncio.wait({prompting}, timeout=self._spec.times.cancel_s)
        if self._running is running:
            self._close_turn(running.ended(StopReason.CANCELLED))

    def _guarded(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """A task whose fault ends the host instead of leaving it deaf."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._look_for_fault)
        return task

    def _look_for_fault(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (fault := task.exception()) is None:
            return
        _log.error("the host is at fault", exc_info=fault)
        self._agent_died(f"the session host is at fault: {type(fault).__name__}")

    def _end_if_overdue(self) -> None:
        now_s = self._now_s()
        idle = self._opened and self._running is None and not self._held
        if idle and now_s - self._busy_until_s >= self._spec.times.idle_s:
            self.end(EndCause.IDLE)
        if self._connections == 0 and now_s - self._attached_until_s >= self._spec.times.unattached_s:
            self.end(EndCause.UNATTACHED)

    def _record(self, record: Record) -> None:
        """Write a record down, or hold it until the journal can be written again; the order stays."""
        self._held.append(record)
        self._write_held()

    def _write_held(self) -> None:
        while self._held:
            try:
                self._journal.append(self._held[0])
            except JournalFailed as fault:
                _log.error("%s", fault)
                return
            self._held.popleft()
            self._told()

    def _told(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    def _tick_s(self) -> float:
        return min(_TICK_S, self._spec.times.idle_s / 2, self._spec.times.unattached_s / 2)

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()


def _turns_that_ended(journal: Journal) -> dict[str, HandState]:
    ended = (item.record for item in read_journal(journal.path) if isinstance(item.record, Ended))
    return {record.turn_id: HandState.ENDED for record in ended if record.stop_reason is not StopReason.TROUBLE}


def _clean(text: str, characters_max: int = TITLE_CHARACTERS_MAX) -> str:
    return text[:characters_max].encode("utf-8", "replace").decode("utf-8")
