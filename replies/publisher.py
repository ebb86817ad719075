"""Sends what was recorded: claims a part, notes that it may leave, sends it, and asks the thread before it is repeated."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from domain import sending
from domain.marker import Sealer
from domain.model import EventKey, Label
from domain.ports import InDoubt, Listing, NoAnswer, NotSent, Posted, Refused, SendResult, ThreadPort
from domain.sending import Abandon, Asked, Delivered, Doubt, Following, Found, Tried
from eventlog.event import LogEvent
from eventlog.events.reply import ReplyProbed
from replies import probe
from replies.channel import Channel
from replies.channels import CHANNELS
from replies.record import Target, read_target
from replies.steady import SteadyClock
from statedb import ledger
from statedb.database import Connection, Database, StoreUnavailable
from statedb.ledger import Candidate, Claim, Lease, Noted, Owner, PartState, Wire

SWEEP_S = 60.0
"""Between two sweeps, and the longest time that a publisher rests."""
LEASE_S = 120.0
"""How long a claimed part is ours: longer than the port's wait for its turn, its timeouts and the write after them."""
DISTRUST_S = 60.0
"""A clock that is wrong when we start may be set by then: before, nothing is too old."""
FAULT_PAUSE_S = 5.0
"""Before the next step after one that failed."""
LOST_CLAIM_PAUSE_S = 1.0
"""Before the next step where something was due and somebody else took it."""
SWEPT_MAX = 1_000
"""How many parts one sweep takes over at most."""

LANES = {name: channel.keeps_order for name, channel in CHANNELS.items()}

T = TypeVar("T")
log = logging.getLogger(__name__)


class Writer(Protocol):
    """The committer, as far as it is needed here."""

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction and return what it returned once that is on disk. Raises StoreUnavailable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conclusion:
    """What is known of a claimed part before it is on disk."""

    claim: Claim
    following: Following
    server_time_ms: int | None = None


