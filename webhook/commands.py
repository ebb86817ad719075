"""What commands, refusals, edits and deletions change: steps of one pass of deciding, each returning or keeping rows."""

from __future__ import annotations

from dataclasses import replace

from domain import texts
from domain.control import FORCE, VERBS, Verb
from domain.decision import Apply, Close, Effect
from domain.model import Event, EventKey, Fact, Fate, Outcome, Phase, Place
from domain.phase import Folded, PhaseCommand, fold, in_order, precedes
from domain.policy import effect_of
from domain.texts import Standing
from replies.record import CARRIED_OUT, Recorder, target_of
from statedb import work
from statedb.rows import FateRow, ItemRow, Removal, Step
from webhook.batch import Batch


def apply(state: Batch, event: Event, item: ItemRow, decision: Apply, row: FateRow) -> FateRow:
    """Fold a command in. The row stays inflight where its effect is still to come: a prompt owed, a tree to end."""
    verb = decision.command.verb
    before, after = _fold_command(state, event, item, verb, decision.folded, decision.newest, row)
    effect = decision.effect
    if not decision.newest:
        effect = _effect_at_its_place(state, item, _as_command(event, verb, row), before, after)
    renames_failed = item.failed_generation is not None and before.generation == item.failed_generation
    item = state.put_item(_moved(item, after, decision, effect))
    if effect is Effect.REARMED or (renames_failed and verb is Verb.START and not decision.newest):
        item = rearm(state, item)
    row = replace(row, verb=verb, effect=effect)
    if effect in (Effect.STOPPED, Effect.CLEANED) and after.phase is Phase.STOPPED:
        return _ending(state, item, row)
    if _owes_a_prompt(state, event, item, verb, effect):
        return replace(row, step=Step.QUEUED)
    return replace(row, fate=Fate.SETTLED)


def close(state: Batch, event: Event, item: ItemRow, decision: Close, row: FateRow) -> FateRow:
    """The item closed: a stop by nobody at its place."""
    if decision.effect is Effect.BOUND_PULL_CLOSED:
        return replace(row, fate=Fate.SETTLED, outcome=Outcome.CONTROL_EXECUTED, effect=decision.effect)
    before, after = _fold_command(state, event, item, Verb.STOP, decision.folded, decision.newest, row)
    moved = not before.says_the_same_as(after) or decision.newest
    removal = Removal.ASKED if decision.removes and after.phase is Phase.STOPPED else item.removal
    item = state.put_item(replace(item, folded=after, removal=removal))
    row = replace(row, effect=Effect.CLOSED if moved else Effect.SUPERSEDED)
    if after.phase is Phase.STOPPED:
        return _ending(state, item, row)
    return replace(row, fate=Fate.SETTLED, outcome=Outcome.CONTROL_EXECUTED)


def ask_removal(state: Batch, item: ItemRow) -> None:
    """A closing that is known arrives once more and names somebody authorised: the clone may go now."""
    if item.folded.phase is Phase.STOPPED and item.folded.ended_by is Fact.CLOSURE and item.removal is Removal.KEEP:
        state.put_item(replace(item, removal=Removal.ASKED))


def fold_in(state: Batch, event: Event, item: ItemRow, verb: Verb) -> None:
    """Keep a command that changes nothing now: one that arrives late may give it its sense."""
    command = PhaseCommand(key=event.key or EventKey(""), place=event.place, verb=verb)
    state.rows.commands.append((item.item_id, command))
    state.put_item(replace(item, folded=fold(state.commands(item.item_id))))


def rearm(state: Batch, item: ItemRow) -> ItemRow:
    """A start that gave up is tried again with a full budget, and takes up what it had taken along."""
    for given_up in work.given_up_rows(state.connection, item.item_id):
        state.put_fate(
            replace(
                given_up, fate=Fate.INFLIGHT, step=Step.QUEUED, reason=None, attempts=0, next_at_ms=0, turn_id=None,
                changed_at_ms=state.now_ms,
            )
        )  # fmt: skip
    return state.put_item(replace(state.seen.items[item.item_id], failed_generation=None))


def count_refused(state: Batch, item: ItemRow, at_ms: int) -> None:
    """One more comment that the next session must be told of."""
    since = min(at_ms, item.refused_since_ms or at_ms)
    state.put_item(replace(item, refused=item.refused + 1, refused_since_ms=since))


def replace_text(state: Batch, event: Event) -> None:
    """The edited text takes the place of the one that waits; a turn frozen with the old text is taken back."""
    text = state.text_of(event)
    if text is None:
        return
    state.take_back(text.event_key)
    state.rows.new_bodies.append((text.event_key, event.body))
    state.put_text(replace(text, updated_at_ms=event.updated_at_ms, body_sha256=event.body_sha256))


