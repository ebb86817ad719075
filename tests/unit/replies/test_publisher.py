"""The publisher over a real store: order, evidence, leases, budgets and clocks that jump."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Account, Fact, Thread
from domain.ports import InDoubt, Listing, NoAnswer, NotSent, Posted, Refused, Said, SendResult
from eventlog.events.reply import ReplyAbandoned, ReplyDelivered, ReplyWaiting
from statedb.database import Connection, StoreUnavailable
from tests.fakes.publishing import LIMIT_S, START_MS, Around, AroundWriter, HandClock, Publishing, Store

THREAD = Thread(host="github.com", repository_id=7, number=15)
OTHER = Thread(host="github.com", repository_id=7, number=16)

DAY_S = 24 * 3600.0
WRITES_BEFORE_MAY_LEAVE = 2
"""The first sweep and the claim."""


class Wall:
    """A thread as one fake: `results` are what comes of the next posts, whether each stands then; later ones succeed."""

    def __init__(self, *results: tuple[SendResult, bool]) -> None:
        self.results = list(results)
        self.stands: list[tuple[int, str]] = []
        self.posts: list[str] = []
        self.reactions: list[str] = []
        self.calls: list[str] = []
        self.asked_since: list[int] = []
        self.listing: NoAnswer | None = None

    def post(self, thread: Thread, repository: str, body: str) -> SendResult:
        self.calls.append("post")
        said = body.partition("\n")[0]
        self.posts.append(f"{thread.number}: {said}")
        result, does_stand = self.results.pop(0) if self.results else (None, True)
        if does_stand:
            self.stands.append((len(self.stands) + 1, body))
        return result or Posted(id=len(self.stands), url="u", server_time_ms=None)

    def react(self, thread: Thread, repository: str, fact: Fact, object_id: int, content: str) -> SendResult:
        self.calls.append("react")
        self.reactions.append(f"{fact} {object_id}: {content}")
        result, _ = self.results.pop(0) if self.results else (None, True)
        return result or Posted(id=1, url="", server_time_ms=None)

    def own_comments(self, thread: Thread, repository: str, since_ms: int) -> Listing | NoAnswer:
        self.asked_since.append(since_ms)
        me = Account(login="loop", id=1)
        said = tuple(
            Said(
                fact=Fact.COMMENT, id=number, author=me, body=body, url="u", created_at_ms=number, updated_at_ms=number
            )
            for number, body in self.stands
        )
        return self.listing or Listing(said=said, complete=True)

    def said(self, *arguments: object) -> Listing:
        raise AssertionError("a publisher reads nothing but our own comments")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path, HandClock()) as store:
        yield store


def test_comments_of_one_thread_go_out_in_the_order_in_which_they_were_recorded(store: Store) -> None:
    for number, text in enumerate(["one", "two", "three"]):
        store.comment(THREAD, text, number=number)
    wall = Wall((NotSent("connect"), False))
    process = Publishing(store, wall)
    process.run_for(10)
    assert wall.posts == ["15: one"]
    process.run_for(30)
    assert wall.posts == ["15: one", "15: one", "15: two", "15: three"]


@pytest.mark.parametrize(
    ("result", "others"),
    [
        pytest.param(InDoubt("http-500"), ["16: other"], id="in doubt: only its own thread waits"),
        pytest.param(NotSent("connect"), ["16: other"], id="not sent: only its own thread waits"),
        pytest.param(Refused("locked"), ["15: two", "16: other"], id="dead: nobody waits"),
    ],
)
def test_a_comment_holds_back_its_own_thread_while_it_is_open(
    store: Store, result: SendResult, others: list[str]
) -> None:
    store.comment(THREAD, "one", number=0)
    store.comment(THREAD, "two", number=1)
    store.comment(OTHER, "other", number=2)
    wall = Wall((result, False))
    Publishing(store, wall).run_for(4)
    assert wall.posts[0] == "15: one"
    assert sorted(wall.posts[1:]) == others


def test_comments_go_before_reactions_and_neither_holds_back_the_other(store: Store) -> None:
    store.reaction(THREAD, 1)
    store.reaction(THREAD, 2)
    store.clock.advance(1)
    store.comment(THREAD, "one")
    wall = Wall((InDoubt("http-500"), False), (InDoubt("http-500"), False))
    Publishing(store, wall).run_for(0)
    assert wall.calls == ["post", "react", "react"]
    assert wall.reactions == ["comment 1: eyes", "comment 2: eyes"]


def test_it_is_on_disk_that_a_part_may_have_left_before_the_port_is_called(store: Store) -> None:
    reply_id = store.comment(THREAD)
    seen: list[tuple[object, ...]] = []
    port = Around(Wall(), before=lambda call: seen.append(store.part(reply_id)))
    Publishing(store, port).run_for(0)
    assert seen == [("sending", "maybe", 1)]


def test_what_was_not_sent_leaves_no_evidence_and_spends_no_attempt(store: Store) -> None:
    reply_id = store.comment(THREAD)
    process = Publishing(store, Wall(*[(NotSent("connect"), False)] * 100))
    process.run_for(3600)
    assert store.part(reply_id) == ("waiting", "never", 0)
    assert process.named("reply.waiting")[0] == ReplyWaiting(
        reply_id=reply_id,
        reason="connect",
        next_at="2027-01-15T08:00:30+00:00",
        turn_id="turn-1",
        work_item="github:octo/demo#15",
    )


def test_what_was_not_sent_after_a_try_in_doubt_keeps_that_evidence(store: Store) -> None:
    reply_id = store.comment(THREAD)
    Publishing(store, Wall((InDoubt("http-500"), False), (NotSent("connect"), False))).run_for(85)
    assert store.part(reply_id) == ("waiting", "maybe", 1)


def test_a_comment_leaves_three_times_at_most(store: Store) -> None:
    reply_id = store.comment(THREAD)
    wall = Wall(*[(InDoubt("http-500"), False)] * 9)
    process = Publishing(store, wall)
    process.run_for(DAY_S)
    assert len(wall.posts) == 3
    assert store.part(reply_id) == ("abandoned", "maybe", 3)
    assert process.lines[-1] == ReplyAbandoned(
        reply_id=reply_id, reason="attempts-spent", turn_id="turn-1", work_item="github:octo/demo#15"
    )
    assert store.rows("SELECT state, dead_reason FROM replies") == [("abandoned", "attempts-spent")]


@pytest.mark.parametrize(
    ("wall", "state"),
    [
        pytest.param(Wall(*[(NotSent("bad-credentials"), False)] * 9_999), "waiting", id="never sent"),
        pytest.param(Wall((InDoubt("http-500"), False)), "unknown", id="in doubt and never answered"),
    ],
)
def test_a_reply_is_tried_for_a_day_and_then_abandoned(store: Store, wall: Wall, state: str) -> None:
    wall.listing = NoAnswer("bad-credentials")
    reply_id = store.comment(THREAD)
    process = Publishing(store, wall)
    process.run_for(DAY_S - 1)
    assert store.part(reply_id)[0] == state
    process.run_for(62)
    assert store.part(reply_id)[0] == "abandoned"
    assert [line.name for line in process.lines].count("reply.abandoned") == 1


def test_the_first_question_goes_back_to_before_the_first_try_by_githubs_clock(store: Store) -> None:
    store.comment(THREAD)
    an_hour_ahead_ms = START_MS + 3_600_000
    wall = Wall((InDoubt("http-500", an_hour_ahead_ms), False), (InDoubt("http-500", an_hour_ahead_ms + 99_000), False))
    Publishing(store, wall).run_for(180)
    assert len(wall.posts) == 2
    assert set(wall.asked_since) == {an_hour_ahead_ms - 300_000}


def test_a_port_that_fails_leaves_doubt_and_not_a_dead_publisher(store: Store) -> None:
    reply_id = store.comment(THREAD)

    def fail(call: str) -> None:
        if port.calls == ["post"]:
            raise RuntimeError(call)

    port = Around(Wall(), after=fail)
    Publishing(store, port).run_for(60)
    assert store.part(reply_id) == ("delivered", "yes", 1)


def test_a_receipt_that_the_store_did_not_take_is_kept_until_it_does(store: Store) -> None:
    reply_id = store.comment(THREAD)
    wall = Wall()

    def fail(call: str) -> None:
        if len(wall.posts) == 1 and store.clock.wall() < START_MS + 30_000:
            raise StoreUnavailable("full")

    process = Publishing(store, wall, committer=AroundWriter(store.committer, before=fail, after=lambda call: None))
    with pytest.raises(StoreUnavailable):
        process.run_for(0)
    assert store.part(reply_id)[0] == "sending"
    store.clock.advance(3_000)
    process.run_for(0)
    assert (wall.posts, store.part(reply_id)[0]) == (["15: Done."], "delivered")


class Died(BaseException):
    """The process ends here."""


def die(call: str) -> None:
    raise Died(call)


def test_what_a_dead_process_had_not_let_leave_is_sent_when_its_lease_ends(store: Store) -> None:
    reply_id = store.comment(THREAD)
    writes: list[str] = []

    def die_before_the_request(call: str) -> None:
        writes.append(call)
        if len(writes) == WRITES_BEFORE_MAY_LEAVE + 1:
            raise Died(call)

    dying = AroundWriter(store.committer, before=die_before_the_request, after=lambda call: None)
    wall = Wall()
    with pytest.raises(Died):
        Publishing(store, wall, committer=dying).run_for(0)
    assert store.part(reply_id) == ("sending", "never", 0)
    store.clock.advance(119)
    again = Publishing(store, wall, owner_id="owner-2")
    again.run_for(0)
    assert wall.posts == []
    again.run_for(60)
    assert (wall.posts, wall.asked_since) == (["15: Done."], [])


def test_what_a_dead_process_may_have_let_leave_is_asked_for_first(store: Store) -> None:
    reply_id = store.comment(THREAD)
    wall = Wall()
    with pytest.raises(Died):
        Publishing(store, Around(wall, after=die)).run_for(0)
    assert store.part(reply_id) == ("sending", "maybe", 1)
    store.clock.advance(120)
    again = Publishing(store, wall, owner_id="owner-2")
    again.run_for(60)
    assert wall.posts == ["15: Done."]
    assert again.names() == ["reply.unknown", "reply.probed", "reply.delivered"]


def test_what_another_process_sends_is_left_to_it_while_its_lease_lasts(store: Store) -> None:
    store.comment(THREAD)
    wall = Wall()
    other = Publishing(store, wall, owner_id="owner-2")
    Publishing(store, Around(wall, before=lambda call: other.run_for(0))).run_for(0)
    assert wall.posts == ["15: Done."]


def test_who_comes_back_after_its_lease_cannot_write_any_more(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    reply_id = store.comment(THREAD)
    wall = Wall((NotSent("connect"), False))
    other = Publishing(store, wall, owner_id="owner-2")

    def be_away(call: str) -> None:
        store.clock.advance(121)
        other.run_for(0)

    late = Publishing(store, Around(wall, after=be_away))
    assert late.publisher.step() == 0
    assert store.part(reply_id) == ("unknown", "maybe", 1)
    assert late.names() == ["reply.sent"]
    assert "was taken from us" in caplog.text


def test_a_living_publisher_says_so_every_minute(store: Store) -> None:
    process = Publishing(store, Wall())
    process.run_for(90)
    assert store.rows("SELECT owner_id, pid, heartbeat_at FROM owners") == [("owner-1", 1, START_MS + 60_000)]


def test_a_thread_with_nothing_to_do_rests_until_it_is_woken_or_must_sweep(store: Store) -> None:
    process = Publishing(store, Wall())
    assert process.publisher.step() == 60
    store.comment(THREAD)
    assert process.publisher.step() == 0


def test_the_thread_publishes_when_it_is_woken_and_ends_when_it_is_told(store: Store) -> None:
    posted = threading.Event()
    process = Publishing(store, Around(Wall(), after=lambda call: posted.set()))
    stop = threading.Event()
    thread = threading.Thread(target=process.publisher.run, args=(stop,))
    thread.start()
    try:
        store.comment(THREAD)
        process.publisher.wake()
        assert posted.wait(LIMIT_S)
    finally:
        stop.set()
        process.publisher.wake()
        thread.join(LIMIT_S)
    assert not thread.is_alive()
    assert [type(line) for line in process.lines][-1] is ReplyDelivered


def test_a_fault_of_one_step_does_not_end_the_thread(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    tries: list[str] = []

    def fail(call: str) -> None:
        tries.append(call)
        if len(tries) == 2:
            stop.set()
        process.publisher.wake()
        raise RuntimeError(call)

    process = Publishing(store, Wall(), committer=AroundWriter(store.committer, before=fail, after=lambda call: None))
    process.publisher.run(stop)
    assert len(tries) == 2
    assert "a reply could not be published" in caplog.text


@pytest.mark.parametrize("jump_s", [-3_600.0, 25 * 3_600.0], ids=["an hour back", "a day and an hour ahead"])
def test_101_a_clock_that_jumps_sends_nothing_early_and_abandons_nothing(store: Store, jump_s: float) -> None:
    doubtful, unsent = store.comment(THREAD, "doubtful", number=0), store.comment(OTHER, "unsent", number=1)
    wall = Wall((InDoubt("http-500"), False), (NotSent("rate-limit", 600), False))
    process = Publishing(store, wall)
    process.run_for(1)
    store.clock.jump(jump_s)
    process.run_for(73)
    assert wall.posts == ["15: doubtful", "16: unsent"]
    process.run_for(525)
    assert wall.posts == ["15: doubtful", "16: unsent", "15: doubtful"]
    process.run_for(2)
    assert wall.posts == ["15: doubtful", "16: unsent", "15: doubtful", "16: unsent"]
    assert [store.part(reply_id)[0] for reply_id in (doubtful, unsent)] == ["delivered", "delivered"]


@pytest.mark.parametrize(
    ("jump_s", "sent_again_s"),
    [
        pytest.param(-3_600.0, 3_800, id="an hour back"),
        pytest.param(-25 * 3_600.0, 3_800, id="a day and an hour back"),
        pytest.param(2 * 3_600.0, 76, id="two hours ahead"),
        pytest.param(25 * 3_600.0, 100, id="a day and an hour ahead, and set right meanwhile"),
    ],
)
def test_101_a_clock_that_is_wrong_at_the_start_repeats_nothing_early_and_abandons_nothing(
    store: Store, jump_s: float, sent_again_s: float
) -> None:
    reply_id = store.comment(THREAD)
    wall = Wall((InDoubt("http-500"), False))
    Publishing(store, wall).run_for(20)
    store.clock.jump(jump_s)
    again = Publishing(store, wall, owner_id="owner-2")
    again.run_for(59)
    assert (len(wall.posts), store.part(reply_id)[0]) == (1, "unknown")
    store.clock.jump(-jump_s)
    again.run_for(sent_again_s - 59)
    assert (len(wall.posts), store.part(reply_id)[0]) == (2, "delivered")


def test_101_a_lease_from_a_clock_that_was_ahead_ends_within_its_length(store: Store) -> None:
    store.comment(THREAD)
    wall = Wall()
    with pytest.raises(Died):
        Publishing(store, Around(wall, after=die)).run_for(0)
    store.clock.jump(-3_600)
    Publishing(store, wall, owner_id="owner-2").run_for(300)
    assert store.rows("SELECT state FROM reply_parts") == [("delivered",)]


def test_a_wait_longer_than_any_rule_gives_is_shortened_to_an_hour(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.comment(THREAD)

    def put_off(connection: Connection) -> None:
        connection.execute("UPDATE reply_parts SET state = 'waiting', retry_at = ?", (START_MS + 9 * 3_600_000,))

    store.committer.write(put_off)
    wall = Wall()
    process = Publishing(store, wall)
    process.run_for(3_599)
    assert wall.posts == []
    process.run_for(1)
    assert wall.posts == ["15: Done."]
    assert "1 waits lay further ahead" in caplog.text
