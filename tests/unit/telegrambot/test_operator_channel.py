"""Notices for the operator are posted without waiting, sent one by one in order, and dropped with a reason or not at all."""

from __future__ import annotations

import asyncio
import threading

import pytest

from telegrambot.destinations import Destination
from telegrambot.failures import Reason
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_dedupe import Deduping
from telegrambot.operator_notices import Dropped, OperatorChat
from telegrambot.texts import TEXT_UNITS_MAX, utf16_units
from tests.fakes.held_clock import HeldClock, settled
from tests.fakes.operator_chat import CHAT_ID, LIMIT_S, Said, ScriptedChat, refusal

TOKEN = "123456:abcdefghijklmnopqrstuvwxyz012345678"


def flood(retry_after_s: float | None) -> Exception:
    return refusal(Reason.RATE_LIMITED, retry_after_s=retry_after_s)


def test_posting_to_a_chat_that_hangs_returns_and_the_queue_stays_bounded() -> None:
    chat = ScriptedChat(queued_max=200)
    chat.hangs = True

    async def post() -> int:
        async with chat.running() as channel:
            channel.post("0")
            await chat.called.wait()
            for number in range(1, 1_000):
                channel.post(str(number))
            return channel.pending

    assert asyncio.run(post()) == 201
    assert chat.drops[:799] == [(str(number), "overflow") for number in range(1, 800)]


def test_a_full_queue_drops_its_oldest_and_never_the_one_in_flight() -> None:
    chat = ScriptedChat(queued_max=2)
    chat.hangs = True

    async def overflow() -> tuple[int, list[tuple[str, str]]]:
        async with chat.running() as channel:
            channel.post("in flight")
            await chat.called.wait()
            for text in ("a", "b", "c"):
                channel.post(text)
            return channel.pending, chat.drops[:]

    assert asyncio.run(overflow()) == (3, [("a", "overflow")])


def test_the_queue_is_sent_in_order_with_three_seconds_between() -> None:
    chat = ScriptedChat()
    asyncio.run(chat.take("a", "b", "c"))
    assert chat.said == [Said(text=text, at=at) for text, at in (("a", 0.0), ("b", 3.0), ("c", 6.0))]


def test_posts_that_come_one_by_one_are_three_seconds_apart_as_well() -> None:
    chat = ScriptedChat()

    async def one_by_one() -> None:
        async with chat.running() as channel:
            for at, text in ((0.0, "a"), (1.0, "b"), (2.0, "c")):
                chat.clock.now = max(at, chat.clock.now)
                channel.post(text)
                await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(one_by_one())
    assert [said.at for said in chat.said] == [0.0, 3.0, 6.0]


def test_a_drain_that_is_aborted_returns_and_leaves_what_is_pending() -> None:
    chat = ScriptedChat()
    chat.hangs = True

    async def drain() -> tuple[bool, int]:
        async with chat.running() as channel:
            abort = asyncio.Event()
            abort.set()
            channel.post("a")
            channel.post("b")
            return await channel.drain(abort=abort), channel.pending

    assert asyncio.run(drain()) == (False, 2)


def test_a_drain_ends_at_its_deadline() -> None:
    chat = ScriptedChat()
    chat.hangs = True

    async def drain() -> tuple[bool, int]:
        async with chat.running() as channel:
            channel.post("a")
            return await channel.drain(timeout_s=0.01), channel.pending

    assert asyncio.run(drain()) == (False, 1)


def test_a_drain_of_nothing_returns_at_once() -> None:
    assert asyncio.run(ScriptedChat().channel.drain()) is True


def test_a_close_reports_the_queue_and_then_what_is_in_flight_and_refuses_the_rest() -> None:
    chat = ScriptedChat()
    chat.hangs = True

    async def close() -> int:
        async with chat.running() as channel:
            channel.post("in flight")
            await chat.called.wait()
            channel.post("queued")
            channel.close()
            channel.post("late")
            channel.close()
            return channel.pending

    assert asyncio.run(close()) == 0
    assert chat.drops == [("queued", "closed"), ("in flight", "closed"), ("late", "closed")]


def test_a_close_ends_a_wait_for_a_flood() -> None:
    chat = ScriptedChat(flood(1_200.0), clock=HeldClock())

    async def close() -> None:
        async with chat.running() as channel:
            channel.post("a")
            await settled()

    asyncio.run(close())
    assert (chat.texts, chat.drops) == (["a"], [("a", "closed")])


