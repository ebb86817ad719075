"""What becomes of a notice that Telegram does not take as it stands: it waits, goes elsewhere, or is dropped."""

from __future__ import annotations

import asyncio

import pytest

from service.clock import SystemClock
from service.lifecycle.application import Application
from service.lifecycle.coroutines import EventLoop, Running
from service.lifecycle.roster import Observers
from service.lifecycle.shutdown import ShutdownOutcome
from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.failures import Failure, Reason
from telegrambot.floods import Floods
from telegrambot.operator_channel import OperatorChannel
from telegrambot.operator_notices import Dropped, DropReason, OperatorChat
from telegrambot.operator_sending import BotSender
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.held_clock import HeldClock
from tests.fakes.operator_chat import CHAT_ID, LIMIT_S, ScriptedChat, refusal
from tests.fakes.telegram_clock import FakeClock

TOKEN = "123456:abcdefghijklmnopqrstuvwxyz012345678"


def flood(retry_after_s: float | None) -> Exception:
    return refusal(Reason.RATE_LIMITED, retry_after_s=retry_after_s)


@pytest.mark.parametrize(
    ("asked_s", "waited_s"),
    [
        pytest.param(7.0, 7.0, id="longer than the interval"),
        pytest.param(1.0, 3.0, id="shorter than the interval"),
        pytest.param(None, 3.0, id="not said"),
        pytest.param(1_200.0, 1_200.0, id="twenty minutes"),
    ],
)
def test_a_flood_is_waited_out_with_the_same_message(asked_s: float | None, waited_s: float) -> None:
    chat = ScriptedChat(flood(asked_s))
    asyncio.run(chat.take("a", "b"))
    assert [(said.text, said.at) for said in chat.said] == [("a", 0.0), ("a", waited_s), ("b", waited_s + 3.0)]


def test_a_flood_counts_as_an_attempt_and_holds_the_next_message_too() -> None:
    chat = ScriptedChat(flood(7.0), flood(7.0), flood(60.0))
    asyncio.run(chat.take("a", "b"))
    assert [(said.text, said.at) for said in chat.said] == [("a", 0.0), ("a", 7.0), ("a", 14.0), ("b", 74.0)]
    assert chat.drops == [("a", "attempts")]


def test_until_when_the_chat_is_muted_can_be_asked() -> None:
    clock = HeldClock(now=0.0)
    chat = ScriptedChat(flood(60.0), clock=clock)

    async def muted() -> list[float | None]:
        async with chat.running() as channel:
            seen = [channel.muted_until]
            channel.post("a")
            for seconds in (1.0, 59.0):
                await clock.advance(seconds)
                seen.append(channel.muted_until)
            return seen

    assert asyncio.run(muted()) == [None, 60.0, None]
    assert chat.texts == ["a", "a"]


def test_nothing_is_said_of_a_flood_in_the_chat_itself() -> None:
    chat = ScriptedChat(flood(60.0), flood(60.0), flood(60.0))
    asyncio.run(chat.take("a"))
    assert chat.texts == ["a", "a", "a"]


@pytest.mark.parametrize("reason", [Reason.SERVER_ERROR, Reason.NOT_DISPATCHED])
def test_what_fails_at_telegram_or_never_left_is_sent_three_times_and_then_the_next(reason: Reason) -> None:
    chat = ScriptedChat(*[refusal(reason)] * 3)
    asyncio.run(chat.take("a", "b"))
    assert [(said.text, said.at) for said in chat.said] == [("a", 0.0), ("a", 3.0), ("a", 6.0), ("b", 9.0)]
    assert chat.drops == [("a", "attempts")]


def test_a_message_that_telegram_does_not_take_is_dropped_with_its_failure_and_sent_once() -> None:
    invalid = refusal(Reason.MESSAGE_INVALID, words="can't parse entities")
    chat = ScriptedChat(invalid)
    asyncio.run(chat.take("a"))
    assert chat.dropped == [Dropped(text="a", topic=None, reason=DropReason.REFUSED, failure=invalid.failure)]
    assert chat.texts == ["a"]


@pytest.mark.parametrize(
    ("failures", "sends", "drops"),
    [
        pytest.param(1, 2, [], id="once"),
        pytest.param(2, 2, [("a", "attempts")], id="twice"),
    ],
)
def test_a_message_without_an_answer_is_sent_once_more_as_a_copy_is_cheaper_than_silence(
    failures: int, sends: int, drops: list[tuple[str, str]]
) -> None:
    chat = ScriptedChat(*[refusal(Reason.NO_ANSWER)] * failures)
    asyncio.run(chat.take("a"))
    assert (chat.texts, chat.drops) == (["a"] * sends, drops)


def test_a_sender_that_breaks_costs_one_notice_and_not_the_channel() -> None:
    chat = ScriptedChat(ZeroDivisionError(TOKEN))
    asyncio.run(chat.take("a", "b"))
    assert (chat.texts, chat.drops) == (["a", "b"], [("a", "refused")])
    assert str(chat.dropped[0].failure) == "sendMessage: unknown ZeroDivisionError"


def test_topics_go_to_their_threads_and_what_is_no_topic_to_the_chat() -> None:
    chat = ScriptedChat(topics={"builds": 7, "general": 1}, interval_s=0.0)

    async def post() -> None:
        async with chat.running() as channel:
            for topic in ("builds", "general", "weather", None):
                channel.post(str(topic), topic)
            await channel.drain(timeout_s=LIMIT_S)

    asyncio.run(post())
    assert [(said.text, said.thread_id) for said in chat.said] == [
        ("builds", 7),
        ("general", None),
        ("weather", None),
        ("None", None),
    ]


