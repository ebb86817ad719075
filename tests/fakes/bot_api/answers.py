"""What a Bot API server answers: results, and refusals in its own words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer before it is written."""

    status: int
    body: bytes
    content_type: str = "application/json"
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A "no" in the server's form; as a fault, the request has no effect."""

    status: int
    description: str
    retry_after_s: int | None = None
    migrate_to_chat_id: int | None = None

    def answer(self) -> Answer:
        said = {"retry_after": self.retry_after_s, "migrate_to_chat_id": self.migrate_to_chat_id}
        parameters = {name: value for name, value in said.items() if value is not None}
        content: dict[str, Any] = {"ok": False, "error_code": self.status, "description": self.description}
        if parameters:
            content["parameters"] = parameters
        return Answer(status=self.status, body=json.dumps(content).encode(), retry_after_s=self.retry_after_s)


class Refused(Exception):
    """A method says no."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.description)
        self.refusal = refusal


def done(result: object, description: str | None = None) -> Answer:
    content = {"ok": True, "result": result} | ({"description": description} if description else {})
    return Answer(status=200, body=json.dumps(content).encode())


def bad_request(words: str) -> Refusal:
    return Refusal(status=400, description=f"Bad Request: {words}")


def forbidden(words: str) -> Refusal:
    return Refusal(status=403, description=f"Forbidden: {words}")


def conflict(words: str) -> Refusal:
    return Refusal(status=409, description=f"Conflict: {words}")


def flood(retry_after_s: int) -> Refusal:
    words = f"Too Many Requests: retry after {retry_after_s}"
    return Refusal(status=429, description=words, retry_after_s=retry_after_s)


def migrated(to_chat_id: int) -> Refusal:
    words = "Bad Request: group chat was upgraded to a supergroup chat"
    return Refusal(status=400, description=words, migrate_to_chat_id=to_chat_id)


BLOCKED_BY_USER = forbidden("bot was blocked by the user")
KICKED = forbidden("bot was kicked from the supergroup chat")
USER_DEACTIVATED = forbidden("user is deactivated")
NOT_STARTED = forbidden("bot can't initiate conversation with a user")
NOT_A_MEMBER = forbidden("bot is not a member of the supergroup chat")
NOT_IN_CHANNEL = forbidden("bot is not a member of the channel chat")
GROUP_DELETED = forbidden("the group chat was deleted")
CHAT_NOT_FOUND = bad_request("chat not found")
USER_NOT_FOUND = bad_request("user not found")
PEER_ID_INVALID = bad_request("PEER_ID_INVALID")
THREAD_NOT_FOUND = bad_request("message thread not found")
TOPIC_CLOSED = bad_request("TOPIC_CLOSED")
NOT_ENOUGH_RIGHTS = bad_request("not enough rights to send text messages to the chat")
WRITE_FORBIDDEN = bad_request("CHAT_WRITE_FORBIDDEN")
NEEDS_ADMINISTRATOR = bad_request("need administrator rights in the channel chat")
TEXT_EMPTY = bad_request("message text is empty")
TEXT_TOO_LONG = bad_request("message is too long")
CAPTION_TOO_LONG = bad_request("message caption is too long")
CANNOT_PARSE = bad_request("can't parse entities: Can't find end of the entity starting at byte offset 0")
WRONG_FILE = bad_request("wrong file identifier/HTTP URL specified")
BUTTON_URL_INVALID = bad_request("BUTTON_URL_INVALID")
BUTTON_DATA_INVALID = bad_request("BUTTON_DATA_INVALID")
FILE_TOO_BIG = bad_request("file is too big")
FILE_UNKNOWN = bad_request("wrong file_id or the file is temporarily unavailable")
UNAUTHORIZED = Refusal(status=401, description="Unauthorized")
NOT_FOUND = Refusal(status=404, description="Not Found")
METHOD_NOT_FOUND = Refusal(status=404, description="Not Found: method not found")
RESTARTING = Refusal(status=500, description="Internal Server Error: restart")
OTHER_POLL = conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
WEBHOOK_WAS_SET = conflict("terminated by setWebhook request")
WEBHOOK_IS_ACTIVE = conflict(
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)
