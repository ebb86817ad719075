"""A session host killed in mid-turn, alone or with its service: no comment is lost, none is heard twice, answers stand once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from service.demo.github.records import Comment
from sessions.host.journal import read_journal
from sessions.host.records import Ended
from tests.crash import gated_agent
from tests.crash.gated_agent import Place
from tests.crash.setting import Setting
from tests.crash.stories import Told, end, unfinished, wrong_of
from tests.crash.world import World, turn_of

pytestmark = pytest.mark.crash

GATED = Setting(agent=(sys.executable, "-P", str(Path(gated_agent.__file__))))
TOGETHER = pytest.mark.parametrize("with_service", [False, True], ids=["the-host", "both"])


def hold(world: World, place: Place) -> None:
    (world.conversations / f"hold-{place}").touch()


def wait_held(world: World, place: Place) -> None:
    world.until((world.conversations / f"held-{place}").exists, f"the agent is held at {place}")


def let_on(world: World, place: Place) -> None:
    (world.conversations / f"held-{place}").unlink()


def kill(world: World, *, with_service: bool) -> None:
    """The service first: it must not see its host die."""
    if with_service:
        world.services.pause()
    world.services.kill_hosts()
    if with_service:
        world.services.kill()


def start(world: World) -> Comment:
    comment = world.write("the-loop start please fix it")
    world.until(lambda: world.is_answered(comment), "the start is answered")
    return comment


def stop(world: World) -> Comment:
    comment = world.write("the-loop stop")
    world.until(lambda: world.fate(comment) == "control-executed", "the session is stopped")
    world.until(lambda: not list(unfinished(world)), "all is finished")
    return comment


def finish(world: World, first: Comment, second: Comment | None) -> None:
    """Stop, and hold all rules against what happened."""
    last = stop(world)
    told = [Told(comment=first, fate="control-executed", heard=1)]
    if second is not None:
        told.append(Told(comment=second, fate="done", heard=1))
    told.append(Told(comment=last, fate="control-executed", heard=0))
    assert [*wrong_of(world, told)] == [], world.last_words()
    end(world)


def kinds(world: World) -> list[str]:
    return [row[0] for row in world.books.rows("SELECT kind FROM turns ORDER BY rowid")]


@TOGETHER
def test_a_host_killed_while_its_agent_starts_is_followed_by_another(tmp_path: Path, with_service: bool) -> None:
    with World(tmp_path, setting=GATED) as world:
        hold(world, Place.OPENING)
        first = world.write("the-loop start please fix it")
        wait_held(world, Place.OPENING)
        kill(world, with_service=with_service)
        let_on(world, Place.OPENING)
        world.until(lambda: world.is_answered(first), "the start is answered")
        finish(world, first, None)


@TOGETHER
def test_a_host_killed_before_a_turn_is_handed_over_is_followed_by_one_that_has_the_conversation(
    tmp_path: Path, with_service: bool
) -> None:
    with World(tmp_path, setting=GATED) as world:
        first = start(world)
        kill(world, with_service=with_service)
        second = world.write("also cover the empty list")
        world.until(lambda: world.is_answered(second), "the comment is answered")
        assert len(list(world.conversations.glob("*.jsonl"))) == 1
        finish(world, first, second)


@TOGETHER
def test_a_turn_that_a_killed_agent_would_have_forgotten_is_handed_over_again_as_it_is(
    tmp_path: Path, with_service: bool
) -> None:
    with World(tmp_path, setting=GATED) as world:
        first = start(world)
        hold(world, Place.PROMPTED)
        second = world.write("also cover the empty list")
        wait_held(world, Place.PROMPTED)
        kill(world, with_service=with_service)
        let_on(world, Place.PROMPTED)
        world.until(lambda: world.is_answered(second), "the comment is answered")
        assert kinds(world) == ["events", "events"]
        finish(world, first, second)


@TOGETHER
@pytest.mark.parametrize("place", [Place.REMEMBERED, Place.TAKEN, Place.ANSWERED], ids=str)
def test_a_turn_that_a_killed_agent_has_is_not_handed_over_again_but_taken_up(
    tmp_path: Path, place: Place, with_service: bool
) -> None:
    with World(tmp_path, setting=GATED) as world:
        first = start(world)
        hold(world, place)
        second = world.write("also cover the empty list")
        wait_held(world, place)
        kill(world, with_service=with_service)
        let_on(world, place)
        world.until(lambda: len(world.said()) == 2, "the agent answered when it went on")
        assert kinds(world) == ["events", "events", "resumption"]
        assert world.fate(second) == "done"
        finish(world, first, second)


@TOGETHER
def test_an_answer_that_a_killed_host_wrote_down_is_posted_and_its_turn_not_repeated(
    tmp_path: Path, with_service: bool
) -> None:
    with World(tmp_path, setting=GATED) as world:
        first = start(world)
        hold(world, Place.ANSWERED)
        second = world.write("also cover the empty list")
        wait_held(world, Place.ANSWERED)
        world.services.pause()
        let_on(world, Place.ANSWERED)
        world.watch_until(lambda: len(ended_turns(world)) == 2, "the host wrote down the turn's end")
        world.services.kill_hosts()
        if with_service:
            world.services.kill()
        else:
            world.services.go_on()
        world.until(lambda: world.is_answered(second), "the comment is answered")
        assert kinds(world) == ["events", "events"]
        finish(world, first, second)


def test_a_conversation_that_is_gone_with_its_host_gives_a_new_one_the_turn_as_possibly_a_repeat(
    tmp_path: Path,
) -> None:
    with World(tmp_path, setting=GATED) as world:
        first = start(world)
        hold(world, Place.TAKEN)
        second = world.write("also cover the empty list")
        wait_held(world, Place.TAKEN)
        heard = world.books.prompts()
        kill(world, with_service=True)
        (conversation,) = world.conversations.glob("*.jsonl")
        conversation.rename(conversation.with_suffix(".lost"))
        let_on(world, Place.TAKEN)
        world.until(lambda: world.is_answered(second), "the comment is answered")
        assert kinds(world) == ["events", "events", "repeat"]
        (repeat,) = world.books.prompts()
        assert [turn_of(repeat)] != [turn_of(prompt) for prompt in heard][-1:]
        assert f"#issuecomment-{second.id}" in repeat
        assert world.fate(first) == "control-executed"
        stop(world)
        end(world)


def ended_turns(world: World) -> list[Ended]:
    (journal,) = world.services.state.sessions.glob("*/journal.jsonl")
    return [recorded.record for recorded in read_journal(journal) if isinstance(recorded.record, Ended)]
