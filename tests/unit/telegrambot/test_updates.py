"""Reading updates leniently, one at a time."""

from __future__ import annotations

import pytest

from telegrambot.updates import CommandWord, Unreadable, Update, command_in, read_batch, read_update

MESSAGE = {"message_id": 3, "chat": {"id": -5, "type": "group"}, "from": {"id": 7}, "text": "/status"}


def test_a_message_is_read_with_its_chat_its_sender_and_its_text() -> None:
    update = read_update({"update_id": 10, "message": MESSAGE})
    assert update == Update(update_id=10, kind="message", content=MESSAGE)
    assert (update.chat_id, update.user_id, update.text, update.line) == (-5, 7, "/status", "chat:-5")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param({"message": {"message_id": 1, "chat": {"id": 4}}}, "chat:4", id="message"),
        pytest.param({"callback_query": {"id": "a", "from": {"id": 7}, "message": MESSAGE}}, "chat:-5", id="button"),
        pytest.param({"inline_query": {"id": "a", "from": {"id": 7}}}, "account:7", id="inline query"),
        pytest.param({"poll_answer": {"user": {"id": 8}}}, "account:8", id="vote"),
        pytest.param({"poll_answer": {"voter_chat": {"id": -9}}}, "account:-9", id="vote of a chat"),
        pytest.param({"poll": {"id": "x"}}, "update:10", id="poll"),
        pytest.param({"new_kind": {"anything": 1}}, "update:10", id="a kind of tomorrow"),
    ],
)
def test_updates_of_one_chat_or_account_stand_in_one_line(content: dict, line: str) -> None:
    update = read_update({"update_id": 10, **content})
    assert isinstance(update, Update)
    assert update.line == line


@pytest.mark.parametrize(
    ("element", "unreadable"),
    [
        pytest.param("text", Unreadable(None, "not an object"), id="no object"),
        pytest.param({"message": MESSAGE}, Unreadable(None, "no update_id"), id="no number"),
        pytest.param({"update_id": True, "message": MESSAGE}, Unreadable(None, "no update_id"), id="true"),
        pytest.param({"update_id": "10", "message": MESSAGE}, Unreadable(None, "no update_id"), id="text as number"),
        pytest.param({"update_id": 10}, Unreadable(10, "nothing beside its update_id"), id="empty"),
        pytest.param({"update_id": 10, "message": 3}, Unreadable(10, "message is no object"), id="content"),
        pytest.param({"update_id": 10, "message": {"chat": {}}}, Unreadable(10, "a message without a chat"), id="chat"),
    ],
)
def test_what_cannot_be_read_says_why_and_keeps_its_number(element: object, unreadable: Unreadable) -> None:
    assert read_update(element) == unreadable


def test_one_update_that_cannot_be_read_takes_no_other_with_it() -> None:
    batch = read_batch(
        [{"update_id": 10, "message": MESSAGE}, {"update_id": 11}, {"update_id": 12, "message": MESSAGE}]
    )
    assert [type(element).__name__ for element in batch] == ["Update", "Unreadable", "Update"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("/status", CommandWord("status", ""), id="alone"),
        pytest.param(" /STATUS now\nplease", CommandWord("status", ""), id="in capitals, with more behind it"),
        pytest.param("/status@Our_Bot", CommandWord("status", "our_bot"), id="to a bot"),
        pytest.param("status", None, id="no slash"),
        pytest.param("a /status", None, id="in mid-sentence"),
        pytest.param(" \n", None, id="nothing"),
    ],
)
def test_a_command_is_read_with_the_bot_that_it_names(text: str, word: CommandWord | None) -> None:
    assert command_in(text) == word


def test_a_command_that_names_a_bot_is_for_that_one_alone() -> None:
    assert [word.is_for("Our_Bot") for word in (CommandWord("help", ""), CommandWord("help", "our_bot"))] == [
        True,
        True,
    ]
    assert not CommandWord("help", "another").is_for("Our_Bot")