def test_what_a_close_gave_up_is_reported_once_also_where_it_is_refused_after_all() -> None:
    chat = ScriptedChat()

    async def send(_: str, __: Destination) -> None:
        chat.channel.close()
        raise refusal(Reason.MESSAGE_INVALID)

    chat.send = send

    async def close() -> None:
        async with chat.running() as channel:
            channel.post("a")
            await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(close())
    assert chat.drops == [("a", "closed")]


def test_a_close_in_another_thread_ends_what_the_loop_sends() -> None:
    chat = ScriptedChat()
    chat.hangs = True

    async def close() -> None:
        running = asyncio.ensure_future(chat.channel.run())
        chat.channel.post("a")
        await chat.called.wait()
        await asyncio.to_thread(chat.channel.close)
        await asyncio.wait_for(running, LIMIT_S)

    asyncio.run(close())
    assert chat.drops == [("a", "closed")]


def test_a_fault_of_the_channel_itself_ends_its_run() -> None:
    chat = ScriptedChat()

    async def broken(_: float) -> None:
        raise ZeroDivisionError

    chat.clock.sleep = broken
    for text in ("a", "b"):
        chat.channel.post(text)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(chat.channel.run(), LIMIT_S))
    assert (chat.texts, chat.channel.pending) == (["a"], 1)


def test_a_channel_closed_before_it_ran_has_nothing_to_do() -> None:
    chat = ScriptedChat()
    chat.channel.post("a")
    chat.channel.close()
    asyncio.run(asyncio.wait_for(chat.channel.run(), LIMIT_S))
    assert (chat.texts, chat.drops) == ([], [("a", "closed")])


def test_a_run_that_is_cancelled_leaves_what_it_was_sending_to_the_close() -> None:
    chat = ScriptedChat()
    chat.hangs = True

    async def cancel() -> int:
        running = asyncio.ensure_future(chat.channel.run())
        chat.channel.post("a")
        await chat.called.wait()
        running.cancel()
        await asyncio.wait((running,))
        return chat.channel.pending

    assert asyncio.run(cancel()) == 1
    chat.channel.close()
    assert chat.drops == [("a", "closed")]


def test_a_channel_runs_once() -> None:
    chat = ScriptedChat()

    async def twice() -> None:
        async with chat.running() as channel:
            await asyncio.sleep(0)
            await channel.run()

    with pytest.raises(RuntimeError, match="runs already"):
        asyncio.run(twice())


def test_what_is_posted_before_the_loop_runs_is_sent_when_it_does() -> None:
    chat = ScriptedChat()
    chat.channel.post("early")
    asyncio.run(chat.take("later"))
    assert chat.texts == ["early", "later"]


def test_posting_after_the_loop_has_ended_raises_nothing() -> None:
    chat = ScriptedChat()

    async def cut() -> None:
        running = asyncio.ensure_future(chat.channel.run())
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait((running,))

    asyncio.run(cut())
    chat.channel.post("a")
    assert chat.channel.pending == 1


def test_threads_post_at_once_and_each_ones_order_is_kept() -> None:
    chat = ScriptedChat(queued_max=1_000, interval_s=0.0)
    together = threading.Barrier(4)

    def post(thread: str) -> None:
        together.wait(LIMIT_S)
        for number in range(250):
            chat.channel.post(f"{thread} {number}")

    async def threads() -> None:
        async with chat.running() as channel:
            await asyncio.gather(*[asyncio.to_thread(post, thread) for thread in "abcd"])
            assert await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(threads())
    assert chat.drops == []
    for thread in "abcd":
        sent = [text for text in chat.texts if text.startswith(thread)]
        assert sent == [f"{thread} {number}" for number in range(250)]


def test_an_observer_that_raises_hurts_neither_who_posts_nor_who_sends() -> None:
    chat = ScriptedChat(refusal(Reason.MESSAGE_INVALID))

    def broken(_: Dropped) -> None:
        raise RuntimeError("broken")

    chat.channel = OperatorChannel(OperatorChat(chat_id=CHAT_ID, queued_max=2, deduping=None), chat, chat.clock, broken)
    asyncio.run(chat.take("lost", "refused", "sent"))
    chat.channel.post("late")
    assert chat.texts == ["refused", "sent"]


