"""An agent in its seat, over a real socket, store, git and HTTP: what it may do on its own work item, and nothing beyond."""

from __future__ import annotations

import itertools
import secrets
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.marker import Sealer, read_marker
from domain.model import ItemId, ItemKind, Phase, SessionId, Thread, TurnId
from domain.phase import Folded
from domain.policy import Authorities
from domain.ports import ItemFacts, Repository
from domain.turns import SessionState, TurnState
from eventlog.events.reply import ReplyRecorded
from eventlog.masking import MASK, Masker
from githubapi.door import GitHub
from githubapi.items import GitHubItems
from githubapi.pulls import GitHubPulls
from githubapi.threads import GitHubThreads
from replies.record import Recorder, Target
from service.demo.github.faults import Trouble
from service.demo.github.records import Permission
from service.demo.github.standin import StandIn
from sessions.clones import CloneOrder, Clones
from sessions.git import Git, Remote
from sessions.mirrors import Mirrors
from sessions.seat.client import SeatRefused, call
from sessions.seat.ports import Saying, SeatPorts
from sessions.seat.protocol import Verb, seat_environment, token_digest
from sessions.seat.server import SeatServer
from sessions.seat.verbs import Seat
from statedb import session_rows, turn_rows
from statedb.committer import Committer
from statedb.database import Database
from statedb.rows import EchoRow, ItemRow, ReplyRow, Rows
from statedb.session_rows import SessionRow
from statedb.turn_rows import TurnRow
from statedb.writing import write_rows
from tests.fakes.dispatching import EventBook
from tests.fakes.repositories import SURROUNDINGS, by_hand, commit_file

NAME = "octo/demo"
SECRET = "s3cret-of-the-service"


