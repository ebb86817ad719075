"""A stand-in harness in this process: agents that take, answer, keep silent, die and fail as they are told.

It outlives whoever uses it, as session hosts outlive the service: a second service over the same store finds its
sessions again. An offset in a session's journal is the number of records before it.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from domain.model import ItemId, SessionId, TurnId
from sessions.host.protocol import HandState
from sessions.host.records import (
    Ended,
    Exited,
    Handed,
    IdleEnded,
    Receipt,
    Record,
    Recorded,
    Replayed,
    Started,
    StopReason,
    Taken,
    Trouble,
    TroubleKind,
)
from sessions.port import HarnessFailed, SessionOrder
from tests.fakes.links import StandInLive
from tests.fakes.manners import LIMIT_S, Death, Host, Manner, Opening, Prompt


class StandInHarness:
    """Safe to use from any thread. `manner` and `opening` say what happens unless something was put into line."""

    name = "stand-in"

    def __init__(self) -> None:
        self.manner = Manner()
        self.opening = Opening()
        self.prompts: list[Prompt] = []
        """What agents got, in order."""
        self.opens: list[SessionOrder] = []
        """Every start that was asked for."""
        self.before_hand: Callable[[Host, TurnId], None] | None = None
        """Called before a hand-over reaches its host; may raise."""
        self._changed = threading.Condition(threading.RLock())
        self._held_ends: dict[ItemId, tuple[threading.Event, threading.Event]] = {}
        self._hosts: dict[SessionId, Host] = {}
        self._conversations: dict[str, list[str]] = {}
        self._manners: dict[ItemId | None, deque[Manner]] = {}
        self._openings: deque[Opening] = deque()
        self._numbers = itertools.count(1)

    # What a test says

    def next_turns(self, *manners: Manner, item_id: ItemId | None = None) -> None:
        """How the next turns go, of an item or of any that has none in line of its own."""
        self._manners.setdefault(item_id, deque()).extend(manners)

    def next_openings(self, *openings: Opening) -> None:
        """How the next starts go."""
        self._openings.extend(openings)

    def finish(self, item_id: ItemId, after_tools: str = "Done.", before_tools: str = "") -> None:
        """Let the item's running turn end with an answer."""
        with self._changed:
            host = self._host_of(item_id)
            assert host.running is not None, "there is no turn to finish"
            self._end_turn(host, StopReason.FINISHED, after_tools, before_tools)

    def show_sign(self, item_id: ItemId) -> None:
        """Let the item's running turn show the sign of life that it kept back."""
        with self._changed:
            host = self._host_of(item_id)
            assert host.running is not None
            self._take(host, host.running[0], Receipt.MESSAGE)

    def kill(self, item_id: ItemId) -> None:
        """The item's host dies without a word."""
        with self._changed:
            self._die(self._host_of(item_id))

    def let_agent_die(self, item_id: ItemId) -> None:
        """The item's agent dies; its host writes that down and ends."""
        with self._changed:
            host = self._host_of(item_id)
            self._write(host, Trouble(kind=TroubleKind.OURS, text="it died", turn_id=host.running_id))
            self._exit(host, "agent-died")

    def go_idle(self, item_id: ItemId) -> None:
        """The item's host ends because nothing was asked of it for long."""
        with self._changed:
            host = self._host_of(item_id)
            self._write(host, IdleEnded())
            self._exit(host, "idle")

    def write(self, item_id: ItemId, record: Record) -> int:
        """The item's host writes a record of the test's own; the offset behind it."""
        with self._changed:
            host = self._host_of(item_id)
            self._write(host, record)
            return len(host.journal)

    def hold_end(self, item_id: ItemId, released: threading.Event) -> None:
        """The item's host takes its time when it is asked to end, until this is set."""
        self._held_ends[item_id] = (threading.Event(), released)

    def wait_end_asked(self, item_id: ItemId) -> None:
        """Return once the host whose end is held was asked to end; fails when it was not in time."""
        assert self._held_ends[item_id][0].wait(LIMIT_S), "nobody asked for its end"

    def stop_running(self, item_id: ItemId) -> TurnId:
        """Take the item's running turn from the stand-in, whose end the test then writes itself."""
        with self._changed:
            host = self._host_of(item_id)
            assert host.running is not None
            turn_id, host.running = host.running[0], None
            host.known.pop(turn_id, None)
            return turn_id

    def forget(self) -> None:
        """All conversations are gone."""
        with self._changed:
            self._conversations.clear()

    # What a test sees

    def prompts_of(self, item_id: ItemId) -> list[Prompt]:
        """What the item's agents got."""
        with self._changed:
            return [prompt for prompt in self.prompts if prompt.item_id == item_id]

    def texts(self, item_id: ItemId) -> list[str]:
        """The texts of the prompts that the item's agents got."""
        return [prompt.text for prompt in self.prompts_of(item_id)]

    def wait_prompts(self, item_id: ItemId, count: int) -> list[Prompt]:
        """The item's prompts, once there are so many; fails when they do not come in time."""
        with self._changed:
            found = self._changed.wait_for(lambda: len(self.prompts_of(item_id)) >= count, LIMIT_S)
            assert found, f"item {item_id} got {len(self.prompts_of(item_id))} prompts, not {count}"
            return self.prompts_of(item_id)

    def wait_opens(self, count: int) -> None:
        """Return once so many starts were asked for; fails when they were not in time."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.opens) >= count, LIMIT_S), f"{len(self.opens)} starts"

    def living(self) -> set[ItemId]:
        """Items whose host lives."""
        with self._changed:
            return {host.order.item_id for host in self._hosts.values() if host.lives}

    def hosts(self) -> list[Host]:
        """All sessions that there ever were."""
        with self._changed:
            return list(self._hosts.values())

    # The port

    def missing(self) -> str | None:
        """Nothing is."""
        return None

    def open(self, order: SessionOrder, cancelled: threading.Event) -> StandInLive:
        """Start an agent in the manner that is next in line."""
        with self._changed:
            self.opens.append(order)
            opening = self._openings.popleft() if self._openings else self.opening
            self._changed.notify_all()
        opening.wait(cancelled)
        if opening.fails is not None:
            raise opening.fails
        with self._changed:
            host = self._hosts.setdefault(order.session_id, Host(order))
            host.order, host.lives, host.running = order, True, None
            self._begin(host, opening)
            if opening.missed:
                host.require_life()
        return StandInLive(self, host)

    def attach(self, session_id: SessionId, folder: Path) -> StandInLive | None:
        """Reach a session that lives."""
        with self._changed:
            host = self._hosts.get(session_id)
            return StandInLive(self, host) if host is not None and host.lives else None

    def left_behind(self, session_id: SessionId, folder: Path, from_offset: int) -> list[Recorded]:
        """End what is left of a session, and tell what it wrote."""
        with self._changed:
            host = self._hosts.get(session_id)
            if host is None:
                return []
            self._die(host)
            return host.journal[from_offset:]

    # What links do

    def hand(self, host: Host, turn_id: TurnId, text: str, timeout_s: float) -> HandState:
        """As `Live.hand`."""
        if self.before_hand is not None:
            self.before_hand(host, turn_id)
        with self._changed:
            host.require_life()
            if turn_id in host.known:
                return host.known[turn_id]
            if turn_id in host.replayed:
                self._take(host, turn_id, Receipt.REPLAYED)
                return HandState.TAKEN
            if host.running is not None:
                return HandState.BUSY
            manner = self._next_manner(host.order.item_id)
            if manner.ready is not None:
                self._await_agent(host, manner.ready, timeout_s)
            if manner.state is not None:
                return manner.state
            return self._prompt(host, turn_id, text, manner)

    def cancel(self, host: Host, turn_id: TurnId) -> None:
        """As `Live.cancel`."""
        with self._changed:
            host.require_life()
            if host.running is not None and host.running[0] == turn_id and host.running[1].heeds_cancel:
                self._end_turn(host, StopReason.CANCELLED, "Half of it.", "")

    def end(self, host: Host, reason: str) -> None:
        """As `Live.end`."""
        asked, released = self._held_ends.get(host.order.item_id, (None, None))
        if asked is not None and released is not None:
            asked.set()
            released.wait(LIMIT_S)
        with self._changed:
            host.require_life()
            if host.running is not None:
                self._end_turn(host, StopReason.CANCELLED, "Half of it.", "")
            if reason == "idle":
                self._write(host, IdleEnded())
            self._exit(host, reason)

    def next_record(self, host: Host, offset: int, timeout_s: float, closed: threading.Event) -> Recorded | None:
        """As `Records.next`."""
        with self._changed:
            self._changed.wait_for(lambda: closed.is_set() or len(host.journal) > offset or not host.lives, timeout_s)
            if closed.is_set():
                raise HarnessFailed("the link was closed")
            if len(host.journal) > offset:
                return host.journal[offset]
            host.require_life()
            return None

    def wake_all(self) -> None:
        """Let whoever waits look again."""
        with self._changed:
            self._changed.notify_all()

    # Helpers; the lock is held

    def _begin(self, host: Host, opening: Opening) -> None:
        wanted = host.order.conversation_id
        if opening.dies:
            self._die(host)
            return
        trouble = opening.trouble
        if trouble is None and wanted is not None and wanted not in self._conversations:
            trouble = TroubleKind.CONVERSATION_GONE
        if trouble is not None:
            self._write(host, Trouble(kind=trouble, text="the agent said why"))
            self._exit(host, "start-failed")
            return
        host.conversation_id = wanted or f"conversation-{next(self._numbers)}"
        history = self._conversations.setdefault(host.conversation_id, [])
        loaded = wanted is not None
        self._write(
            host,
            Started(conversation_id=host.conversation_id, agent="stand-in", agent_version="1", loaded=loaded),
        )
        host.known = {turn_id: state for turn_id, state in host.known.items() if state is HandState.ENDED}
        host.replayed = tuple(history) if loaded else ()
        if loaded:
            self._write(host, Replayed(host.replayed))

    def _prompt(self, host: Host, turn_id: TurnId, text: str, manner: Manner) -> HandState:
        if manner.dies is Death.UNWRITTEN:
            self._die(host)
            raise HarnessFailed("the host is gone")
        self._write(host, Handed(turn_id))
        host.known[turn_id] = HandState.HANDED
        host.running = (turn_id, manner)
        if manner.dies is Death.FORGOTTEN:
            self._die(host)
            return HandState.HANDED
        self._conversations[host.conversation_id].append(turn_id)
        self.prompts.append(
            Prompt(
                item_id=host.order.item_id,
                session_id=host.order.session_id,
                conversation_id=host.conversation_id,
                turn_id=turn_id,
                text=text,
            )
        )
        self._meet(host, turn_id, manner)
        self._changed.notify_all()
        return HandState.HANDED

    def _meet(self, host: Host, turn_id: TurnId, manner: Manner) -> None:
        if manner.dies is Death.UNTOLD:
            self._die(host)
            return
        if manner.receipt is not None and manner.trouble is None:
            self._take(host, turn_id, manner.receipt)
        if manner.dies is Death.TAKEN:
            self._die(host)
        elif manner.trouble is not None:
            self._write(host, Trouble(kind=manner.trouble, text="the agent said why", turn_id=turn_id))
            self._end_turn(host, StopReason.TROUBLE, "", "")
            del host.known[turn_id]
        elif manner.ends and manner.receipt is not None:
            self._end_turn(host, StopReason.FINISHED, manner.after_tools, manner.before_tools)

    def _take(self, host: Host, turn_id: TurnId, receipt: Receipt) -> None:
        host.known[turn_id] = HandState.TAKEN
        self._write(host, Taken(turn_id=turn_id, receipt=receipt))

    def _end_turn(self, host: Host, why: StopReason, after_tools: str, before_tools: str) -> None:
        assert host.running is not None
        turn_id, host.running = host.running[0], None
        host.known[turn_id] = HandState.ENDED
        ended = Ended(
            turn_id=turn_id, stop_reason=why, text_after_tools=after_tools, text_before_tools=before_tools, tool_calls=0
        )
        self._write(host, ended)

    def _exit(self, host: Host, reason: str) -> None:
        self._write(host, Exited(code=0, reason=reason))
        self._die(host)

    def _die(self, host: Host) -> None:
        host.lives, host.running = False, None
        self._changed.notify_all()

    def _write(self, host: Host, record: Record) -> None:
        offset = len(host.journal) + 1
        host.journal.append(Recorded(end_offset=offset, at=datetime(2027, 1, 15, tzinfo=UTC), record=record))
        self._changed.notify_all()

    def _await_agent(self, host: Host, ready: threading.Event, timeout_s: float) -> None:
        """Another thread sets the event, and then calls `wake_all`."""
        self._changed.wait_for(lambda: ready.is_set() or not host.lives, min(timeout_s, LIMIT_S))
        host.require_life()
        if not ready.is_set():
            raise HarnessFailed("the agent was still starting when the time was over")

    def _next_manner(self, item_id: ItemId) -> Manner:
        for line in (self._manners.get(item_id), self._manners.get(None)):
            if line:
                return line.popleft()
        return self.manner

    def _host_of(self, item_id: ItemId) -> Host:
        (host,) = (host for host in self._hosts.values() if host.order.item_id == item_id and host.lives)
        return host
