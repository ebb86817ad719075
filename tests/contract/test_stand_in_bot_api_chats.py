"""The stand-in Bot API server takes messages, hands out files and pushes to webhooks as Telegram does, refusals included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes.bot_api import answers
from tests.fakes.bot_api.asking import Asking, asking
from tests.fakes.bot_api.samples import button_press
from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.bot_api.transcripts import Send
from tests.fakes.github import Inbox
from tests.fakes.scripted_http import ScriptedHttp, Told

NOON_S = 1_900_000_000.0
ASTRAL = "\N{ROCKET}"
THREAD_NOT_FOUND = (400, "Bad Request: message thread not found")


@pytest.fixture
def bot_api(tmp_path: Path) -> Iterator[StandInBotApi]:
    with StandInBotApi(stands_at_s=NOON_S, files_root=tmp_path) as running:
        yield running


@pytest.fixture
def client(bot_api: StandInBotApi) -> Iterator[Asking]:
    with asking(bot_api) as client:
        yield client


def test_what_was_sent_is_told_and_kept(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.chat(-1001).open_topic(7)
    message = client.result("sendMessage", chat_id=-1001, text="hello", message_thread_id=7)
    assert message == {
        "message_id": 1,
        "date": int(NOON_S),
        "chat": {"id": -1001, "type": "supergroup", "title": "Group -1001"},
        "text": "hello",
        "message_thread_id": 7,
        "is_topic_message": True,
    }
    assert bot_api.sends == [
        Send(
            method="sendMessage",
            chat_id=-1001,
            text="hello",
            message_id=1,
            at_s=NOON_S,
            thread_id=7,
            is_answered=True,
        )
    ]


def test_a_channel_is_written_to_by_its_name(bot_api: StandInBotApi, client: Asking) -> None:
    assert client.result("sendMessage", chat_id="@news", text="hello")["chat"]["type"] == "channel"
    assert [send.chat_id for send in bot_api.sends] == ["@news"]


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        pytest.param({"chat_id": 5}, (400, "Bad Request: message text is empty"), id="no text"),
        pytest.param({"chat_id": 5, "text": " \n"}, (400, "Bad Request: message text is empty"), id="blank text"),
        pytest.param({"text": "a"}, (400, "Bad Request: chat_id is empty"), id="no chat"),
        pytest.param({"chat_id": "nobody", "text": "a"}, (400, "Bad Request: chat not found"), id="no such chat"),
        pytest.param({"chat_id": 5, "text": "a" * 4097}, (400, "Bad Request: message is too long"), id="too long"),
        pytest.param(
            {"chat_id": 5, "text": ASTRAL * 4097}, (400, "Bad Request: message is too long"), id="too many signs"
        ),
        pytest.param(
            {
                "chat_id": 5,
                "text": "a",
                "reply_markup": {"inline_keyboard": [[{"text": "b", "callback_data": "ä" * 33}]]},
            },
            (400, "Bad Request: BUTTON_DATA_INVALID"),
            id="a button that says too much",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(bot_api: StandInBotApi, client: Asking, values, refusal) -> None:
    assert client.refusal("sendMessage", **values) == refusal
    assert bot_api.sends == []


def test_a_text_is_counted_in_code_points(client: Asking) -> None:
    assert len(client.result("sendMessage", chat_id=5, text=ASTRAL * 4096)["text"]) == 4096


@pytest.mark.parametrize(
    "refusal",
    [
        answers.BLOCKED_BY_USER,
        answers.KICKED,
        answers.USER_DEACTIVATED,
        answers.NOT_STARTED,
        answers.NOT_A_MEMBER,
        answers.NOT_IN_CHANNEL,
        answers.GROUP_DELETED,
        answers.CHAT_NOT_FOUND,
        answers.USER_NOT_FOUND,
        answers.PEER_ID_INVALID,
        answers.NOT_ENOUGH_RIGHTS,
        answers.WRITE_FORBIDDEN,
        answers.NEEDS_ADMINISTRATOR,
        answers.CANNOT_PARSE,
        answers.WRONG_FILE,
        answers.BUTTON_URL_INVALID,
    ],
    ids=lambda refusal: refusal.description,
)
def test_a_chat_refuses_in_the_servers_words(bot_api: StandInBotApi, client: Asking, refusal) -> None:
    bot_api.chat(5).refuses(refusal)
    assert client.refusal("sendMessage", chat_id=5, text="a") == (refusal.status, refusal.description)
    client.result("sendMessage", chat_id=6, text="b")
    assert [send.text for send in bot_api.sends] == ["b"]


def test_a_chat_refuses_so_many_times_or_until_it_accepts(bot_api: StandInBotApi, client: Asking) -> None:
    chat = bot_api.chat(5)
    chat.refuses(answers.CANNOT_PARSE, times=2)
    assert [client.ask("sendMessage", chat_id=5, text="a")["ok"] for _ in range(3)] == [False, False, True]
    chat.refuses(answers.BLOCKED_BY_USER)
    assert [client.ask("sendMessage", chat_id=5, text="b")["ok"] for _ in range(3)] == [False, False, False]
    chat.accepts()
    assert client.ask("sendMessage", chat_id=5, text="c")["ok"]


def test_a_group_that_became_a_supergroup_says_its_new_id(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.chat(-77).migrates(-1007)
    assert client.ask("sendMessage", chat_id=-77, text="a") == {
        "ok": False,
        "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": -1007},
    }


def test_a_chat_that_is_flooded_says_how_long_to_wait(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.chat(5).floods(7)
    answer = client.answer("sendMessage", chat_id=5, text="a")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert answer.json() == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 7",
        "parameters": {"retry_after": 7},
    }
    assert client.ask("sendMessage", chat_id=5, text="a")["ok"]


def test_a_topic_takes_messages_while_it_is_open(bot_api: StandInBotApi, client: Asking) -> None:
    chat, to_topic = bot_api.chat(-1001), {"chat_id": -1001, "text": "a", "message_thread_id": 7}
    assert client.refusal("sendMessage", **to_topic) == THREAD_NOT_FOUND
    chat.open_topic(7)
    assert client.result("sendMessage", **to_topic)["message_thread_id"] == 7
    chat.close_topic(7)
    assert client.refusal("sendMessage", **to_topic) == (400, "Bad Request: TOPIC_CLOSED")
    chat.delete_topic(7)
    assert client.refusal("sendMessage", **to_topic) == THREAD_NOT_FOUND
    assert client.refusal("sendMessage", **{**to_topic, "message_thread_id": 1}) == THREAD_NOT_FOUND


def test_a_message_and_its_buttons_can_be_edited_but_not_to_what_they_are(client: Asking) -> None:
    buttons = {"inline_keyboard": [[{"text": "b", "callback_data": "c"}]]}
    sent = {"chat_id": 5, "message_id": client.result("sendMessage", chat_id=5, text="a")["message_id"]}
    assert client.result("editMessageText", **sent, text="b")["text"] == "b"
    assert client.refusal("editMessageText", **sent, text="b")[1].startswith("Bad Request: message is not modified")
    assert client.result("editMessageReplyMarkup", **sent, reply_markup=buttons)["reply_markup"] == buttons
    assert "reply_markup" not in client.result("editMessageReplyMarkup", **sent)
    nowhere = {"chat_id": 5, "message_id": 99, "text": "c"}
    assert client.refusal("editMessageText", **nowhere) == (400, "Bad Request: message to edit not found")


def test_a_message_that_is_there_can_be_copied(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.chat(9).holds(44, "news")
    copied = client.result("copyMessage", chat_id=5, from_chat_id=9, message_id=44)
    assert [(send.method, send.text, {"message_id": send.message_id}) for send in bot_api.sends] == [
        ("copyMessage", "news", copied)
    ]
    missing = {"chat_id": 5, "from_chat_id": 9, "message_id": 45}
    assert client.refusal("copyMessage", **missing) == (400, "Bad Request: message to copy not found")


def test_a_button_that_was_pressed_can_be_answered(bot_api: StandInBotApi, client: Asking) -> None:
    bot_api.push(button_press("yes"))
    query = client.result("getUpdates")[0]["callback_query"]
    assert client.result("answerCallbackQuery", callback_query_id=query["id"]) is True
    assert client.refusal("answerCallbackQuery", callback_query_id="0")[1].startswith("Bad Request: query is too old")


def test_a_chat_action_goes_where_a_message_would(bot_api: StandInBotApi, client: Asking) -> None:
    assert client.result("sendChatAction", chat_id=5, action="typing") is True
    bot_api.chat(5).refuses(answers.BLOCKED_BY_USER)
    assert client.refusal("sendChatAction", chat_id=5, action="typing")[0] == 403


def test_a_document_that_was_sent_can_be_had_again(bot_api: StandInBotApi, client: Asking) -> None:
    form = {"data": {"chat_id": 5, "caption": "the log"}, "files": {"document": ("log.txt", b"\0binary\r\n")}}
    message = httpx.post(f"{client.url}/sendDocument", trust_env=False, **form).json()["result"]
    document = client.result("getFile", file_id=message["document"]["file_id"])
    assert document["file_size"] == 9
    address = f"{bot_api.root_url}/file/bot{bot_api.token}/{document['file_path']}"
    assert httpx.get(address, trust_env=False).content == b"\0binary\r\n"
    assert [(send.method, send.text) for send in bot_api.sends] == [("sendDocument", "the log")]
    assert client.ask("sendDocument", chat_id=5, document=document["file_id"])["ok"]


@pytest.mark.parametrize(
    ("values", "description"),
    [
        pytest.param({"document": "unknown"}, "Bad Request: wrong file identifier/HTTP URL specified", id="unknown"),
        pytest.param({"caption": "a" * 1025}, "Bad Request: message caption is too long", id="caption"),
    ],
)
def test_a_document_that_cannot_be_sent_is_refused(client: Asking, values, description: str) -> None:
    assert client.refusal("sendDocument", chat_id=5, **values) == (400, description)


def test_a_server_that_is_not_local_says_relative_paths_of_files_up_to_20_mib(
    bot_api: StandInBotApi, client: Asking
) -> None:
    largest = bot_api.files.put("videos/largest", size=20 * 2**20)
    larger = bot_api.files.put("videos/larger", size=20 * 2**20 + 1)
    assert client.result("getFile", file_id=largest)["file_path"] == "videos/largest"
    assert client.refusal("getFile", file_id=larger) == (400, "Bad Request: file is too big")
    assert client.refusal("getFile", file_id="none")[1] == (
        "Bad Request: wrong file_id or the file is temporarily unavailable"
    )


def test_a_local_server_says_absolute_paths_of_files_of_any_size_and_hands_out_none(tmp_path: Path) -> None:
    with StandInBotApi(files_root=tmp_path, is_local=True) as bot_api, asking(bot_api) as client:
        file_id = bot_api.files.put("videos/large", size=20 * 2**20 + 1)
        path = tmp_path / bot_api.token / "videos/large"
        assert client.result("getFile", file_id=file_id)["file_path"] == str(path)
        address = f"{bot_api.root_url}/file/bot{bot_api.token}/videos/large"
        assert httpx.get(address, trust_env=False).status_code == 404


def test_a_path_may_be_told_that_leads_elsewhere(bot_api: StandInBotApi, client: Asking) -> None:
    for path in ("../../etc/passwd", "/etc/passwd"):
        assert client.result("getFile", file_id=bot_api.files.point(path))["file_path"] == path


def test_an_update_is_pushed_once_with_the_secret(bot_api: StandInBotApi, client: Asking) -> None:
    with Inbox(200) as inbox:
        client.result("setWebhook", url=inbox.url, secret_token="S3cret_-")
        bot_api.push_text("a")
        assert [pushed.status for pushed in bot_api.deliver_webhooks()] == [200]
        assert bot_api.deliver_webhooks() == []
        (received,) = inbox.wait_for_count(1)
    assert received.headers["x-telegram-bot-api-secret-token"] == "S3cret_-"
    assert (json.loads(received.body)["update_id"], received.headers["content-type"]) == (10, "application/json")
    assert (bot_api.confirmed_ids, bot_api.unconfirmed_ids) == ([10], [])


def test_an_update_is_pushed_again_after_waits_that_double_up_to_a_minute(
    bot_api: StandInBotApi, client: Asking
) -> None:
    with Inbox(500) as inbox:
        client.result("setWebhook", url=inbox.url)
        bot_api.push_text("a")
        assert len(bot_api.deliver_webhooks()) == 1
        for wait_s in (1, 2, 4, 8, 16, 32, 60, 60):
            bot_api.advance(wait_s - 0.5)
            assert bot_api.deliver_webhooks() == []
            bot_api.advance(0.5)
            assert [pushed.status for pushed in bot_api.deliver_webhooks()] == [500]


def test_an_update_waits_as_long_as_the_bot_asked(bot_api: StandInBotApi, client: Asking) -> None:
    with ScriptedHttp(lambda asked: Told("busy", 503, {"Retry-After": "30"})) as hook:
        client.result("setWebhook", url=hook.url)
        bot_api.push_text("a")
        pushed_counts = []
        for pause_s in (0, 29, 1):
            bot_api.advance(pause_s)
            pushed_counts.append(len(bot_api.deliver_webhooks()))
    assert pushed_counts == [1, 0, 1]


def test_a_webhook_that_is_gone_for_23_hours_is_closed(bot_api: StandInBotApi, client: Asking) -> None:
    with Inbox(410) as inbox:
        client.result("setWebhook", url=inbox.url)
        bot_api.push_text("a")
        bot_api.deliver_webhooks()
        assert bot_api.webhook is not None
        bot_api.advance(23 * 3600)
        bot_api.deliver_webhooks()
        assert bot_api.webhook is None


def test_a_webhook_that_nobody_answers_is_told(bot_api: StandInBotApi, client: Asking) -> None:
    with Inbox(200) as inbox:
        url = inbox.url
    client.result("setWebhook", url=url, max_connections=500)
    bot_api.push_text("a")
    assert [pushed.status for pushed in bot_api.deliver_webhooks()] == [None]
    assert client.result("getWebhookInfo") == {
        "url": url,
        "has_custom_certificate": False,
        "pending_update_count": 1,
        "max_connections": 100,
        "last_error_date": int(NOON_S),
        "last_error_message": "Connection refused",
    }


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        pytest.param(
            {"url": "http://example.org/hook"},
            (400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"),
            id="http elsewhere",
        ),
        pytest.param(
            {"secret_token": "not so"}, (400, "Bad Request: secret token contains unallowed characters"), id="signs"
        ),
        pytest.param({"secret_token": "a" * 257}, (400, "Bad Request: secret token is too long"), id="too long"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused(client: Asking, values, refusal) -> None:
    assert client.refusal("setWebhook", **{"url": "https://example.org/hook", **values}) == refusal


def test_webhooks_may_be_set_once_a_second(bot_api: StandInBotApi, client: Asking) -> None:
    client.result("setWebhook", url="https://example.org/1")
    assert client.ask("setWebhook", url="https://example.org/1")["description"] == "Webhook is already set"
    assert client.ask("setWebhook", url="https://example.org/2")["parameters"] == {"retry_after": 1}
    bot_api.advance(1)
    assert client.ask("setWebhook", url="https://example.org/2")["description"] == "Webhook was set"


def test_a_webhook_is_deleted_with_or_without_its_updates(bot_api: StandInBotApi, client: Asking) -> None:
    client.result("setWebhook", url="https://example.org/hook")
    bot_api.push_text("a")
    assert client.ask("deleteWebhook")["description"] == "Webhook was deleted"
    assert client.ask("deleteWebhook")["description"] == "Webhook is already deleted"
    assert client.result("getWebhookInfo") == {"url": "", "has_custom_certificate": False, "pending_update_count": 1}
    client.result("deleteWebhook", drop_pending_updates=True)
    assert client.update_ids() == []
