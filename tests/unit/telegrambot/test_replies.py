"""A reply is sent once or not at all; what would take long goes to the outbox, and one chat's flood is no other's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.failures import CallFailed, Reason
from telegrambot.floods import Floods
from telegrambot.replies import HandedOver, Patience, Replies, Reply, Sent
from tests.fakes.bot_api.answers import BLOCKED_BY_USER, RESTARTING, Refusal, flood
from tests.fakes.bot_api.faults import DropUnanswered, DropUnread, Hang, NotJson
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.telegram_clock import FakeClock

HELLO = Reply(chat_id=5, text="hello")
RATE_LIMIT_UNTIMED = Refusal(status=429, description="Too Many Requests")


class Answering:
    """Replies to the stand-in's chats on a clock of the test's, with what was handed over and reported of it."""

    def __init__(self, bot_api: StandInBotApi, patience: Patience | None = None) -> None:
        self.bot_api = bot_api
        self.clock = FakeClock(now=0.0)
        self.kept: list[HandedOver] = []
        self.reported: list[HandedOver] = []
        self.floods = Floods(self.clock)
        self._patience = patience or Patience()

    def run(self, talk: Callable[[Replies], Coroutine[Any, Any, Any]]) -> Any:
        """What comes of a talk with the users."""

        async def with_client() -> Any:
            async with sending_client() as client:
                api = BotApi(Token(self.bot_api.token), client, self.bot_api.root_url)
                options = {"patience": self._patience, "floods": self.floods}
                return await talk(Replies(api, self.clock, self._keep, self.reported.append, **options))

        return asyncio.run(with_client())

    def reply(self, reply: Reply = HELLO) -> Sent | HandedOver:
        return self.run(lambda replies: replies.reply(reply))

    @property
    def arrived(self) -> list[tuple[int | str, str]]:
        return [(send.chat_id, send.text) for send in self.bot_api.sends]

    @property
    def calls(self) -> int:
        return len(self.bot_api.calls_of("sendMessage"))

    async def _keep(self, handed: HandedOver) -> None:
        self.kept.append(handed)


@pytest.fixture
def bot_api():
    with StandInBotApi() as running:
        yield running


@pytest.fixture
def answering(bot_api: StandInBotApi) -> Answering:
    return Answering(bot_api)


def test_a_reply_goes_into_its_chat_and_thread_with_what_else_it_has(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    bot_api.chat(-5).open_topic(7)
    sent = answering.reply(Reply(chat_id=-5, text="hello", thread_id=7, more={"disable_notification": True}))
    assert sent == Sent(message_id=1)
    [call] = bot_api.calls_of("sendMessage")
    assert dict(call.values) == {
        "chat_id": -5,
        "text": "hello",
        "message_thread_id": 7,
        "disable_notification": True,
    }


def test_a_short_flood_is_waited_out_and_the_user_gets_one_message(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    bot_api.chat(5).floods(2)
    assert answering.reply() == Sent(message_id=1)
    assert (answering.clock.sleeps, answering.arrived, answering.kept) == ([2.0], [(5, "hello")], [])


def test_a_long_flood_blocks_no_handler_but_is_handed_over_and_reported(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    bot_api.chat(5).floods(60)
    handed = answering.reply()
    assert isinstance(handed, HandedOver)
    assert (handed.reply, handed.not_before_s) == (HELLO, 60.0)
    assert handed.failure is not None
    assert handed.failure.reason is Reason.RATE_LIMITED
    assert (answering.kept, answering.reported, answering.clock.sleeps) == ([handed], [handed], [])


@pytest.mark.parametrize(
    ("asked_s", "waited"),
    [pytest.param(10, [10.0], id="ten seconds are waited"), pytest.param(11, [], id="eleven are not")],
)
def test_ten_seconds_are_the_longest_wait(
    answering: Answering, bot_api: StandInBotApi, asked_s: int, waited: list[float]
) -> None:
    bot_api.chat(5).floods(asked_s)
    answering.reply()
    assert (answering.clock.sleeps, len(answering.kept)) == (waited, 1 - len(waited))


def test_what_failed_at_telegram_is_repeated(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.arm("sendMessage", RESTARTING, times=2)
    assert answering.reply() == Sent(message_id=1)
    assert (answering.clock.sleeps, answering.arrived) == ([1.0, 2.0], [(5, "hello")])


def test_after_three_attempts_a_reply_is_handed_over(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.arm("sendMessage", RESTARTING, times=None)
    assert isinstance(answering.reply(), HandedOver)
    assert (answering.calls, answering.clock.sleeps, len(answering.kept)) == (3, [1.0, 2.0], 1)


def test_what_never_left_is_repeated_and_then_handed_over(answering: Answering, bot_api: StandInBotApi) -> None:
    with bot_api.unreachable():
        handed = answering.reply()
    assert isinstance(handed, HandedOver)
    assert handed.failure is not None
    assert (handed.failure.reason, answering.clock.sleeps) == (Reason.NOT_DISPATCHED, [1.0, 2.0])


@pytest.mark.parametrize(
    ("fault", "arrived"),
    [
        pytest.param(Hang(), [], id="no answer in time"),
        pytest.param(DropUnread(), [], id="reset"),
        pytest.param(DropUnanswered(), [(5, "hello")], id="closed without an answer"),
        pytest.param(NotJson(200), [], id="an answer that is none"),
        pytest.param(NotJson(502), [], id="a gateway's answer"),
    ],
)
def test_what_may_have_arrived_is_never_repeated_nor_handed_over(
    bot_api: StandInBotApi, fault: Any, arrived: list[tuple[int | str, str]]
) -> None:
    answering = Answering(bot_api, Patience(call_s=0.5) if isinstance(fault, Hang) else Patience())
    bot_api.arm("sendMessage", fault)
    with pytest.raises(CallFailed) as raised:
        answering.reply()
    assert raised.value.failure.reason is Reason.NO_ANSWER
    assert (answering.calls, answering.arrived, answering.kept) == (1, arrived, [])


def test_a_refusal_is_the_handlers(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.chat(5).refuses(BLOCKED_BY_USER)
    with pytest.raises(CallFailed) as raised:
        answering.reply()
    assert raised.value.failure.recipient_unreachable
    assert (answering.calls, answering.kept) == (1, [])


def test_no_failure_shows_the_token(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.arm("sendMessage", DropUnread())
    with pytest.raises(CallFailed) as raised:
        answering.reply()
    assert bot_api.token.partition(":")[2] not in str(raised.value) + repr(raised.value.failure)


def test_while_a_chat_is_muted_its_replies_are_handed_over_without_a_call_and_other_chats_go_on(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    bot_api.chat(5).floods(60)

    async def talk(replies: Replies) -> list[Sent | HandedOver]:
        await replies.reply(HELLO)
        answering.clock.advance(20.0)
        return [await replies.reply(Reply(chat_id=chat_id, text="more")) for chat_id in (5, 6)]

    muted, other = answering.run(talk)
    assert muted == HandedOver(reply=Reply(chat_id=5, text="more"), not_before_s=40.0, failure=None)
    assert (other, answering.calls, answering.arrived) == (Sent(message_id=1), 2, [(6, "more")])


def test_a_flood_that_another_sender_met_in_the_chat_is_known_to_replies(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    answering.floods.mute(5, 30.0)
    assert answering.reply() == HandedOver(reply=HELLO, not_before_s=30.0, failure=None)
    assert answering.calls == 0


def test_a_chat_whose_mute_is_over_is_written_to_again(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.chat(5).floods(60)

    async def talk(replies: Replies) -> Sent | HandedOver:
        await replies.reply(HELLO)
        answering.clock.advance(60.0)
        return await replies.reply(Reply(chat_id=5, text="more"))

    assert answering.run(talk) == Sent(message_id=1)


def test_a_flood_whose_length_is_not_told_is_waited_out_too(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.arm("sendMessage", RATE_LIMIT_UNTIMED)
    assert answering.reply() == Sent(message_id=1)
    assert answering.clock.sleeps == [1.0]


def test_all_waits_and_calls_of_one_reply_stay_under_the_cap(bot_api: StandInBotApi) -> None:
    answering = Answering(bot_api, Patience(total_s=20.0, call_s=8.0))
    bot_api.chat(5).refuses(flood(7), times=2)
    handed = answering.reply()
    assert isinstance(handed, HandedOver)
    assert (answering.clock.sleeps, handed.not_before_s) == ([7.0], 7.0)


def test_a_cap_without_time_for_a_call_is_no_cap() -> None:
    with pytest.raises(ValueError, match="one call"):
        Patience(total_s=5.0, call_s=8.0)


def test_a_group_that_moved_gets_its_replies_under_its_new_id(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.chat(-5).migrates(-1009)

    async def talk(replies: Replies) -> None:
        for text in ("a", "b"):
            await replies.reply(Reply(chat_id=-5, text=text))

    answering.run(talk)
    assert (answering.arrived, answering.calls) == ([(-1009, "a"), (-1009, "b")], 3)


def test_a_reply_into_a_topic_that_is_gone_goes_to_its_chat(answering: Answering, bot_api: StandInBotApi) -> None:
    bot_api.chat(-5).delete_topic(7)
    answering.reply(Reply(chat_id=-5, text="a", thread_id=7))
    assert [(send.text, send.thread_id) for send in bot_api.sends] == [("a", None)]


def test_an_outbox_that_fails_is_the_handlers_fault_and_nothing_is_reported(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    bot_api.chat(5).floods(60)

    async def full(_: HandedOver) -> None:
        raise OSError("no space")

    answering._keep = full
    with pytest.raises(OSError, match="no space"):
        answering.reply()
    assert answering.reported == []


def test_an_observer_that_raises_does_not_make_a_kept_reply_look_lost(
    answering: Answering, bot_api: StandInBotApi
) -> None:
    bot_api.chat(5).floods(60)

    class Broken(list):
        def append(self, _: object) -> None:
            raise RuntimeError("broken")

    answering.reported = Broken()
    assert isinstance(answering.reply(), HandedOver)
    assert len(answering.kept) == 1