class Publisher:
    """Carries out the reply ledger. `run` is the body of one thread; `wake` may be called from any.

    `owner` names this process; `clock` must not jump; `emit` takes the lines of the event log.
    """

    def __init__(
        self,
        database: Database,
        committer: Writer,
        port: ThreadPort,
        *,
        sealer: Sealer,
        owner: Owner,
        clock: SteadyClock,
        emit: Callable[[LogEvent], None],
    ) -> None:
        self._database = database
        self._committer = committer
        self._port = port
        self._sealer = sealer
        self._owner = owner
        self._clock = clock
        self._emit = emit
        self._woken = threading.Event()
        self._next_sweep_ms = clock.began_ms
        self._owed: deque[_Conclusion] = deque()
        self._first_questions: dict[tuple[str, int], tuple[int, int]] = {}
        """For each part in doubt: after how many tries it was first asked for, and when."""

    def run(self, stop: threading.Event) -> None:
        """Publish until `stop` is set and `wake` called. A send that has begun is waited for."""
        while not stop.is_set():
            self._woken.wait(self._step_safely())
            self._woken.clear()

    def wake(self) -> None:
        """Something was recorded."""
        self._woken.set()

    def step(self) -> float:
        """Send or ask for one part, if one is due; the seconds until the next step is of use, 0 where it is at once.

        Raises StoreUnavailable; what had become known by then is kept and written by the next step.
        """
        self._write_owed()
        if self._clock.now_ms() >= self._next_sweep_ms:
            self._sweep()
        now_ms = self._clock.now_ms()
        candidate = ledger.next_due(self._database.reader(), LANES, now_ms, self._clock.agreed_ms())
        if candidate is None or candidate.due_at_ms > now_ms:
            return self._rest_s(candidate, now_ms)
        claim = self._claim(candidate)
        if claim is None:
            return LOST_CLAIM_PAUSE_S
        if claim.state is PartState.UNKNOWN:
            self._ask(claim)
        else:
            self._send(claim)
        return 0.0

    def _step_safely(self) -> float:
        try:
            return self.step()
        except StoreUnavailable as error:
            log.warning("the store did not take what is known of the replies: %s", error)
        except Exception:  # the fault of one step must not end the publishing of all replies
            log.exception("a reply could not be published")
        return FAULT_PAUSE_S

    def _rest_s(self, candidate: Candidate | None, now_ms: int) -> float:
        """Until something is due or the next sweep."""
        next_ms = self._next_sweep_ms if candidate is None else min(candidate.due_at_ms, self._next_sweep_ms)
        return max(0.0, (next_ms - now_ms) / 1000)

    def _claim(self, candidate: Candidate) -> Claim | None:
        now_ms = self._clock.now_ms()
        lease = Lease(owner_id=self._owner.owner_id, now_ms=now_ms, until_ms=now_ms + round(LEASE_S * 1000))
        return self._committer.write(partial(ledger.claim, candidate=candidate, lease=lease))

    def _send(self, claim: Claim) -> None:
        channel, now_ms = CHANNELS[claim.channel], self._clock.now_ms()
        if not self._committer.write(partial(ledger.may_leave, claim=claim, now_ms=now_ms)):
            log.warning("part %d of reply %s was taken from us before it was sent", claim.part, claim.reply_id)
            return
        self._tell(channel.leaving(claim), claim)
        result = self._speak(channel, claim)
        following = channel.after(result, self._tried(claim, claim.attempts + 1))
        self._conclude(_Conclusion(claim=claim, following=following, server_time_ms=_server_time_ms(result)))

    def _speak(self, channel: Channel, claim: Claim) -> SendResult:
        try:
            return channel.send(self._port, read_target(claim.target), claim.body)
        except Exception as fault:  # whatever went wrong in the port, the request may have left before
            log.exception("the port failed while it sent reply %s", claim.reply_id)
            return InDoubt(type(fault).__name__)

    def _ask(self, claim: Claim) -> None:
        """Look for a part in doubt on its thread."""
        target = read_target(claim.target)
        listing = self._list(claim, target)
        finding = probe.find(listing, claim.reply_id, claim.part, target.thread, self._sealer)
        asked = Asked(
            sends=claim.attempts,
            questions=claim.questions + 1,
            tried_at_ms=self._latest_try_ms(claim),
            absent_since_ms=claim.absent_since_ms,
            now_ms=self._clock.now_ms(),
        )
        is_found, is_complete = isinstance(finding, Found), isinstance(listing, Listing) and listing.complete
        self._tell(
            ReplyProbed(reply_id=claim.reply_id, part=claim.part + 1, found=is_found, complete=is_complete), claim
        )
        if isinstance(finding, Found) and finding.others:
            log.warning("reply %s stands on its thread more than once: also %s", claim.reply_id, finding.others)
        self._conclude(_Conclusion(claim=claim, following=sending.after_question(finding, asked)))

    def _list(self, claim: Claim, target: Target) -> Listing | NoAnswer:
        since_ms = sending.ask_since_ms(claim.first_server_time_ms, claim.recorded_at_ms)
        try:
            return self._port.own_comments(target.thread, target.repository, since_ms)
        except Exception as fault:  # a question that fails is asked again
            log.exception("the port failed while it looked for reply %s", claim.reply_id)
            return NoAnswer(type(fault).__name__)

    def _latest_try_ms(self, claim: Claim) -> int:
        """The latest time at which the part's last try may have begun.

        A stored time may have been written by a clock that was wrong. But every try was made before we first asked for
        it, and one that an earlier process made counts from our start.
        """
        key, now_ms = (claim.reply_id, claim.part), self._clock.now_ms()
        attempts, first_question_ms = self._first_questions.get(key, (claim.attempts, now_ms))
        if attempts != claim.attempts:
            first_question_ms = now_ms
        self._first_questions[key] = (claim.attempts, first_question_ms)
        tried_at_ms = now_ms if claim.tried_at_ms is None else claim.tried_at_ms
        return max(self._clock.began_ms, min(tried_at_ms, first_question_ms))

    def _sweep(self) -> None:
        """Say that we live, take over what others left behind, and end what is too old."""
        now_ms = self._clock.now_ms()
        shortened = self._committer.write(partial(self._tidy, now_ms=now_ms))
        if shortened:
            log.warning("%d waits lay further ahead than any rule puts them, and were shortened", shortened)
        self._sweep_lapsed()
        if now_ms - self._clock.began_ms >= DISTRUST_S * 1000:
            self._sweep_expired()
        self._next_sweep_ms = now_ms + round(SWEEP_S * 1000)

    def _tidy(self, connection: Connection, now_ms: int) -> int:
        ledger.beat(connection, self._owner, now_ms)
        wait_max_ms, lease_max_ms = round(sending.WAIT_MAX_S * 1000), round(LEASE_S * 1000)
        return ledger.clamp(connection, now_ms, wait_max_ms=wait_max_ms, lease_max_ms=lease_max_ms)

    def _sweep_lapsed(self) -> None:
        for _ in range(SWEPT_MAX):
            candidate = ledger.next_lapsed(self._database.reader(), LANES, self._clock.now_ms())
            claim = self._claim(candidate) if candidate is not None else None
            if claim is None:
                return
            if claim.wire is Wire.NEVER:
                following: Following = sending.after_never_left(self._clock.now_ms())
            else:
                tried = self._tried(claim, claim.attempts)
                following = CHANNELS[claim.channel].after(InDoubt("owner-lost"), tried)
            self._conclude(_Conclusion(claim=claim, following=following))

    def _sweep_expired(self) -> None:
        for _ in range(SWEPT_MAX):
            candidate = ledger.next_expired(
                self._database.reader(), LANES, self._clock.now_ms(), self._clock.agreed_ms()
            )
            claim = self._claim(candidate) if candidate is not None else None
            if claim is None:
                return
            self._conclude(_Conclusion(claim=claim, following=Abandon("expired")))

    def _conclude(self, conclusion: _Conclusion) -> None:
        self._owed.append(conclusion)
        self._write_owed()

    def _write_owed(self) -> None:
        """Write what is known; where the store does not take it, it stays owed: a receipt must not be lost."""
        while self._owed:
            conclusion = self._owed[0]
            noted = self._committer.write(
                partial(
                    ledger.conclude,
                    claim=conclusion.claim,
                    following=conclusion.following,
                    now_ms=self._clock.now_ms(),
                    server_time_ms=conclusion.server_time_ms,
                )
            )
            self._owed.popleft()
            self._noted(conclusion, noted)

    def _noted(self, conclusion: _Conclusion, noted: Noted) -> None:
        claim, following = conclusion.claim, conclusion.following
        if not isinstance(following, Doubt):
            self._first_questions.pop((claim.reply_id, claim.part), None)
        if noted is Noted.STALE:
            log.warning(
                "part %d of reply %s was taken from us: %s is not recorded", claim.part, claim.reply_id, following
            )
        elif noted is Noted.WRITTEN or isinstance(following, Delivered):
            self._tell(CHANNELS[claim.channel].told(claim, following), claim)

    def _tell(self, line: LogEvent | None, claim: Claim) -> None:
        """Emit a line with what it is about."""
        if line is None:
            return
        target = read_target(claim.target)
        label = Label(host=target.thread.host, repository=target.repository, number=target.thread.number)
        event_key = None if claim.turn_id else EventKey(claim.origin)
        self._emit(replace(line, work_item=str(label), turn_id=claim.turn_id, event_key=event_key))

    def _tried(self, claim: Claim, sends: int) -> Tried:
        return Tried(sends=sends, failed_unsent_before=claim.failed_unsent, now_ms=self._clock.now_ms())


def _server_time_ms(result: SendResult) -> int | None:
    match result:
        case Posted(server_time_ms=server_time_ms) | InDoubt(server_time_ms=server_time_ms):
            return server_time_ms
        case NotSent() | Refused():
            return None
