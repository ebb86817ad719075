"""An explanation as one page of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from domain.model import Account, Actor, Change, Event, Fact, Fate, Label, Operator
from eventlog.output import as_rows
from service import meanings
from service.explain import Decided, Explanation, Story
from service.telling import at, count, cut, harmless, harmless_lines, times
from statedb.inquiries import Arrivals, ItemStanding, PartFound, TurnFound
from statedb.rows import FateRow

MARGIN = 11
LINES_MAX = 12
LINE_CHARACTERS_MAX = 200
"""So much of a reply is shown unless all of it is asked for."""

Line = tuple[str, str]
"""What a line is about (empty: what the line before is about) and what it says."""


def page(explanation: Explanation, whole: bool) -> Iterator[str]:
    """The lines of the page. `whole`: every reply with all of its text."""
    for standing in explanation.items:
        yield from _aligned(item_lines(standing))
        yield ""
    if explanation.items:
        yield from _short_list(explanation)
        return
    for number, story in enumerate(explanation.stories):
        yield from [""] if number else []
        yield harmless(story.key)
        yield from _aligned(story_lines(story, whole))
    if explanation.log:
        yield f"{harmless(explanation.asked)} left no row; the event log says:"
        yield from (f"  {row}" for row in as_rows(explanation.log))
        yield from _passed_words(explanation)


def item_lines(standing: ItemStanding) -> Iterator[Line]:
    """How a work item stands."""
    item, session = standing.item, standing.session
    snapshot = item.snapshot
    label = Label(host=item.home.host, repository=item.repository, number=item.home.number)
    yield "item", f"{label} {harmless(snapshot.title) if snapshot else ''}".rstrip()
    if snapshot:
        state = "open" if snapshot.is_open else "closed"
        yield "", f"{snapshot.kind}, {state}, labels: {harmless(', '.join(snapshot.labels)) or 'none'}"
    failed = item.failed_generation is not None and item.failed_generation == item.folded.generation
    yield "phase", "failed (the start gave up; the next comment tries again)" if failed else item.folded.phase
    if item.folded.last:
        yield (
            "",
            f"by `{item.folded.last.verb}` of {at(item.folded.last.place.at_ms)}, {harmless(item.folded.last.key)}",
        )
    if session is None:
        yield "session", "none yet"
    else:
        ended = f", {session.end_reason}, {at(session.ended_at_ms)}" if session.ended_at_ms else ""
        waits = ", waits for a person's answer" if session.waits_for_person else ""
        yield "session", f"{session.session_id} ({session.harness}): {session.state}{ended}{waits}"
        yield "", f"branch {harmless(session.branch)}, clone {session.clone}"
    at_work = "a turn runs" if standing.in_turn else "no turn runs"
    yield "waiting", f"{count(standing.waiting, 'event')}; {at_work}"
    if standing.gave_up:
        yield "gave up", count(standing.gave_up, "event")
    if item.refused:
        yield "refused", f"{count(item.refused, 'comment')} since {at(item.refused_since_ms)}, told to the session next"


def story_lines(story: Story, whole: bool) -> Iterator[Line]:
    """One event from its arrival to what was said about it."""
    if story.kept is None:
        yield "event", "its text is not kept any more"
    else:
        yield from _event_lines(story.kept.event, story.right)
    yield from _labelled("arrived", (_arrival(each) for each in story.arrivals))
    if story.kept is not None:
        yield from _labelled("read as", _reading(story.kept.event))
    for decided in story.decided:
        yield from _decision_lines(decided)
    for turn in story.turns:
        yield from _turn_lines(turn)
    yield from _labelled("said", (line for part in story.parts for line in _part(part, whole)))


def _event_lines(event: Event, right: str) -> Iterator[Line]:
    change = "" if event.change is Change.CREATED else f", {event.change}"
    yield "event", f"{event.fact}{change}, on {event.label} {cut(harmless(event.title), 80)}".rstrip()
    if event.url:
        yield "", harmless(event.url)
    yield "by", f"{_who(event.actor)}{'; ' + right if right else ''}"
    if event.edited_unseen:
        yield "", "it had been edited before we first read it, and nobody knows by whom"


def _who(actor: Actor | None) -> str:
    match actor:
        case None:
            return "nobody named"
        case Operator(name=name):
            return f"the operator, {harmless(name)}"
        case Account(login=login, id=number, is_bot=is_bot):
            return f"{harmless(login)} (id {number}{', a bot' if is_bot else ''})"


def _arrival(arrivals: Arrivals) -> str:
    last = f", last {at(arrivals.last_at_ms)}" if arrivals.count > 1 else ""
    return f"{at(arrivals.first_at_ms)} by {arrivals.road}, {times(arrivals.count)}{last}, {harmless(arrivals.delivery_id)}"


def _reading(event: Event) -> Iterator[str]:
    reading = event.reading
    if event.fact in (Fact.CLOSURE, Fact.SNAPSHOT):
        yield "a fact about the item, no text"
        return
    if reading is None or not (reading.commands or reading.near_misses):
        yield "a comment, no command" if event.body else "an empty or no longer kept text"
    if reading is None:
        return
    for command in reading.commands:
        flags = " ".join(sorted(command.flags))
        yield f"the command `{' '.join(filter(None, ['the-loop', command.verb, flags]))}`"
    for miss in reading.near_misses:
        yield f"nearly a command: {harmless(miss.written)!r}, meant was probably `the-loop {miss.meant}`"
    for ignored in reading.ignored:
        yield f"line {ignored.line}: {harmless(ignored.written)!r} did not count ({ignored.because})"
    if reading.truncated:
        yield "the text is longer than what is read for commands"


def _decision_lines(decided: Decided) -> Iterator[Line]:
    row = decided.row
    words = meanings.DECISIONS.get(decided.name, "not kept any more")
    yield "decided", f"{at(row.decided_at_ms)}: {words}{_detail(decided)}"
    if decided.view:
        yield "", f"seen then: {_view(decided.view)}; rules {decided.policy}"
    yield "fate", f"{row.fate}: {_fate(row)}"
    if row.outcome:
        yield "outcome", f"{row.outcome}: {meanings.OUTCOMES[row.outcome]}"
    if row.reason:
        yield "reason", f"{row.reason}: {meanings.REASONS[row.reason]}"
    if row.attempts or (row.fate is Fate.INFLIGHT and row.next_at_ms):
        following = f"; the next not before {at(row.next_at_ms)}" if row.fate is Fate.INFLIGHT else ""
        yield "attempts", f"{row.attempts}{following}"


def _fate(row: FateRow) -> str:
    words = meanings.STEPS[row.step] or meanings.FATES[row.fate]
    effect = f" (`{row.verb}`: {row.effect})" if row.verb and row.effect else ""
    return f"{words}{effect}, since {at(row.changed_at_ms)}"


def _detail(decided: Decided) -> str:
    said = decided.said
    verb = f" `{said['verb']}`" if "verb" in said else ""
    effect = f": {said['effect']}" if "effect" in said else ""
    why = next((str(said[name]) for name in ("reason", "outcome", "need") if said.get(name)), "")
    reason = next(
        (words for refusal, words in meanings.REFUSALS.items() if decided.name == "Reject" and refusal == why), why
    )
    ignored = "; the command in it does not run: nobody knows who edited it" if said.get("commands_ignored") else ""
    return f"{verb}{effect}{f' ({reason})' if reason else ''}{ignored}"


def _view(view: dict[str, Any]) -> str:
    parts = [f"phase {view.get('phase')}", "a session" if view.get("session") else "no session"]
    labels = view.get("labels")
    if labels is not None:
        parts.append(f"labels {harmless(', '.join(labels)) or 'none'}")
    parts += [f"{view['refused']} refused"] if view.get("refused") else []
    parts += [f"{count(view['undecided'], 'undecided command')} before it"] if view.get("undecided") else []
    parts += [f"another instance ({harmless(str(view['other_instance']))})"] if view.get("other_instance") else []
    text = view.get("text")
    if text:
        state = "deleted" if text.get("deleted") else "waiting" if text.get("waiting") else "not waiting"
        parts.append(f"a version of {at(text.get('updated'))}, {state}")
    return ", ".join(parts)


def _turn_lines(turn: TurnFound) -> Iterator[Line]:
    together = f", with {count(len(turn.keys) - 1, 'other event')}" if len(turn.keys) > 1 else ""
    yield "turn", f"{turn.turn_id} in session {turn.session_id}: {turn.state}{together}"
    steps = (("written", turn.frozen_at_ms), ("handed", turn.handed_at_ms), ("taken", turn.taken_at_ms),
             ("ended", turn.ended_at_ms))  # fmt: skip
    yield "", ", ".join(f"{name} {at(time_ms)}" for name, time_ms in steps if time_ms)
    yield "receipt", harmless(turn.receipt) or "none"
    if turn.stop_reason or turn.interruptions:
        died = f"; interrupted {times(turn.interruptions)}" if turn.interruptions else ""
        yield "", f"ended by: {harmless(turn.stop_reason) or '-'}{died}"
    used = ", ".join(f"{name} {value}" for name, value in json.loads(turn.used or "{}").items() if value is not None)
    if used:
        yield "used", harmless(used)


def _part(part: PartFound, whole: bool) -> Iterator[str]:
    if part.channel == "reaction":
        yield f"the reaction {part.kind}: {_sending(part)}"
        return
    yield f"{harmless(part.kind)}, {at(part.created_at_ms)}: {_sending(part)}"
    if part.part:
        return
    lines = harmless_lines(part.whole)
    shown = lines if whole else [cut(line, LINE_CHARACTERS_MAX) for line in lines[:LINES_MAX]]
    yield from (f"| {line}" for line in shown)
    if shown != lines:
        yield "| (cut here: `--whole` shows all of it)"


def _sending(part: PartFound) -> str:
    more = f", tried {times(part.attempts)}" if part.attempts > 1 else ""
    failed = f", {harmless(part.fail_text)}" if part.fail_text and part.state != "delivered" else ""
    again = f", looked at again {at(part.retry_at_ms)}" if part.state in ("waiting", "unknown") else ""
    url = f", {harmless(part.url)}" if part.url else ""
    return f"{part.state} (left this machine: {part.wire}){more}{failed}{again}{url}"


def _short_list(explanation: Explanation) -> Iterator[str]:
    yield (
        f"the newest of {count(len(explanation.stories), 'event')}; explain one by its key:"
        if explanation.stories
        else ("no event is known of it")
    )
    for story in explanation.stories:
        row = story.decided[-1].row
        what = row.outcome or row.reason or row.step or ""
        who = _who(story.kept.event.actor) if story.kept else "-"
        yield f"  {at(row.decided_at_ms)}  {harmless(story.key)}  {who}  {story.fate} {what}".rstrip()


def _passed_words(explanation: Explanation) -> Iterator[str]:
    for reason in dict.fromkeys(entry.named("reason") for entry in explanation.log if entry.event == "routing.dropped"):
        words = next((words for known, words in meanings.PASSED.items() if known == reason), "")
        yield f"{reason}: {words}"


def _labelled(name: str, texts: Iterator[str]) -> Iterator[Line]:
    for number, text in enumerate(texts):
        yield ("" if number else name), text


def _aligned(lines: Iterator[Line]) -> Iterator[str]:
    for name, text in lines:
        yield f"  {name:<{MARGIN}}{text}"