class Room:
    """A stand-in GitHub, a store, clones, and a seat that listens; each issue of `agent` gets a session in a turn."""

    def __init__(self, folder: Path, stand_in: StandIn) -> None:
        self.folder, self.stand_in = folder, stand_in
        self.clock = itertools.count(1_800_000_000_000).__next__
        self.database = Database(folder / "state.db", self.clock)
        self.committer: Committer[Any, Any] = Committer(self.database)
        self.events, self.stop = EventBook(), threading.Event()
        self.wakes = [0]
        self.asked: list[tuple[tuple[str, ...], int]] = []
        github = GitHub("github.test", stand_in.base_url, lambda: "loop-token", seconds_between_writes=0)
        self.items = GitHubItems(github)
        self.pulls = GitHubPulls(github)
        repository = self.items.repository(NAME)
        assert isinstance(repository, Repository)
        self.repository = repository
        self.origin = Remote(address=stand_in.state.repository(NAME).folder)
        git = Git(deadline_s=30.0, environment=SURROUNDINGS)
        self.clones = Clones(folder / "clones", git, Mirrors(folder / "mirrors", git))
        self.recorder = Recorder(Sealer("abcdef01", b"key"), lambda: secrets.token_hex(8))
        self.ports = SeatPorts(
            database=self.database, committer=self.committer, threads=GitHubThreads(github, self.items),
            items=self.items, pulls=self.pulls, remotes=self, clones=self.clones, compose=self.compose,
            sealer=self.recorder.sealer, mask=Masker([SECRET]).mask, events=self.lines, clock=self.clock,
            authorities=lambda: Authorities(logins=frozenset({"ada"}), pinned={}),
            emit=self.events.emit, wake=lambda: self.wakes.append(1),
        )  # fmt: skip
        self.threads: list[threading.Thread] = []
        self.socket_path = folder / "agent.sock"
        self.seat = Seat(self.ports, self.stop)
        self.server = SeatServer(self.socket_path, self.seat.answer, self.spawn)
        self.server.listen()
        self.spawn("committer", self.committer.run)
        self.spawn("seat", lambda: self.server.run(self.stop))

    def close(self) -> None:
        self.stop.set()
        self.committer.stop()
        for thread in self.threads:
            thread.join(20)

    def spawn(self, name: str, body) -> None:
        thread = threading.Thread(target=body, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def remote(self, thread: Thread, repository: str) -> Remote:
        return self.origin

    def compose(self, saying: Saying) -> ReplyRow:
        return self.recorder.comment(
            saying.turn_id, saying.kind, saying.number, item_id=saying.item_id, text=saying.text, now_ms=saying.now_ms,
            target=Target(thread=saying.thread, repository=saying.repository), turn_id=saying.turn_id,
        )  # fmt: skip

    def lines(self, labels, limit: int) -> list[str]:
        self.asked.append((tuple(labels), limit))
        return ['{"event":"dispatch.done"}']

    def thread(self, number: int) -> Thread:
        return Thread(host="github.test", repository_id=self.repository.id, number=number)

    def agent(self, title: str = "It breaks") -> Agent:
        number = self.stand_in.open_issue("ada", NAME, title, "Please mend it.").number
        return Agent(self, number)


class Agent:
    """The agent of an issue's session: its clone, its token, and a turn that it is in."""

    def __init__(self, room: Room, number: int) -> None:
        self.room, self.number, self.token = room, number, secrets.token_urlsafe(32)
        home, item_id = room.thread(number), ItemId(number)
        facts = room.items.item(home, NAME)
        assert isinstance(facts, ItemFacts)
        order = CloneOrder(
            item_id=item_id, thread=home, kind=ItemKind.ISSUE, remote=room.origin, author_name="a", author_email="a@b.c"
        )
        self.clone = room.clones.prepare(order)
        self.turn_id = TurnId(f"turn-{number}")
        item = ItemRow(
            item_id=item_id, home=home, repository=NAME, folded=Folded(phase=Phase.RUNNING), snapshot=facts.snapshot,
            created_at_ms=1, changed_at_ms=1,
        )  # fmt: skip
        self.session = SessionRow(
            session_id=SessionId(f"session-{number}"), item_id=item_id, harness="fake", state=SessionState.LIVE,
            conversation_id=None, folder="", clone=str(self.clone.path), branch=self.clone.branch, base_sha="",
            token_sha256=token_digest(self.token), journal_offset=0, created_at_ms=1, last_turn_at_ms=1,
        )  # fmt: skip
        room.committer.write(lambda c: write_rows(c, Rows(items={item_id: item}, threads=[(home, item_id)]), 1))
        room.committer.write(lambda c: session_rows.write_session(c, self.session))
        self.begin(self.turn_id)

    def begin(self, turn_id: TurnId) -> None:
        row = TurnRow(
            turn_id=turn_id, item_id=self.session.item_id, session_id=self.session.session_id, state=TurnState.FROZEN,
            kind="comments", prompt="", thread=self.room.thread(self.number), tells_refused=0, follows=None,
            frozen_at_ms=1, taken_at_ms=None, interruptions=0,
        )  # fmt: skip
        self.room.committer.write(lambda c: turn_rows.freeze(c, row, []))
        self.room.committer.write(lambda c: turn_rows.mark_handed(c, turn_id, 2))

    def end_turn(self) -> None:
        self.room.committer.write(lambda c: turn_rows.mark_ended(c, self.turn_id, TurnState.ENDED, "", "", "", "{}", 3))

    def end_session(self) -> None:
        self.room.committer.write(
            lambda c: session_rows.set_session_state(c, self.session.session_id, SessionState.ENDED, 4)
        )

    def call(self, verb, **arguments: str) -> dict[str, Any]:
        return call(verb, arguments, seat_environment(self.room.socket_path, self.token), timeout_s=60)

    def refusal(self, verb, **arguments: str) -> str:
        with pytest.raises(SeatRefused) as refused:
            self.call(verb, **arguments)
        return str(refused.value)

    def commit(self, name: str = "mended.txt") -> str:
        by_hand(self.clone.path, "config", "user.name", "An agent")
        return commit_file(self.clone.path, name, "mended\n")

    def said(self) -> list[Any]:
        return list(
            self.room.database.reader().execute(
                "SELECT origin, kind, number, whole FROM replies WHERE item_id = ? ORDER BY number", (self.number,)
            )
        )

    def threads(self) -> list[int]:
        reader = self.room.database.reader()
        rows = reader.execute("SELECT number FROM threads WHERE item_id = ? ORDER BY number", (self.number,))
        return [number for (number,) in rows]


def open_room(folder: Path) -> Iterator[Room]:
    """The room while a test needs it; the socket's folder has a short name."""
    with StandIn(folder) as stand_in, tempfile.TemporaryDirectory(prefix="seat") as short:
        stand_in.add_account("loop", token="loop-token")
        stand_in.add_repository(NAME)
        for login in ("loop", "ada"):
            stand_in.set_permission(NAME, login, Permission.WRITE)
        room = Room(Path(short), stand_in)
        yield room
        room.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    yield from open_room(tmp_path)


def test_a_reply_is_recorded_before_it_is_sent_by_turn_kind_and_number(room: Room) -> None:
    agent = room.agent()
    assert agent.call(Verb.REPLY, text="First look.") == {"ok": True, "already_said": False, "replies_left": 4}
    assert agent.call(Verb.ASK, text="Which one?")["replies_left"] == 3
    assert agent.said() == [("turn-1", "reply", 0, "First look."), ("turn-1", "question", 1, "Which one?")]
    recorded = [event for event in room.events.all() if isinstance(event, ReplyRecorded)]
    assert [(event.kind, event.turn_id, event.channel) for event in recorded] == [
        ("reply", "turn-1", "thread"),
        ("question", "turn-1", "thread"),
    ]
    assert len(room.wakes) == 3
    assert room.stand_in.comments(NAME, agent.number) == []


def test_saying_the_same_again_in_a_turn_posts_nothing(room: Room) -> None:
    agent = room.agent()
    agent.call(Verb.REPLY, text="Done.")
    assert agent.call(Verb.REPLY, text=" Done. ") == {"ok": True, "already_said": True, "replies_left": 4}
    assert len(agent.said()) == 1


def test_a_question_marks_the_session_as_waiting_for_a_person(room: Room) -> None:
    agent, other = room.agent(), room.agent()
    agent.call(Verb.ASK, text="Which one?")
    rows = room.database.reader().execute("SELECT item_id, waits_for_person FROM sessions ORDER BY item_id")
    assert list(rows) == [(agent.number, 1), (other.number, 0)]


def test_the_sixth_reply_of_a_turn_is_refused_and_the_next_turn_has_its_own(room: Room) -> None:
    agent = room.agent()
    for number in range(4):
        agent.call(Verb.REPLY, text=f"Step {number}")
    agent.call(Verb.ASK, text="And now?")
    assert "say the rest in your answer" in agent.refusal(Verb.REPLY, text="Step 6")
    assert "say the rest in your answer" in agent.refusal(Verb.ASK, text="Step 7")
    assert len(agent.said()) == 5
    agent.end_turn()
    agent.begin(TurnId("turn-next"))
    agent.call(Verb.REPLY, text="Step 8")
    assert ("turn-next", "reply", 0, "Step 8") in agent.said()


def test_the_replies_of_a_turn_hold_64_kilobytes_together(room: Room) -> None:
    agent = room.agent()
    agent.call(Verb.REPLY, text="x" * 40_000)
    assert "64 KB together" in agent.refusal(Verb.REPLY, text="ö" * 13_000)
    agent.call(Verb.REPLY, text="x" * (64 * 1024 - 40_000 - 1))
    assert "64 KB together" in agent.refusal(Verb.REPLY, text="yy")
    assert len(agent.said()) == 2


def test_secrets_markers_and_what_no_store_takes_do_not_leave(room: Room) -> None:
    agent = room.agent()
    forged = room.recorder.sealer.line("0123456789abcdef", 0, room.thread(1))
    agent.call(Verb.REPLY, text=f"{SECRET} {agent.token} \ud800\0 {forged} ghp_{'a' * 36}")
    (said,) = [row[3] for row in agent.said()]
    assert said == f"{MASK} {MASK} ?  ghp_{MASK}"


def test_an_empty_text_is_not_posted(room: Room) -> None:
    agent = room.agent()
    assert "the text is empty" in agent.refusal(Verb.REPLY, text=" \n")
    assert "the text is empty" in agent.refusal(Verb.ASK)


def test_a_turn_that_a_person_stopped_posts_nothing_more(room: Room) -> None:
    agent = room.agent()
    room.committer.write(lambda c: turn_rows.mark_cancelling(c, agent.turn_id, 5))
    assert "a person stopped this turn" in agent.refusal(Verb.REPLY, text="one more thing")
    assert agent.said() == []


def test_a_token_acts_on_its_own_work_item_and_on_nothing_else(room: Room) -> None:
    mine, other = room.agent("Mine"), room.agent("Theirs")
    mine.call(Verb.REPLY, text="hello")
    assert other.said() == []
    assert mine.call(Verb.THREAD)["item"] == f"github:github.test/octo/demo#{mine.number}"
    for verb in Verb:
        assert "your own work item" in mine.refusal(verb, item=f"github:github.test/octo/demo#{other.number}")


def test_the_thread_is_shown_with_the_right_of_each_author_and_our_own_posts_as_ours(room: Room) -> None:
    agent = room.agent()
    agent.call(Verb.REPLY, text="First look.")
    ((body, reply_id),) = room.database.reader().execute("SELECT body, reply_id FROM reply_parts")
    ours = room.stand_in.comment("loop", NAME, 1, body)
    echo = EchoRow(reply_id=reply_id, part=0, provider_id=ours.id, url="")
    room.committer.write(lambda c: write_rows(c, Rows(echoes=[echo]), 1))
    room.stand_in.comment("ada", NAME, 1, "the other\x1b one")
    room.stand_in.comment("eve", NAME, 1, body)
    (thread,) = agent.call(Verb.THREAD)["threads"]
    assert (thread["title"], thread["text"], thread["right"]) == ("It breaks", "Please mend it.", "authorised")
    assert thread["complete"] is True
    said = [(entry["who"], entry["right"].partition(":")[0], entry["text"]) for entry in thread["said"]]
    assert read_marker(body) is not None
    assert said == [
        ("loop", "ours", "First look."),
        ("ada", "authorised", "the other⟨U+001B⟩ one"),
        ("eve", "none", body),
    ]


def test_the_thread_of_a_bound_pull_request_is_shown_too(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    agent.call(Verb.PR, title="Mend it")
    room.stand_in.comment("ada", NAME, 2, "Nearly.")
    threads = agent.call(Verb.THREAD)["threads"]
    assert [(thread["kind"], [entry["text"] for entry in thread["said"]]) for thread in threads] == [
        ("issue", []),
        ("pull", ["Nearly."]),
    ]


def test_a_thread_too_long_to_show_keeps_the_newest_and_says_what_is_missing(room: Room) -> None:
    agent = room.agent()
    for number in range(60):
        room.stand_in.comment("ada", NAME, 1, f"{number} " + "x" * 30_000)
    (thread,) = agent.call(Verb.THREAD)["threads"]
    texts = [entry["text"] for entry in thread["said"]]
    assert thread["older_left_out"] == 60 - len(texts) > 0
    assert texts[-1].startswith("59 x")
    assert texts[-1].endswith("characters are missing]")


def test_where_github_does_not_answer_the_agent_is_told_to_try_again(room: Room) -> None:
    agent = room.agent()
    room.stand_in.fault(Trouble.ERROR, "GET", "*", times=None)
    assert "try again in a minute" in agent.refusal(Verb.THREAD)


def test_events_are_those_of_the_own_threads(room: Room) -> None:
    agent = room.agent()
    assert agent.call(Verb.EVENTS)["events"] == ['{"event":"dispatch.done"}']
    assert room.asked == [(("github:github.test/octo/demo#1",), 200)]


ARGUMENTS = {Verb.REPLY: {"text": "hello"}, Verb.ASK: {"text": "hello?"}}


def test_outside_a_turn_nothing_is_changed(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    agent.end_turn()
    for verb in (Verb.REPLY, Verb.ASK, Verb.PUSH, Verb.PR):
        assert "no turn is running" in agent.refusal(verb, **ARGUMENTS.get(verb, {}))
    assert agent.said() == []
    assert by_hand(Path(room.origin.address), "branch", "--list", "the-loop/*") == ""


def test_the_token_of_an_ended_session_opens_nothing(room: Room) -> None:
    agent = room.agent()
    agent.end_session()
    for verb in Verb:
        assert "belongs to no running session" in agent.refusal(verb, **ARGUMENTS.get(verb, {}))


def test_without_a_sessions_token_nothing_is_answered(room: Room) -> None:
    room.agent()
    for token in ("guessed", "\\ud800", "", token_digest("guessed")):
        line = f'{{"v":1,"token":"{token}","verb":"thread"}}'.encode()
        assert "belongs to no running session" in str(room.seat.answer(line)["error"])


def test_no_other_branch_can_be_named(room: Room) -> None:
    agent = room.agent()
    agent.commit()
    for arguments in ({"branch": "main"}, {"force": "true"}, {"remote": "/elsewhere"}):
        assert "your own work item and branch" in agent.refusal(Verb.PUSH, **arguments)
        assert "your own work item and branch" in agent.refusal(Verb.PR, **arguments)
    assert by_hand(Path(room.origin.address), "branch", "--list", "the-loop/*") == ""


def test_the_seat_has_no_control_verbs(room: Room) -> None:
    agent = room.agent()
    for verb in ("start", "stop", "pause", "resume", "cleanup", "status", "sessions", "", "REPLY"):
        assert agent.refusal(verb) == "the seat has no such verb; it has thread, reply, ask, push, pr, events"