def test_a_topic_that_is_gone_is_left_out_and_remembered() -> None:
    chat = ScriptedChat(refusal(Reason.THREAD_NOT_FOUND), topics={"builds": 7}, attempts_max=1)
    asyncio.run(chat.take("a", "b", topic="builds"))
    assert [(said.text, said.thread_id) for said in chat.said] == [("a", 7), ("a", None), ("b", None)]
    assert chat.drops == []


def test_a_thread_that_is_not_found_where_none_was_named_is_a_refusal() -> None:
    chat = ScriptedChat(refusal(Reason.THREAD_NOT_FOUND))
    asyncio.run(chat.take("a"))
    assert (chat.texts, chat.drops) == (["a"], [("a", "refused")])


def test_a_group_that_moved_is_written_to_under_its_new_id_from_then_on() -> None:
    chat = ScriptedChat(refusal(Reason.MIGRATED, migrate_to_chat_id=-1009), attempts_max=1)
    asyncio.run(chat.take("a", "b"))
    assert [(said.text, said.chat_id) for said in chat.said] == [("a", CHAT_ID), ("a", -1009), ("b", -1009)]
    assert chat.drops == []


@pytest.mark.parametrize(
    ("answers", "sends"),
    [
        pytest.param([None], 1, id="without saying where to"),
        pytest.param([-1007, -1008, -1009], 3, id="again and again"),
    ],
)
def test_a_group_that_cannot_be_followed_is_a_refusal(answers: list[int | None], sends: int) -> None:
    chat = ScriptedChat(*[refusal(Reason.MIGRATED, migrate_to_chat_id=answer) for answer in answers])
    asyncio.run(chat.take("a"))
    assert (chat.texts, chat.drops) == (["a"] * sends, [("a", "refused")])


def test_a_flood_that_another_sender_met_in_the_chat_holds_the_channel_too() -> None:
    chat = ScriptedChat()
    floods = Floods(chat.clock)
    chat.channel = OperatorChannel(OperatorChat(chat_id=CHAT_ID), chat, chat.clock, chat.dropped.append, floods)
    floods.mute(CHAT_ID, 30.0)
    floods.mute(77, 600.0)
    asyncio.run(chat.take("a"))
    assert [said.at for said in chat.said] == [30.0]


def post_as_a_bot(bot_api: StandInBotApi, *texts: str, topic: str | None = None) -> list[Dropped]:
    """Post to the stand-in's group by a bot; what was dropped."""
    dropped: list[Dropped] = []

    async def post() -> None:
        async with sending_client() as client:
            token = Token(bot_api.token)
            sender = BotSender(BotApi(token, client, bot_api.root_url))
            chat = OperatorChat(chat_id=CHAT_ID, topics={"builds": 7})
            channel = OperatorChannel(chat, sender, FakeClock(), dropped.append)
            running = asyncio.ensure_future(channel.run())
            for text in texts:
                channel.post(text, topic)
            assert await channel.drain(timeout_s=LIMIT_S)
            channel.close()
            await running

    asyncio.run(post())
    return dropped


def test_a_bot_sends_plain_text_without_previews_and_without_its_token() -> None:
    with StandInBotApi(token="123:short-token") as bot_api:
        post_as_a_bot(bot_api, f"*see* https://example.org/{bot_api.token}")
        [call] = bot_api.calls_of("sendMessage")
    assert dict(call.values) == {
        "chat_id": CHAT_ID,
        "text": "*see* https://example.org/[redacted]",
        "link_preview_options": {"is_disabled": True},
    }


def test_a_bot_follows_a_topic_that_was_deleted_and_a_group_that_moved() -> None:
    with StandInBotApi() as bot_api:
        bot_api.chat(CHAT_ID).migrates(-1009)
        bot_api.chat(-1009).delete_topic(7)
        assert post_as_a_bot(bot_api, "a", "b", topic="builds") == []
        assert [(send.chat_id, send.thread_id, send.text) for send in bot_api.sends] == [
            (-1009, None, "a"),
            (-1009, None, "b"),
        ]
        assert len(bot_api.calls_of("sendMessage")) == 4


def test_an_application_whose_operator_chat_cannot_be_reached_becomes_ready() -> None:
    chat = ScriptedChat(*[refusal(Reason.NOT_DISPATCHED)] * 3)
    loop = EventLoop()
    resource = Running(
        name="operator", loop=loop, work=lambda _: chat.channel.run(), stop=chat.channel.close, required=False
    )
    observers = Observers(on_change=lambda _: None, on_failure=lambda _: None)
    application = Application([loop, resource], clock=SystemClock(), observers=observers)
    chat.channel.post("started")
    application.start()
    assert application.admission.accepting
    assert application.begin_shutdown().result(LIMIT_S).outcome is ShutdownOutcome.CLEAN


def test_no_drop_of_a_bot_shows_its_token() -> None:
    with StandInBotApi() as bot_api:
        bot_api.revoke()
        [dropped] = post_as_a_bot(bot_api, f"a {bot_api.token}")
    assert dropped.reason is DropReason.REFUSED
    assert isinstance(dropped.failure, Failure)
    assert bot_api.token.partition(":")[2] not in repr(dropped) + str(dropped.failure)
