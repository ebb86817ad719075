"""An explanation as programs read it."""

from __future__ import annotations

import json

from domain.model import Account, Actor, Event, Label, Operator
from service.explain import Decided, Explanation, Story
from service.telling import iso
from statedb.inquiries import ItemStanding, PartFound, SessionFound, TurnFound

Form = dict[str, object]


def form(explanation: Explanation) -> Form:
    """All of it; times are ISO 8601 in UTC, None where there is none."""
    return {
        "asked": explanation.asked,
        "items": [item_form(standing) for standing in explanation.items],
        "events": [story_form(story) for story in explanation.stories],
        "log": [json.loads(entry.text) for entry in explanation.log],
    }


def item_form(standing: ItemStanding) -> Form:
    """A work item as it stands."""
    item, snapshot = standing.item, standing.item.snapshot
    failed = item.failed_generation is not None and item.failed_generation == item.folded.generation
    return {
        "work_item": str(Label(host=item.home.host, repository=item.repository, number=item.home.number)),
        "title": snapshot.title if snapshot else None,
        "kind": snapshot.kind if snapshot else None,
        "open": snapshot.is_open if snapshot else None,
        "labels": list(snapshot.labels) if snapshot else None,
        "phase": "failed" if failed else item.folded.phase,
        "generation": item.folded.generation,
        "session": _session(standing.session) if standing.session else None,
        "in_turn": standing.in_turn,
        "waiting": standing.waiting,
        "gave_up": standing.gave_up,
        "refused": item.refused,
        "refused_since": iso(item.refused_since_ms),
        "changed_at": iso(item.changed_at_ms),
    }


def story_form(story: Story) -> Form:
    """One event."""
    kept = story.kept
    return {
        "event_key": story.key,
        "event": _event(kept.event) | {"accepted_at": iso(kept.accepted_at_ms)} if kept else None,
        "right_now": story.right,
        "arrivals": [
            {
                "road": each.road,
                "delivery_id": each.delivery_id,
                "first_at": iso(each.first_at_ms),
                "last_at": iso(each.last_at_ms),
                "count": each.count,
                "resolved_at": iso(each.resolved_at_ms),
            }
            for each in story.arrivals
        ],
        "reading": _reading(kept.event) if kept else None,
        "fate": story.fate,
        "decisions": [_decision(decided) for decided in story.decided],
        "turns": [_turn(turn) for turn in story.turns],
        "replies": [_part(part) for part in story.parts],
    }


def _event(event: Event) -> Form:
    return {
        "fact": event.fact,
        "change": event.change,
        "work_item": str(event.label),
        "url": event.url,
        "title": event.title,
        "by": _who(event.actor),
        "edited_unseen": event.edited_unseen,
    }


def _who(actor: Actor | None) -> Form | None:
    match actor:
        case None:
            return None
        case Operator(name=name):
            return {"operator": name}
        case Account(login=login, id=number, is_bot=is_bot):
            return {"login": login, "id": number, "bot": is_bot}


def _reading(event: Event) -> Form | None:
    reading = event.reading
    if reading is None:
        return None
    return {
        "commands": [{"verb": command.verb, "flags": sorted(command.flags)} for command in reading.commands],
        "near_misses": [{"written": miss.written, "meant": miss.meant} for miss in reading.near_misses],
        "ignored": [
            {"line": place.line, "written": place.written, "because": place.because} for place in reading.ignored
        ],
        "truncated": reading.truncated,
    }


def _decision(decided: Decided) -> Form:
    row = decided.row
    return {
        "work_item": decided.item,
        "decision": decided.name,
        "said": decided.said,
        "view": decided.view,
        "policy": decided.policy,
        "decided_at": iso(row.decided_at_ms),
        "fate": row.fate,
        "step": row.step,
        "outcome": row.outcome,
        "reason": row.reason,
        "verb": row.verb,
        "effect": row.effect,
        "attempts": row.attempts,
        "next_at": iso(row.next_at_ms),
        "changed_at": iso(row.changed_at_ms),
    }


def _turn(turn: TurnFound) -> Form:
    return {
        "turn_id": turn.turn_id,
        "session_id": turn.session_id,
        "state": turn.state,
        "kind": turn.kind,
        "frozen_at": iso(turn.frozen_at_ms),
        "handed_at": iso(turn.handed_at_ms),
        "taken_at": iso(turn.taken_at_ms),
        "ended_at": iso(turn.ended_at_ms),
        "receipt": turn.receipt,
        "stop_reason": turn.stop_reason,
        "used": json.loads(turn.used or "{}"),
        "interruptions": turn.interruptions,
        "event_keys": list(turn.keys),
    }


def _part(part: PartFound) -> Form:
    return {
        "reply_id": part.reply_id,
        "origin": part.origin,
        "kind": part.kind,
        "channel": part.channel,
        "part": part.part,
        "state": part.state,
        "wire": part.wire,
        "attempts": part.attempts,
        "retry_at": iso(part.retry_at_ms),
        "trouble": part.fail_text,
        "url": part.url,
        "text": part.whole,
        "recorded_at": iso(part.created_at_ms),
    }


def _session(session: SessionFound) -> Form:
    return {
        "session_id": session.session_id,
        "harness": session.harness,
        "state": session.state,
        "branch": session.branch,
        "clone": session.clone,
        "waits_for_person": session.waits_for_person,
        "created_at": iso(session.created_at_ms),
        "last_turn_at": iso(session.last_turn_at_ms),
        "ended_at": iso(session.ended_at_ms),
        "end_reason": session.end_reason,
    }