def test_secrets_are_hidden_in_what_is_sent_and_in_what_is_dropped() -> None:
    chat = ScriptedChat(secrets=("hunter2-hunter2",))
    text = f"curl /bot{TOKEN}/getMe failed for hunter2-hunter2"
    asyncio.run(chat.take(text))
    chat.channel.post(text)
    hidden = "curl /bot123456:[redacted]/getMe failed for [redacted]"
    assert (chat.texts, chat.drops) == ([hidden], [(hidden, "closed")])


def test_a_secret_is_hidden_also_where_the_text_is_cut() -> None:
    chat = ScriptedChat()
    asyncio.run(chat.take("x" * (TEXT_UNITS_MAX - 30) + " " + TOKEN))
    assert "abcdefgh" not in chat.texts[0]


def test_a_chat_does_not_show_its_secrets() -> None:
    assert "hunter2" not in repr(OperatorChat(chat_id=CHAT_ID, secrets=("hunter2-hunter2",)))


def test_a_long_notice_is_cut_and_still_tells_what_was_held() -> None:
    chat = ScriptedChat(deduping=Deduping(window_s=1.0))

    async def thrice() -> None:
        async with chat.running() as channel:
            for _ in range(3):
                channel.post("x" * 5_000)
                await channel.drain(timeout_s=LIMIT_S)
            chat.clock.advance(1.0)
            channel.post("x" * 5_000)
            await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(thrice())
    assert [utf16_units(text) for text in chat.texts] == [4096, 4096]
    assert chat.texts[1].endswith("x…\n(more like this held back: 2)")


def test_a_hundred_like_notices_in_ten_minutes_are_one_message_and_the_next_says_how_many_were_held() -> None:
    chat = ScriptedChat(deduping=Deduping())

    async def failing() -> None:
        async with chat.running() as channel:
            for number in range(101):
                chat.clock.now = max(chat.clock.now, 6.0 * number)
                channel.post(f"poll {number} failed")
                await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(failing())
    assert chat.texts == ["poll 0 failed", "poll 100 failed\n(more like this held back: 99)"]
    assert chat.drops == [(f"poll {number} failed", "repeated") for number in range(1, 100)]


def test_numbers_tell_notices_apart_where_they_name_what_it_is_about() -> None:
    chat = ScriptedChat(deduping=Deduping())

    async def post() -> None:
        async with chat.running() as channel:
            for number in (17, 18, 17):
                channel.post(f"{number} waits", about=f"o/r#{number}")
            await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(post())
    assert chat.texts == ["17 waits\n(more like this held back: 1)", "18 waits"]
    assert chat.drops == [("17 waits", "repeated")]


def test_beyond_the_budget_notices_are_counted_onto_the_first_message_of_the_next_window() -> None:
    chat = ScriptedChat(deduping=Deduping(window_s=600.0, sends_max=1))

    async def post() -> None:
        async with chat.running() as channel:
            for text in ("a", "b", "c"):
                channel.post(text)
            await channel.drain(timeout_s=LIMIT_S)
            chat.clock.now = 600.0
            channel.post("d")
            await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(post())
    assert chat.texts == ["a", "d\n(other notices left out: 2)"]
    assert chat.drops == [("b", "over-budget"), ("c", "over-budget")]


@pytest.mark.parametrize("lost", ["refused", "overflow"])
def test_a_notice_that_was_dropped_holds_back_no_like_one(lost: str) -> None:
    script = [refusal(Reason.MESSAGE_INVALID)] if lost == "refused" else []
    chat = ScriptedChat(*script, deduping=Deduping(), queued_max=1)

    async def post() -> None:
        async with chat.running() as channel:
            channel.post("a")
            if lost == "overflow":
                channel.post("b")
            await channel.drain(timeout_s=LIMIT_S)
            channel.post("a")
            await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(post())
    assert chat.texts[-1] == "a"
    assert chat.drops == [("a", lost)]


@pytest.mark.parametrize("limits", [{"queued_max": 0}, {"attempts_max": 0}], ids=["no queue", "no attempt"])
def test_a_channel_that_could_send_nothing_is_not_made(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        OperatorChat(chat_id=CHAT_ID, **limits)


def test_the_defaults_keep_to_what_a_group_takes() -> None:
    chat = OperatorChat(chat_id=CHAT_ID)
    assert (chat.queued_max, chat.interval_s, chat.attempts_max, chat.deduping) == (200, 3.0, 3, Deduping())
