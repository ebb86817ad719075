"""A broadcast reaches each recipient at most once over all its runs, goes on where it ended, and says what became of all."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from telegrambot.broadcast.delivery import HaltCause, Pace
from telegrambot.broadcast.message import Message
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
from telegrambot.broadcast.report import Report, RunOutcome
from telegrambot.broadcast.run import Order, Oversight, broadcast
from telegrambot.failures import Evidence, Failure, Reason
from tests.fakes.bot_api.answers import (
    BLOCKED_BY_USER,
    CANNOT_PARSE,
    RESTARTING,
    UNAUTHORIZED,
    bad_request,
    flood,
    migrated,
)
from tests.fakes.broadcasting import HELLO, NEVER_SENT, NO_ANSWER, Broadcasting, Chats, counts
from tests.fakes.telegram_clock import FakeClock

OTHER = Message("sendMessage", {"text": "something else"})
UNHEARD_OF = bad_request("something that nobody has heard of")


@pytest.fixture
def news(tmp_path: Path) -> Broadcasting:
    return Broadcasting(tmp_path / "broadcasts")


def test_every_recipient_gets_the_message_once_and_in_order(news: Broadcasting) -> None:
    report = news.run("ABCD")
    assert report == Report(
        name="news",
        outcome=RunOutcome.FINISHED,
        total=4,
        delivered=4,
        unreachable=0,
        failed=0,
        uncertain=0,
        pending=0,
    )
    assert news.chats.got == ["A", "B", "C", "D"]


def test_a_stopped_broadcast_goes_on_with_the_rest_of_its_first_audience(news: Broadcasting) -> None:
    news.stop_at("B")
    stopped = news.run("ABCD")
    assert (stopped.outcome, counts(stopped)) == (RunOutcome.STOPPED, {"delivered": 2, "pending": 2})
    news.oversight = Oversight()
    finished = news.run("ABCDEFG")
    assert (finished.outcome, counts(finished)) == (RunOutcome.FINISHED, {"delivered": 4})
    assert news.chats.got == ["A", "B", "C", "D"]


def test_a_send_under_way_is_finished_and_recorded_before_a_stop(news: Broadcasting) -> None:
    news.stop_at("A")
    assert counts(news.run("AB")) == {"delivered": 1, "pending": 1}
    assert news.journal.read_text().splitlines() == ['{"i":0,"s":"sending"}', '{"i":0,"o":"delivered"}']


def test_a_finished_broadcast_sends_nothing_when_it_is_run_again(news: Broadcasting) -> None:
    news.run("AB")
    again = news.run("AB")
    assert (again.outcome, counts(again)) == (RunOutcome.FINISHED, {"delivered": 2})
    assert news.chats.got == ["A", "B"]


def test_a_recipient_at_whom_a_run_was_killed_is_uncertain_and_never_written_to(news: Broadcasting) -> None:
    news.is_killed_at("B")
    assert news.journal.read_text().endswith('{"i":1,"s":"sending"}\n')
    assert counts(news.run()) == {"delivered": 3, "uncertain": 1}
    assert news.chats.attempts == ["A", "B", "C", "D"]
    assert '{"i":1,"o":"uncertain","r":"interrupted"}' in news.journal.read_text().splitlines()


def test_a_kill_behind_a_torn_line_leaves_the_recipient_uncertain_and_not_pending(news: Broadcasting) -> None:
    news.stop_at("A")
    news.run()
    with news.journal.open("ab") as journal:
        journal.write(b'{"i":1,"s":"sen')
    news.oversight = Oversight()
    news.is_killed_at("B")
    assert counts(news.run()) == {"delivered": 3, "uncertain": 1}
    assert news.chats.attempts == ["A", "B", "C", "D"]


def test_a_limit_is_waited_out_as_asked_before_the_same_recipient_and_all_others(news: Broadcasting) -> None:
    news.chats.answers["B"] = [flood(9)]
    assert counts(news.run("ABC")) == {"delivered": 3}
    assert news.chats.attempts == ["A", "B", "B", "C"]
    assert news.clock.sleeps == pytest.approx([0.04, 9.0, 0.04])


def test_a_wait_that_is_longer_than_a_run_waits_halts_it_at_once(news: Broadcasting) -> None:
    news.chats.answers["B"] = [flood(61)]
    halted = news.run("ABC")
    assert (halted.outcome, counts(halted)) == (RunOutcome.HALTED, {"delivered": 1, "pending": 2})
    assert halted.halt is not None
    assert halted.halt.cause is HaltCause.RATE_LIMITED
    assert news.chats.attempts == ["A", "B"]
    assert counts(news.run("ABC")) == {"delivered": 3}


def test_a_recipient_who_blocked_the_bot_is_tried_once_over_all_runs(news: Broadcasting) -> None:
    news.chats.answers["C"] = [BLOCKED_BY_USER]
    assert counts(news.run()) == {"delivered": 3, "unreachable": 1}
    assert counts(news.run()) == {"delivered": 3, "unreachable": 1}
    assert news.chats.attempts.count("C") == 1
    assert '{"i":2,"o":"unreachable","r":"blocked-by-user"}' in news.journal.read_text().splitlines()


def test_a_message_that_nobody_can_be_sent_halts_the_run_and_charges_no_recipient(news: Broadcasting) -> None:
    news.chats.answers["B"] = [CANNOT_PARSE]
    halted = news.run()
    assert (halted.outcome, counts(halted)) == (RunOutcome.HALTED, {"delivered": 1, "pending": 3})
    assert halted.halt is not None
    assert halted.halt.cause is HaltCause.MESSAGE_REFUSED
    assert counts(news.run(order=news.order(OTHER, may_differ=True))) == {"delivered": 4}
    assert news.chats.got == ["A", "B", "C", "D"]


def test_a_refusal_that_nobody_knows_is_the_recipients_when_another_one_is_served(news: Broadcasting) -> None:
    news.chats.answers |= {"A": [UNHEARD_OF], "B": [UNHEARD_OF], "D": [UNHEARD_OF]}
    finished = news.run()
    assert (finished.outcome, counts(finished)) == (RunOutcome.FINISHED, {"delivered": 1, "failed": 3})
    assert news.chats.attempts == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("recipients", "attempts"),
    [pytest.param("ABCDE", ["A", "B", "C"], id="three in a row"), pytest.param("AB", ["A", "B"], id="all there are")],
)
def test_a_refusal_that_nobody_knows_is_the_messages_when_nobody_is_served(
    news: Broadcasting, recipients: str, attempts: list[str]
) -> None:
    news.chats.answers = {name: [UNHEARD_OF] for name in recipients}
    halted = news.run(recipients)
    assert (halted.outcome, counts(halted)) == (RunOutcome.HALTED, {"pending": len(recipients)})
    assert halted.halt is not None
    assert (halted.halt.cause, news.chats.attempts) == (HaltCause.MESSAGE_REFUSED, attempts)
    news.chats.answers = {}
    assert counts(news.run(order=news.order(OTHER, may_differ=True))) == {"delivered": len(recipients)}


def test_a_message_that_can_no_longer_be_sent_halts_the_run_though_some_have_it(news: Broadcasting) -> None:
    news.chats.answers = {name: [UNHEARD_OF] for name in "BCDE"}
    halted = news.run("ABCDE")
    assert (halted.outcome, counts(halted)) == (RunOutcome.HALTED, {"delivered": 1, "pending": 4})


def test_something_between_us_and_telegram_that_refuses_halts_the_run_and_charges_nobody(news: Broadcasting) -> None:
    news.chats.answers["A"] = [Failure(method="sendMessage", reason=Reason.INTERCEPTED, evidence=Evidence.TRANSPORT)]
    halted = news.run()
    assert (halted.outcome, counts(halted), len(news.chats.attempts)) == (RunOutcome.HALTED, {"pending": 4}, 1)


def test_nobody_to_write_to_is_refused_and_the_name_stays_free(news: Broadcasting) -> None:
    with pytest.raises(BroadcastRefused) as refused:
        news.run("")
    assert refused.value.refusal is Refusal.NOBODY
    assert counts(news.run("AB")) == {"delivered": 2}


def test_a_channel_is_one_recipient_however_its_name_is_spelled(news: Broadcasting) -> None:
    assert counts(news.run(["@News", "@news", "@NEWS", 5, "5"])) == {"delivered": 3}
    assert news.chats.got == ["@News", 5, "5"]


def test_a_token_that_is_none_any_more_halts_the_run_and_charges_no_recipient(news: Broadcasting) -> None:
    news.chats.answers["B"] = [UNAUTHORIZED]
    halted = news.run()
    assert halted.halt is not None
    assert (halted.halt.cause, counts(halted)) == (HaltCause.UNAUTHORIZED, {"delivered": 1, "pending": 3})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(NO_ANSWER, "sendMessage: no-answer", id="no answer"),
        pytest.param(RuntimeError("of the sender's own"), "sendMessage: no-answer RuntimeError", id="a faulty sender"),
    ],
)
def test_a_send_whose_end_is_not_known_is_uncertain_and_halts_the_run(
    news: Broadcasting, answer: Failure | Exception, said: str
) -> None:
    news.chats.answers["B"] = [answer]
    halted = news.run()
    assert (str(halted.halt), counts(halted)) == (f"uncertain: {said}", {"delivered": 1, "uncertain": 1, "pending": 2})
    assert counts(news.run()) == {"delivered": 3, "uncertain": 1}
    assert news.chats.attempts == ["A", "B", "C", "D"]


def test_what_never_left_is_sent_again_and_arrives_once(news: Broadcasting) -> None:
    news.chats.answers["B"] = [NEVER_SENT, NEVER_SENT]
    assert counts(news.run("AB")) == {"delivered": 2}
    assert news.chats.got == ["A", "B"]
    assert news.clock.sleeps == pytest.approx([0.04, 1.0, 2.0])


def test_a_recipient_whose_attempts_are_spent_has_failed_and_the_next_one_is_written_to(tmp_path: Path) -> None:
    news = Broadcasting(tmp_path, Chats({"A": [RESTARTING, RESTARTING]}), Pace(attempts_max=2))
    report = news.run("AB")
    assert (report.outcome, counts(report)) == (RunOutcome.FINISHED, {"delivered": 1, "failed": 1})


def test_a_stop_in_the_pause_before_a_recipient_leaves_it_pending(news: Broadcasting) -> None:
    stop = news.oversight.stop

    class StoppingClock(FakeClock):
        async def sleep(self, seconds: float) -> None:
            stop.set()
            await asyncio.Event().wait()

    news.clock = StoppingClock()
    stopped = news.run()
    assert (stopped.outcome, counts(stopped)) == (RunOutcome.STOPPED, {"delivered": 1, "pending": 3})


def test_a_run_that_is_killed_while_it_waits_leaves_the_recipient_pending(news: Broadcasting) -> None:
    news.chats.answers["A"] = [flood(30)]

    class CancellingClock(FakeClock):
        async def sleep(self, seconds: float) -> None:
            runs[0].cancel()
            await asyncio.Event().wait()

    async def cancelled() -> None:
        run = broadcast(news.order(), "AB", news.chats.send, CancellingClock(), Oversight())
        runs.append(asyncio.ensure_future(run))
        with pytest.raises(asyncio.CancelledError):
            await runs[0]

    runs: list[asyncio.Future[Report]] = []
    asyncio.run(cancelled())
    assert counts(news.run()) == {"delivered": 2}


def test_a_dry_run_counts_and_makes_no_file(news: Broadcasting) -> None:
    report = news.run(["A", "B", "A", 5], news.order(is_dry=True))
    assert (report.outcome, report.total, counts(report)) == (RunOutcome.DRY_RUN, 3, {"pending": 3})
    assert news.chats.attempts == []
    assert not news.directory.exists()


def test_a_dry_run_of_a_broadcast_that_has_begun_says_how_it_would_go_on(news: Broadcasting) -> None:
    news.is_killed_at("B")
    before = news.journal.read_bytes()
    assert counts(news.run("ABCDEFG", news.order(is_dry=True))) == {"delivered": 1, "uncertain": 1, "pending": 2}
    assert news.journal.read_bytes() == before


def test_a_group_that_became_a_supergroup_gets_the_message_by_its_new_number(news: Broadcasting) -> None:
    news.chats.answers[-5] = [migrated(-1005)]
    assert counts(news.run([-5])) == {"delivered": 1}
    assert (news.chats.attempts, news.chats.got) == ([-5, -1005], [-1005])
    assert '{"i":0,"s":"released","to":-1005}' in news.journal.read_text().splitlines()


def test_a_run_that_goes_on_still_knows_a_groups_new_number(news: Broadcasting) -> None:
    news.chats.answers |= {-5: [migrated(-1005)], -1005: [flood(61)]}
    assert counts(news.run([-5])) == {"pending": 1}
    assert counts(news.run([-5])) == {"delivered": 1}
    assert news.chats.attempts == [-5, -1005, -1005]


def test_a_group_is_followed_to_one_new_number_and_no_further(news: Broadcasting) -> None:
    news.chats.answers |= {-5: [migrated(-1005)], -1005: [migrated(-1006)]}
    assert counts(news.run([-5])) == {"unreachable": 1}
    assert news.chats.attempts == [-5, -1005]


def test_a_group_that_is_a_recipient_by_both_its_numbers_gets_one_message(news: Broadcasting) -> None:
    news.chats.answers[-5] = [migrated(-1005)]
    assert counts(news.run([-5, -1005])) == {"delivered": 1, "unreachable": 1}
    assert news.chats.got == [-1005]


def test_sends_keep_the_pace(tmp_path: Path) -> None:
    news = Broadcasting(tmp_path, pace=Pace(sends_per_s=20))
    news.run()
    assert news.clock.sleeps == pytest.approx([0.05, 0.05, 0.05])


def test_who_watches_is_told_at_the_beginning_and_then_now_and_again(tmp_path: Path) -> None:
    news = Broadcasting(tmp_path, pace=Pace(sends_per_s=0.2))
    told: list[Report] = []
    news.oversight = Oversight(observe=told.append, every_s=10.0)
    news.run("ABCDE")
    assert [(report.outcome, report.delivered) for report in told] == [
        (RunOutcome.RUNNING, 0),
        (RunOutcome.RUNNING, 3),
        (RunOutcome.RUNNING, 5),
    ]


def test_an_observer_that_fails_does_not_touch_the_run(news: Broadcasting) -> None:
    def fail(report: Report) -> None:
        raise RuntimeError("of the observer's own")

    news.oversight = Oversight(observe=fail, every_s=0.0)
    assert counts(news.run()) == {"delivered": 4}


def test_another_message_by_the_same_name_is_refused(news: Broadcasting) -> None:
    news.stop_at("A")
    news.run()
    with pytest.raises(BroadcastRefused, match="another message") as refused:
        news.run(order=news.order(OTHER))
    assert (refused.value.refusal, news.chats.attempts) == (Refusal.CONTENT_CHANGED, ["A"])


def test_another_message_that_was_let_through_is_the_broadcasts_own_from_then_on(news: Broadcasting) -> None:
    news.run()
    news.run(order=news.order(OTHER, may_differ=True))
    assert news.run(order=news.order(OTHER)).outcome is RunOutcome.FINISHED


def test_a_message_is_the_same_whatever_the_order_of_its_parameters() -> None:
    one = Message("sendMessage", {"text": "hello", "parse_mode": "HTML"})
    assert one.digest == Message("sendMessage", {"parse_mode": "HTML", "text": "hello"}).digest
    assert one.digest != Message("copyMessage", one.parameters).digest


@pytest.mark.parametrize("name", ["", ".news", "-", "a/b", "a\nb", "a\n", "ä", "a" * 129])
def test_a_name_that_cannot_be_one_of_files_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BroadcastRefused) as refused:
        Order(name=name, directory=tmp_path, message=HELLO)
    assert refused.value.refusal is Refusal.NAME


def test_a_relative_directory_is_refused() -> None:
    with pytest.raises(BroadcastRefused) as refused:
        Order(name="news", directory=Path("broadcasts"), message=HELLO)
    assert refused.value.refusal is Refusal.DIRECTORY


def test_files_are_private_and_none_is_left_over(news: Broadcasting) -> None:
    news.run()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in news.directory.iterdir()}
    assert modes == {"news.recipients.json": 0o600, "news.content.sha256": 0o600, "news.journal.ndjson": 0o600}
    assert stat.S_IMODE(news.directory.stat().st_mode) == 0o700


def test_recipients_come_one_by_one_or_are_waited_for(tmp_path: Path) -> None:
    async def asked() -> AsyncIterator[int | str]:
        for chat_id in (5, "5", 5):
            yield chat_id

    async def waited_for() -> list[int | str]:
        return [6, 7]

    one_by_one = Broadcasting(tmp_path / "asked")
    one_by_one.run(asked())
    at_once = Broadcasting(tmp_path / "waited for")
    at_once.run(waited_for())
    assert (one_by_one.chats.got, at_once.chats.got) == ([5, "5"], [6, 7])


@pytest.mark.filterwarnings("error")
def test_a_run_that_goes_on_does_not_ask_for_recipients(news: Broadcasting) -> None:
    async def asked_again() -> list[str]:
        raise AssertionError("the audience is written down")

    news.run("AB")
    assert counts(news.run(asked_again())) == {"delivered": 2}


def test_the_audience_is_written_as_a_list_of_chats(news: Broadcasting) -> None:
    news.run([5, "@news"])
    assert json.loads((news.directory / "news.recipients.json").read_text()) == [5, "@news"]
