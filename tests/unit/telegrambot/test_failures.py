"""What a failed call means: may it be repeated, and may this recipient be written to again."""

from __future__ import annotations

import math

import pytest

from telegrambot.failures import CallFailed, Evidence, Failure, Reason, failure_in, failure_of_answer

RETRYABLE = {Reason.NOT_DISPATCHED, Reason.RATE_LIMITED, Reason.SERVER_ERROR}
UNREACHABLE = {
    Reason.BLOCKED_BY_USER,
    Reason.USER_DEACTIVATED,
    Reason.NOT_STARTED,
    Reason.CHAT_NOT_FOUND,
    Reason.NOT_MEMBER,
    Reason.CHAT_GONE,
}

ANSWERS = [
    (403, "Forbidden: bot was blocked by the user", Reason.BLOCKED_BY_USER),
    (403, "Forbidden: bot was kicked from the supergroup chat", Reason.BLOCKED_BY_USER),
    (403, "Forbidden: user is deactivated", Reason.USER_DEACTIVATED),
    (400, "Bad Request: INPUT_USER_DEACTIVATED", Reason.USER_DEACTIVATED),
    (403, "Forbidden: bot can't initiate conversation with a user", Reason.NOT_STARTED),
    (400, "Bad Request: need to start a conversation first", Reason.NOT_STARTED),
    (400, "Bad Request: chat not found", Reason.CHAT_NOT_FOUND),
    (400, "Bad Request: PEER_ID_INVALID", Reason.CHAT_NOT_FOUND),
    (400, "Bad Request: user not found", Reason.CHAT_NOT_FOUND),
    (403, "Forbidden: bot is not a member of the supergroup chat", Reason.NOT_MEMBER),
    (403, "Forbidden: bot is not a member of the channel chat", Reason.NOT_MEMBER),
    (403, "Forbidden: the group chat was deleted", Reason.CHAT_GONE),
    (400, "Bad Request: group chat was upgraded to a supergroup chat", Reason.MIGRATED),
    (400, "Bad Request: message thread not found", Reason.THREAD_NOT_FOUND),
    (400, "Bad Request: TOPIC_CLOSED", Reason.THREAD_NOT_FOUND),
    (400, "Bad Request: not enough rights to send text messages to the chat", Reason.FORBIDDEN_IN_CHAT),
    (400, "Bad Request: CHAT_WRITE_FORBIDDEN", Reason.FORBIDDEN_IN_CHAT),
    (400, "Bad Request: need administrator rights in the channel chat", Reason.FORBIDDEN_IN_CHAT),
    (400, "Bad Request: message is too long", Reason.MESSAGE_INVALID),
    (400, "Bad Request: can't parse entities: unclosed tag", Reason.MESSAGE_INVALID),
    (400, "Bad Request: message text is empty", Reason.MESSAGE_INVALID),
    (400, "Bad Request: wrong file identifier/HTTP URL specified", Reason.MESSAGE_INVALID),
    (400, "Bad Request: BUTTON_URL_INVALID", Reason.MESSAGE_INVALID),
    (400, "Bad Request: message to copy not found", Reason.MESSAGE_INVALID),
    (400, "Bad Request: message can't be copied", Reason.MESSAGE_INVALID),
    (400, "Bad Request: MESSAGE_ID_INVALID", Reason.MESSAGE_INVALID),
    (400, "Bad Request: text must be encoded in UTF-8", Reason.MESSAGE_INVALID),
    (400, "Logged out", Reason.UNAUTHORIZED),
    (429, "Too Many Requests: retry later", Reason.RATE_LIMITED),
    (400, "Bad Request: FLOOD_WAIT_3", Reason.RATE_LIMITED),
    (429, "", Reason.RATE_LIMITED),
    (500, "Internal Server Error: restart", Reason.SERVER_ERROR),
    (502, "Bad Gateway", Reason.SERVER_ERROR),
    (401, "Unauthorized", Reason.UNAUTHORIZED),
    (404, "Not Found", Reason.UNAUTHORIZED),
    (404, "Not Found: method not found", Reason.UNKNOWN),
    (409, "Conflict: terminated by other getUpdates request; make sure that only one runs", Reason.CONFLICT),
    (409, "Conflict: terminated by setWebhook request", Reason.CONFLICT),
    (409, "Conflict: can't use getUpdates method while webhook is active", Reason.WEBHOOK_ACTIVE),
    (400, "Bad Request: something new", Reason.UNKNOWN),
    (403, "", Reason.UNKNOWN),
]


@pytest.mark.parametrize(("status", "description", "reason"), ANSWERS, ids=[f"{a[0]} {a[1]}"[:60] for a in ANSWERS])
def test_each_refusal_of_telegrams_has_its_reason(status: int, description: str, reason: Reason) -> None:
    failure = failure_of_answer("sendMessage", status, description)
    assert failure.reason is reason
    assert (failure.retryable, failure.recipient_unreachable) == (reason in RETRYABLE, reason in UNREACHABLE)


def test_how_long_to_wait_wins_over_everything_else_that_an_answer_says() -> None:
    failure = failure_of_answer("sendMessage", 403, "Forbidden: bot was blocked by the user", {"retry_after": 7})
    assert failure == Failure(
        method="sendMessage",
        reason=Reason.RATE_LIMITED,
        evidence=Evidence.PARAMETERS,
        status=403,
        description="Forbidden: bot was blocked by the user",
        retry_after_s=7.0,
    )


@pytest.mark.parametrize("said", [None, "7", True, -1, math.inf, math.nan], ids=repr)
def test_a_wait_that_is_no_number_of_seconds_is_none(said: object) -> None:
    assert failure_of_answer("sendMessage", 429, "Too Many Requests", {"retry_after": said}).retry_after_s is None


def test_a_group_that_became_a_supergroup_says_where_it_went() -> None:
    failure = failure_of_answer(
        "sendMessage", 400, "Bad Request: group chat was upgraded to a supergroup chat", {"migrate_to_chat_id": -1005}
    )
    assert (failure.reason, failure.migrate_to_chat_id) == (Reason.MIGRATED, -1005)


def test_the_failed_call_is_found_behind_the_errors_that_it_caused() -> None:
    failure = failure_of_answer("sendMessage", 400, "Bad Request: chat not found")
    error: BaseException = CallFailed(failure)
    for name in ("first", "second"):
        outer = RuntimeError(name)
        outer.__cause__ = error
        error = outer
    assert failure_in(error) is failure


def test_errors_that_cause_each_other_are_followed_to_an_end() -> None:
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert failure_in(one) is None
