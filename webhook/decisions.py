"""What is kept of a decision: the record that `explain` reads, and the lines of the event log."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypedDict

from domain.decision import Ambiguous, Apply, Close, Decision, Effect, Queue, Reject
from domain.model import Account, Delivery, Event, EventKey, Fact, Fate, Operator, Outcome, PassReason
from domain.policy import Policy, View
from eventlog.event import LogEvent
from eventlog.events.cleanup import CleanupDeferred
from eventlog.events.control import ControlAmbiguous, ControlCommand, ControlExecuted, ControlRejected
from eventlog.events.dispatch import (
    DispatchAccepted,
    DispatchQueued,
    DispatchRearmed,
    DispatchSettled,
    DispatchUnhandled,
)
from eventlog.events.routing import RoutingDropped
from statedb import codec
from statedb.rows import DeliveryRow, FateRow, ItemRow, Step


class About(TypedDict):
    """What every line of a decision is about."""

    event_key: str
    work_item: str


def record(decision: Decision, event: Event, view: View, policy: Policy) -> str:
    """The decision with all that it looked at but the event's own text, so that the truth of that moment can be told later."""
    item = view.item
    snapshot = item.snapshot or event.snapshot
    seen: dict[str, object] = {
        "phase": item.phase,
        "opening": codec.write_place(item.folded.opening) if item.folded.opening else None,
        "undecided": len(item.undecided),
        "refused": item.refused,
        "session": item.has_session,
        "other_instance": item.other_instance,
        "labels": list(snapshot.labels) if snapshot else None,
    }
    if view.text is not None:
        seen["text"] = {
            "updated": view.text.updated_at_ms,
            "verbs": list(view.text.verbs),
            "deleted": view.text.is_deleted,
            "waiting": view.text.is_waiting,
        }
    return codec.dump(
        {"decision": type(decision).__name__, **_own_fields(decision), "view": seen, "policy": policy.digest}
    )


def log_lines(event: Event, item: ItemRow, row: FateRow, decision: Decision) -> list[LogEvent]:
    """The facts of a decision that an operator would count or search."""
    about = About(event_key=row.event_key, work_item=str(event.label))
    actor = actor_name(event)
    lines: list[LogEvent] = []
    match decision:
        case Apply(command=command):
            phase = item.folded.phase
            lines.append(ControlCommand(verb=command.verb, effect=row.effect, actor=actor or "", phase=phase, **about))
        case Reject(reason=reason, verb=verb, near_miss=miss):
            meant = miss.meant if miss else None
            lines.append(ControlRejected(reason=reason, verb=verb, actor=actor, meant=meant, **about))
        case Close(effect=Effect.CLOSED, removes=False):
            why = "nobody named" if event.actor is None else "no right"
            lines.append(CleanupDeferred(reason=why, actor=actor, **about))
        case Ambiguous(verbs=verbs):
            lines.append(ControlAmbiguous(verbs=verbs, actor=actor, **about))
        case Queue(rearm=True):
            lines.append(DispatchRearmed(**about))
    return lines + _of_fate(row, actor, about)


def actor_name(event: Event) -> str | None:
    """Who stands behind the event, for the log."""
    match event.actor:
        case Account(login=login):
            return login
        case Operator(name=name):
            return f"operator:{name}"
        case None:
            return "nobody" if event.fact is Fact.CLOSURE else None


def _of_fate(row: FateRow, actor: str | None, about: About) -> list[LogEvent]:
    if row.outcome is Outcome.CONTROL_EXECUTED:
        return [ControlExecuted(verb=row.verb or "close", effect=row.effect, **about)]
    if row.fate is Fate.SETTLED and row.outcome is not None:
        return [DispatchSettled(outcome=row.outcome, actor=actor, **about)]
    if row.fate is Fate.UNHANDLED:
        return [DispatchUnhandled(reason=row.reason or "", **about)]
    if row.step is Step.QUEUED:
        return [DispatchQueued(**about)]
    return []


def _own_fields(decision: Decision) -> dict[str, object]:
    """What the decision itself says, one level deep; what is nested stands in the view."""
    fields: dict[str, object] = {}
    kind: type = type(decision)
    for name in _field_names(kind):
        value = getattr(decision, name)
        if isinstance(value, (str, int, bool)):
            fields[name] = value
    if isinstance(decision, Apply):
        fields["verb"] = decision.command.verb
    return fields


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def dropped_line(event: Event, delivery: Delivery, reason: PassReason) -> LogEvent:
    """What the log says of an event that the Router let pass."""
    actor = event.actor.login if isinstance(event.actor, Account) else None
    return RoutingDropped(
        delivery_id=delivery.delivery_id,
        event_key=event.key,
        work_item=str(event.label),
        reason=reason,
        road=delivery.road,
        github_event=event.fact,
        action=event.change,
        actor=actor,
    )


def accepted_line(event: Event, key: EventKey, delivery: Delivery) -> LogEvent:
    """What the log says of an event that is on disk."""
    return DispatchAccepted(
        delivery_id=delivery.delivery_id,
        event_key=key,
        work_item=str(event.label),
        road=delivery.road,
        kind=event.fact,
        actor=event.actor.login if isinstance(event.actor, Account) else None,
    )


def arrival(delivery: Delivery, key: EventKey, now_ms: int, fate: Fate) -> DeliveryRow:
    """The row of one more arrival of an event that has that fate."""
    return DeliveryRow(
        road=delivery.road,
        delivery_id=delivery.delivery_id,
        event_key=key,
        at_ms=now_ms,
        resolved=fate in (Fate.DONE, Fate.SETTLED),
    )


def one_by_one(emit: Callable[[LogEvent], None], lines: Sequence[LogEvent]) -> None:
    """Write the lines of a batch where nothing writes them at once."""
    for line in lines:
        emit(line)