def withdraw(state: Batch, event: Event) -> None:
    """What waits of a deleted text is taken back. A command that was decided stands; only its words are gone."""
    text = state.text_of(event)
    if text is None:
        return
    for row in list(state.seen.fates.get(text.event_key, ())):
        if row.step is not Step.NEED and row.event_key not in state.seen.waiting:
            continue
        state.take_back(row.event_key)
        if row.verb is not None and row.step is not Step.NEED:
            state.rows.new_bodies.append((row.event_key, ""))
            continue
        state.put_fate(
            replace(
                row,
                fate=Fate.SETTLED,
                step=Step.NONE,
                outcome=Outcome.WITHDRAWN,
                turn_id=None,
                changed_at_ms=state.now_ms,
            )
        )


def answer(state: Batch, item: ItemRow, verb: Verb) -> str:
    """What `status` and `help` say."""
    if verb is not Verb.STATUS:
        return texts.help_text()
    waiting, in_turn = work.load_of(state.connection, item.item_id)
    view, refused = state.item_view(item), state.refused(item)
    return texts.standing(
        Standing(phase=view.phase, has_session=view.has_session, waiting=waiting, refused=refused, in_turn=in_turn)
    )


def acknowledge(state: Batch, recorder: Recorder, event: Event, item: ItemRow, row: FateRow) -> None:
    """Show that a command was carried out: by a reaction, or in words where GitHub has no reactions."""
    if event.fact is Fact.REVIEW and row.verb is not None:
        text = texts.acknowledged(row.verb, Effect(row.effect))
        say(state, recorder, event, item, "acknowledgement", text)
        return
    state.say(recorder.reaction(event, CARRIED_OUT, item_id=item.item_id, now_ms=state.now_ms))


def say(state: Batch, recorder: Recorder, event: Event, item: ItemRow, kind: str, text: str) -> None:
    """Answer an event on its thread in our own voice; once, however often it is decided."""
    origin = event.key or EventKey("unkeyed")
    state.say(
        recorder.comment(origin, kind, 0, item_id=item.item_id, target=target_of(event), text=text, now_ms=state.now_ms)
    )


def _fold_command(
    state: Batch, event: Event, item: ItemRow, verb: Verb, stepped: Folded, newest: bool, row: FateRow
) -> tuple[Folded, Folded]:
    """The fold before and after a command; only one that is not the newest makes the whole fold run again."""
    command = _as_command(event, verb, row)
    if newest:
        state.rows.commands.append((item.item_id, command))
        return item.folded, stepped
    others = [other for other in state.commands(item.item_id) if other.key != command.key]
    state.rows.commands.append((item.item_id, command))
    return fold(others), fold([*others, command])


def _effect_at_its_place(state: Batch, item: ItemRow, command: PhaseCommand, before: Folded, after: Folded) -> Effect:
    """The effect of a command that does not stand behind all known ones by its time alone.

    Within one second the id may still make it the last. A start in the stretch that runs changes nothing, but what it
    says is handed over.
    """
    is_last = in_order(state.commands(item.item_id))[-1].key == command.key
    effect = effect_of(command, before, after, newest=is_last)
    opening = after.opening
    says_more = command.verb is Verb.START and opening is not None and not precedes(command.place, opening)
    return Effect.ALREADY_RUNNING if effect is Effect.SUPERSEDED and says_more else effect


def _as_command(event: Event, verb: Verb, row: FateRow) -> PhaseCommand:
    return PhaseCommand(key=row.event_key, place=event.place, verb=verb)


def _moved(item: ItemRow, after: Folded, decision: Apply, effect: Effect) -> ItemRow:
    removal = item.removal
    if effect is Effect.CLEANED:
        removal = Removal.FORCED if FORCE in decision.command.flags else Removal.ASKED
    elif after.phase is not Phase.STOPPED:
        removal = Removal.KEEP
    return replace(item, folded=_keyed(after, item), removal=removal)


def _keyed(after: Folded, item: ItemRow) -> Folded:
    """The generation keeps its name while its opening is the same."""
    same = item.folded.opening is not None and item.folded.opening == after.opening
    return replace(after, generation=item.folded.generation) if same else after


def _ending(state: Batch, item: ItemRow, row: FateRow) -> FateRow:
    if item.item_id in state.seen.live or item.removal is not Removal.KEEP:
        return replace(row, step=Step.ENDING)
    return replace(row, fate=Fate.SETTLED, outcome=Outcome.CONTROL_EXECUTED)


def _owes_a_prompt(state: Batch, event: Event, item: ItemRow, verb: Verb, effect: Effect) -> bool:
    if not VERBS[verb].hands_over or effect in (Effect.SUPERSEDED, Effect.NOTHING_TO_DO):
        return False
    has_words = bool(event.reading and event.reading.remainder.strip())
    if has_words or effect in (Effect.STARTED, Effect.REARMED):
        return True
    return effect is Effect.RESUMED and state.refused(item) > 0


def operator_place(item: ItemRow | None, now_ms: int, number: int) -> Place:
    """An operator's command stands behind everything of that item known when it is accepted."""
    newest = item.newest_ms if item else 0
    return Place(at_ms=max(now_ms, newest + 1), fact=Fact.OPERATOR, number=number)
