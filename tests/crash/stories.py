"""What people write in a run, and what must hold when it is over, however often the service died meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from domain.marker import read_marker
from service.demo.github.records import Comment
from tests.crash.world import World, turn_of

REACTIONS = ["eyes", "rocket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A comment of a story: what becomes of it, and how often an agent hears it."""

    comment: Comment
    fate: str
    heard: int


Story = Callable[[World], list[Told]]


def start_comment_stop(world: World) -> list[Told]:
    """A session is started, hears a second comment, and is stopped."""
    start = _write_and_await_answer(world, "the-loop start please fix it")
    second = _write_and_await_answer(world, "also cover the empty list")
    stop = _write_and_await_fate(world, "the-loop stop", "control-executed")
    return [
        Told(comment=start, fate="control-executed", heard=1),
        Told(comment=second, fate="done", heard=1),
        Told(comment=stop, fate="control-executed", heard=0),
    ]


def pause_resume(world: World) -> list[Told]:
    """A session is paused, misses a comment, resumes and is told so, and is stopped."""
    start = _write_and_await_answer(world, "the-loop start please fix it")
    pause = _write_and_await_fate(world, "the-loop pause", "control-executed")
    missed = _write_and_await_fate(world, "a thought meanwhile", "session-paused")
    resume = _write_and_await_answer(world, "the-loop resume with the tests")
    stop = _write_and_await_fate(world, "the-loop stop", "control-executed")
    return [
        Told(comment=start, fate="control-executed", heard=1),
        Told(comment=pause, fate="control-executed", heard=0),
        Told(comment=missed, fate="session-paused", heard=0),
        Told(comment=resume, fate="control-executed", heard=1),
        Told(comment=stop, fate="control-executed", heard=0),
    ]


def stop_in_mid_turn(world: World) -> list[Told]:
    """A session is stopped while it works: the turn is cancelled, and what it had to say is kept."""
    start = world.write("the-loop start and work slowly")
    world.until(lambda: world.fate(start) == "control-executed", "the agent has the start")
    stop = _write_and_await_fate(world, "the-loop stop", "control-executed")
    return [
        Told(comment=start, fate="control-executed", heard=1),
        Told(comment=stop, fate="control-executed", heard=0),
    ]


def tell(world: World, story: Story) -> None:
    """Tell a story to its end; fails with all that does not hold then."""
    told = story(world)
    world.until(lambda: not list(unfinished(world)), "all is finished")
    assert [*wrong_of(world, told)] == [], world.last_words()


def end(world: World) -> None:
    """Stop the service in order: it ends cleanly, and no process of a session is left."""
    assert world.stop() == 0, world.last_words()
    assert world.books.living() == set()


def unfinished(world: World) -> Iterator[str]:
    """What the store says is still under way."""
    for key, step in world.books.rows("SELECT event_key, step FROM fates WHERE fate = 'inflight'"):
        yield f"{key} is inflight ({step})"
    for turn_id, state in world.books.rows(
        "SELECT turn_id, state FROM turns WHERE state NOT IN ('ended', 'cancelled')"
    ):
        yield f"turn {turn_id} is {state}"
    for reply_id, state in world.books.rows("SELECT reply_id, state FROM reply_parts WHERE state <> 'delivered'"):
        yield f"reply {reply_id} is {state}"
    for session_id, state in world.books.rows("SELECT session_id, state FROM sessions WHERE state <> 'ended'"):
        yield f"session {session_id} is {state}"


def wrong_of(world: World, told: list[Told]) -> Iterator[str]:
    """Every rule that a finished story breaks."""
    yield from wrong_fates(world, told)
    yield from _wrong_prompts(world, told)
    yield from wrong_answers(world)
    if living := world.books.living():
        yield f"processes of a stopped session live: {living}"


def wrong_fates(world: World, told: list[Told]) -> Iterator[str]:
    """Comments whose fate or reactions are not what they should be."""
    for each in told:
        if (fate := world.fate(each.comment)) != each.fate:
            yield f"{each.comment.body!r} is {fate!r}, not {each.fate!r}"
        wanted = REACTIONS if each.fate in ("done", "control-executed") else []
        if sorted(world.reactions(each.comment)) != wanted:
            yield f"{each.comment.body!r} has the reactions {world.reactions(each.comment)}"
    if (count := len(world.books.rows("SELECT 1 FROM events"))) != len(told):
        yield f"{len(told)} comments became {count} events"


def _wrong_prompts(world: World, told: list[Told]) -> Iterator[str]:
    repeats = {row[0] for row in world.books.rows("SELECT turn_id FROM turns WHERE kind = 'repeat'")}
    prompts = [prompt for prompt in world.books.prompts() if turn_of(prompt) not in repeats]
    twice = [turn_id for turn_id, count in Counter(map(turn_of, prompts)).items() if count > 1]
    if twice:
        yield f"turns that an agent got more than once: {twice}"
    for each in told:
        heard = sum(f"#issuecomment-{each.comment.id}" in prompt for prompt in prompts)
        if heard != each.heard:
            yield f"{each.comment.body!r} was heard {heard} times, not {each.heard}"


def wrong_answers(world: World) -> Iterator[str]:
    """Every answer that was recorded stands on the thread once, and nothing else does."""
    standing = Counter(marker.reply_id for said in world.said() if (marker := read_marker(said.body)))
    recorded = {row[0] for row in world.books.rows("SELECT reply_id FROM reply_parts WHERE marker <> ''")}
    if set(standing) != recorded:
        yield f"recorded {sorted(recorded)}, standing {sorted(standing)}"
    for reply_id, count in standing.items():
        if count > 1:
            yield f"reply {reply_id} stands {count} times"
    ended = world.books.rows("SELECT turn_id FROM turns WHERE state = 'ended' AND stop_reason = 'finished'")
    answered = world.books.rows("SELECT turn_id FROM replies WHERE kind = 'answer'")
    if sorted(ended) != sorted(answered):
        yield f"turns {sorted(ended)} ended, {sorted(answered)} were answered"


def _write_and_await_answer(world: World, body: str) -> Comment:
    comment = world.write(body)
    world.until(lambda: world.is_answered(comment), f"{body!r} is answered")
    return comment


def _write_and_await_fate(world: World, body: str, fate: str) -> Comment:
    comment = world.write(body)
    world.until(lambda: world.fate(comment) == fate, f"{body!r} is {fate}")
    return comment
