"""The one dispatch path: every road ends here, and what is decided of an event is on disk before anyone is told.

`submit` and `handle` put an event in front of the committer; the committer calls the Dispatcher back as its plan, a
pass over the batch in order in which each event sees those before it. `_on_unmatched`, `_apply_control`,
`_reject_control` and `_settle` are the steps of that pass: they return rows. `_dispatch_one` judges once more when
something is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from domain import texts
from domain.decision import (
    Ambiguous,
    Answer,
    Apply,
    Ask,
    Behind,
    Close,
    Decision,
    Leave,
    Note,
    Queue,
    Reject,
    Replace,
    Settle,
    Suppress,
    Withdraw,
)
from domain.model import (
    Delivery,
    Event,
    EventKey,
    Fact,
    Fate,
    ItemId,
    Outcome,
    PassReason,
    UnhandledReason,
)
from domain.policy import ItemView, Policy, View, decide, judge_again
from eventlog.event import LogEvent
from eventlog.events.dispatch import DispatchDuplicate
from replies.record import SEEN, Recorder
from statedb import reading
from statedb.committer import BlockingNotifier, Committer, Notifier, Ticket
from statedb.database import Connection
from statedb.rows import (
    FateRow,
    ItemRow,
    PinnedAccount,
    Step,
    derived_fate,
    derived_outcome,
)
from statedb.writing import write_rows
from webhook import commands, decisions, known_texts
from webhook.batch import Batch
from webhook.handled import Handled, Status, Submission
from webhook.own_words import own_words
from webhook.router import Deduper, Passed, Router, first_pin, verbs_of

SETTLED_SUPPRESSED = (Outcome.AWAITING_START, Outcome.SESSION_PAUSED, Outcome.SESSION_STOPPED)
"""Comments refused on purpose: finished with, and never replayed."""
SETTLED_CONTROL_EXECUTED = Outcome.CONTROL_EXECUTED
SETTLED_CONTROL_REJECTED = Outcome.CONTROL_REJECTED
SETTLED_CONTROL_AMBIGUOUS = Outcome.CONTROL_AMBIGUOUS

FIRST_STEPS: Mapping[type[Decision], Step] = {Queue: Step.QUEUED, Ask: Step.NEED, Behind: Step.BEHIND}
"""Where an event stands that has to wait; one of any other decision waits for nothing, unless its effect is to come."""

HANDLE_S = 8.0
"""How long `handle` waits for the store before it is overloaded."""


class Dispatcher:
    """Decides what becomes of events. Safe to use from any thread; deciding itself happens on the committer's."""

    def __init__(
        self,
        committer: Committer[Submission, Handled],
        router: Router,
        deduper: Deduper,
        policy: Policy,
        recorder: Recorder,
        *,
        clock: Callable[[], int],
        own_accounts: Mapping[str, int],
        pins: dict[str, int],
        emit: Callable[[LogEvent], None],
        wake: Callable[[ItemId], None],
        publish: Callable[[], None],
        emit_all: Callable[[Sequence[LogEvent]], None] | None = None,
    ) -> None:
        """`own_accounts`: host → the id of the account that we post as, as far as known. `pins`: the dictionary behind
        the policy's authorities, which learns. `wake` tells the workers of an item that has work, `publish` that something to
        say was recorded. `emit_all` writes the lines of a batch at once (None: one by one, by `emit`)."""
        self._committer = committer
        self._router = router
        self.deduper = deduper
        self.policy = policy
        self._recorder = recorder
        self._clock = clock
        self._own_accounts = own_accounts
        self._pins = pins
        self._emit_all = emit_all or partial(decisions.one_by_one, emit)
        self._wake = wake
        self._publish = publish
        committer.serve(self)

    def submit(self, event: Event, delivery: Delivery, notifier: Notifier) -> Ticket[Handled] | Handled:
        """Route the event and put it in front of the committer, without waiting.

        A Handled at once is an event that the Router let pass. Raises Overloaded when the queue is full.
        """
        routed = self._router.route(event)
        if isinstance(routed, Passed):
            passed = self._passed(event, delivery, routed.reason)
            self._emit_all(passed.log)
            return passed
        return self._committer.submit(Submission(event, delivery), notifier)

    def handle(self, event: Event, delivery: Delivery, timeout_s: float = HANDLE_S) -> Handled:
        """Submit and wait until it is on disk. Safe to repeat. Raises StoreUnavailable: then nothing was recorded."""
        notifier = BlockingNotifier()
        submitted = self.submit(event, delivery, notifier)
        return submitted if isinstance(submitted, Handled) else notifier.wait(submitted, timeout_s)

    def delivery_status(self, connection: Connection, event_key: EventKey) -> Fate:
        """The derived fate of an event; unhandled also where it is unknown."""
        return derived_fate(reading.fates_of(connection, [event_key]).get(event_key, []))

    def delivery_outcome(self, connection: Connection, event_key: EventKey) -> str:
        """Why a settled event is settled; empty unless all its rows are."""
        return derived_outcome(reading.fates_of(connection, [event_key]).get(event_key, []))

    def __call__(self, connection: Connection, batch: Sequence[Submission]) -> Sequence[Handled]:
        """The committer's plan: decide the batch in order and write its rows, inside the open transaction."""
        events = [submission.event for submission in batch]
        keys = {event.key for event in events if event.key} | {known_texts.creation_key(event) for event in events}
        state = Batch(connection, reading.see(connection, events, keys), self._clock())
        handled = [self._one(state, submission) for submission in batch]
        write_rows(connection, state.rows, state.now_ms)
        return handled

    def committed(self, answers: Sequence[Handled]) -> None:
        """The rows are on disk: now the Deduper, the log and the workers may know."""
        for answer in answers:
            if answer.pinned is not None:
                login, account_id = answer.pinned
                self._pins.setdefault(login, account_id)
            for key, outcome in answer.marks:
                if outcome is None:
                    self.deduper.discard(key)
                else:
                    self.deduper.add(key, outcome)
        self._emit_all([line for answer in answers for line in answer.log])
        for item_id in dict.fromkeys(answer.item_id for answer in answers if answer.item_id is not None):
            self._wake(item_id)
        if any(answer.says for answer in answers):
            self._publish()

    def decide_again(self, connection: Connection, event: Event, row: FateRow, facts: ItemView) -> Handled:
        """Decide an event that lacked a fact, or waited behind one that did, inside a transaction of the worker's.

        `facts` carries what was asked for. Tell `committed` of the result once it is on disk.
        """
        state = Batch(connection, reading.see(connection, [event], [row.event_key]), self._clock())
        state.no_longer_undecided(row.item_id, row.place)
        item = state.claim_item(event)
        view = state.view(event, item)
        view = replace(view, item=replace(view.item, snapshot=facts.snapshot, is_gone=facts.is_gone))
        event, view = known_texts.as_first_read(event, view, row, self.policy.authorities)
        decided = self._carry(state, event, row.event_key, item, view, attempts=row.attempts)
        write_rows(connection, state.rows, state.now_ms)
        return self._handled(state, decided)

    def _dispatch_one(self, event: Event, item: ItemView) -> Outcome | None:
        """Judge once more what is about to be handed over: why it may not be, or None. The item's lease is held."""
        return judge_again(event, item, self.policy)

    judge = _dispatch_one

    # The steps of the plan

    def _one(self, state: Batch, submission: Submission) -> Handled:
        event, delivery = known_texts.as_known(state, submission.event), submission.delivery
        own_id = self._own_accounts.get(event.thread.host)
        ours = own_words(state, event, own_id, self._recorder.sealer) or self._not_allowed(event)
        if ours is not None:
            return self._passed(event, delivery, ours)
        if event.fact is Fact.SNAPSHOT:
            return self._note(state, event)
        if event.fact is Fact.CLOSURE and state.item_of(event) is None:
            return self._passed(event, delivery, PassReason.NO_WORK_ITEM)
        keyed = event.key is not None
        key = event.key or EventKey(f"{event.thread.host}/unkeyed/{delivery.delivery_id}")
        event = event if keyed else replace(event, key=key)
        known = state.seen.fates.get(key, [])
        if known and not _may_be_claimed(known):
            return self._duplicate(state, event, key, delivery, known)
        state.accept(event, key)
        pinned = self._pin(state, event)
        item = state.claim_item(event)
        view = state.view(event, item)
        row = self._carry(state, event, key, item, known_texts.unread(view) if known else view)
        state.rows.deliveries.append(decisions.arrival(delivery, key, state.now_ms, row.fate))
        state.log.insert(0, decisions.accepted_line(event, key, delivery))
        return self._handled(state, row, keyed=keyed, pinned=pinned)

    def _carry(
        self, state: Batch, event: Event, key: EventKey, item: ItemRow, view: View, attempts: int = 0
    ) -> FateRow:
        """Decide one event and put down what follows from it."""
        decision = decide(event, view, self.policy)
        known_texts.remember(state, event, key, item, decision)
        blank = FateRow(
            event_key=key,
            item_id=item.item_id,
            fate=Fate.INFLIGHT,
            step=FIRST_STEPS.get(type(decision), Step.NONE),
            place=event.place,
            attempts=attempts,
            decision=decisions.record(decision, event, view, self.policy),
            decided_at_ms=state.now_ms,
            changed_at_ms=state.now_ms,
        )
        row = state.put_fate(self._match(state, event, item, decision, blank))
        state.log += decisions.log_lines(event, item, row, decision)
        return row

    def _match(self, state: Batch, event: Event, item: ItemRow, decision: Decision, row: FateRow) -> FateRow:
        match decision:
            case Queue():
                return self._queue(state, event, item, decision, row)
            case Suppress(outcome=Outcome.SESSION_PAUSED):
                self._refused(state, event, item, decision)
                return self._settle(row, Outcome.SESSION_PAUSED)
            case Suppress():
                self._refused(state, event, item, decision)
                return self._on_unmatched(row, decision.outcome)
            case Leave():
                return self._on_unmatched(row, decision.reason)
            case Settle():
                return self._settle(row, decision.outcome)
            case Ask():
                return replace(row, verb=verbs_of(event)[0])
            case Behind():
                return row
            case Apply():
                return self._apply_control(state, event, item, decision, row)
            case Close():
                return commands.close(state, event, item, decision, row)
            case Answer():
                return self._answer(state, event, item, decision, row)
            case Reject():
                return self._reject_control(state, event, item, decision, row)
            case Ambiguous():
                self._say(state, event, item, "refusal", texts.ambiguous(decision.verbs))
                return self._settle(row, SETTLED_CONTROL_AMBIGUOUS)
            case Replace():
                commands.replace_text(state, event)
                self._warn_of_edit(state, event, item, decision.commands_ignored)
                return self._settle(row, Outcome.SUPERSEDED)
            case Withdraw():
                commands.withdraw(state, event)
                return self._settle(row, Outcome.WITHDRAWN)
            case Note():
                return row
            case _:
                assert_never(decision)

    def _settle(self, row: FateRow, outcome: Outcome) -> FateRow:
        """We are finished with this event: the mark stays, and says why. The one place where an event is settled."""
        return replace(row, fate=Fate.SETTLED, step=Step.NONE, outcome=outcome, reason=None, turn_id=None)

    def _on_unmatched(self, row: FateRow, refusal: Outcome | UnhandledReason) -> FateRow:
        """No session may have this comment: settled if it is refused on purpose, else its mark is released."""
        if isinstance(refusal, Outcome) and refusal in SETTLED_SUPPRESSED:
            return self._settle(row, refusal)
        reason = refusal if isinstance(refusal, UnhandledReason) else UnhandledReason.SPAWN_POLICY
        return replace(row, fate=Fate.UNHANDLED, step=Step.NONE, reason=reason)

    def _apply_control(self, state: Batch, event: Event, item: ItemRow, decision: Apply, row: FateRow) -> FateRow:
        """The comment was the instruction: fold it in; it is settled when its effect is confirmed."""
        applied = commands.apply(state, event, item, decision, row)
        state.say(self._recorder.reaction(event, SEEN, item_id=item.item_id, now_ms=state.now_ms))
        if applied.fate is Fate.INFLIGHT:
            return applied
        commands.acknowledge(state, self._recorder, event, item, applied)
        return self._settle(applied, SETTLED_CONTROL_EXECUTED)

    def _reject_control(self, state: Batch, event: Event, item: ItemRow, decision: Reject, row: FateRow) -> FateRow:
        """A command that is refused: a short reply, and nothing stands of it."""
        if decision.stands:
            commands.fold_in(state, event, item, decision.verb)
        text = texts.rejected(decision.reason, decision.verb, self.policy.label, decision.near_miss)
        self._say(state, event, item, "refusal", text)
        return self._settle(replace(row, verb=decision.verb), SETTLED_CONTROL_REJECTED)

    def _queue(self, state: Batch, event: Event, item: ItemRow, decision: Queue, row: FateRow) -> FateRow:
        if decision.rearm:
            commands.rearm(state, item)
        self._warn_of_edit(state, event, item, decision.commands_ignored)
        state.say(self._recorder.reaction(event, SEEN, item_id=item.item_id, now_ms=state.now_ms))
        return replace(row, effect="edit") if decision.as_edit else row

    def _refused(self, state: Batch, event: Event, item: ItemRow, decision: Suppress) -> None:
        """Refused is not hidden: the next session hears how many, and since when."""
        commands.count_refused(state, item, event.place.at_ms)
        self._warn_of_edit(state, event, item, decision.commands_ignored)

    def _answer(self, state: Batch, event: Event, item: ItemRow, decision: Answer, row: FateRow) -> FateRow:
        text = commands.answer(state, item, decision.verb)
        self._say(state, event, item, "answer-of-ours", text)
        return self._settle(replace(row, verb=decision.verb, effect="answered"), SETTLED_CONTROL_EXECUTED)

    def _note(self, state: Batch, event: Event) -> Handled:
        """Take the item's snapshot, if the item is ours."""
        if state.item_of(event) is None:
            return Handled(status=Status.IGNORED, reason=PassReason.NO_WORK_ITEM)
        state.claim_item(event)
        return Handled(status=Status.IGNORED, reason=PassReason.NOT_FOR_US)

    def _duplicate(
        self, state: Batch, event: Event, key: EventKey, delivery: Delivery, known: list[FateRow]
    ) -> Handled:
        item = state.item_of(event)
        names_somebody = event.fact is Fact.CLOSURE and self.policy.authorities.may(event.actor)
        if item is not None and names_somebody:
            commands.ask_removal(state, item)
        fate, outcome = derived_fate(known), derived_outcome(known)
        state.rows.deliveries.append(decisions.arrival(delivery, key, state.now_ms, fate))
        line = DispatchDuplicate(
            delivery_id=delivery.delivery_id, event_key=key, road=delivery.road, fate=fate, outcome=outcome or None
        )
        return Handled(
            status=Status.DUPLICATE,
            event_key=key,
            fate=fate,
            outcome=outcome,
            item_id=item.item_id if item is not None and names_somebody else None,
            marks=((key, outcome),),
            log=(line,),
        )

    def _handled(
        self, state: Batch, row: FateRow, *, keyed: bool = True, pinned: tuple[str, int] | None = None
    ) -> Handled:
        """The answer for one event, taking the lines it logged."""
        log, state.log = tuple(state.log), []
        marks, state.marks = tuple(state.marks), []
        return Handled(
            status=Status.ACCEPTED,
            event_key=row.event_key,
            fate=row.fate,
            outcome=row.outcome or "",
            reason=row.reason or "",
            item_id=row.item_id,
            marks=marks if keyed else tuple(mark for mark in marks if mark[0] != row.event_key),
            log=log,
            says=bool(state.rows.replies),
            pinned=pinned,
        )

    def _passed(self, event: Event, delivery: Delivery, reason: PassReason) -> Handled:
        line = decisions.dropped_line(event, delivery, reason)
        return Handled(status=Status.IGNORED, event_key=event.key, reason=reason, log=(line,))

    def _not_allowed(self, event: Event) -> PassReason | None:
        """Our own account is let through for its receipts; what it says beside them needs a right like anybody's."""
        needs_right = event.fact not in (Fact.CLOSURE, Fact.SNAPSHOT)
        allowed = not needs_right or self.policy.authorities.may(event.actor)
        return None if allowed else PassReason.UNAUTHORIZED_ACTOR

    def _pin(self, state: Batch, event: Event) -> tuple[str, int] | None:
        account = first_pin(event, self.policy.authorities)
        if account is None:
            return None
        login = account.login.lower()
        state.rows.accounts.append(PinnedAccount(host=event.thread.host, login=login, account_id=account.id))
        return login, account.id

    def _say(self, state: Batch, event: Event, item: ItemRow, kind: str, text: str) -> None:
        commands.say(state, self._recorder, event, item, kind, text)

    def _warn_of_edit(self, state: Batch, event: Event, item: ItemRow, ignored: bool) -> None:
        if ignored:
            self._say(state, event, item, "refusal", texts.edited_command())


def _may_be_claimed(rows: Sequence[FateRow]) -> bool:
    return derived_fate(rows) is Fate.UNHANDLED and not any(row.gave_up for row in rows)
