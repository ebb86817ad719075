"""The methods of the Bot API that the stand-in knows, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.bot_api.answers import (
    METHOD_NOT_FOUND,
    WEBHOOK_WAS_SET,
    Answer,
    Refused,
    bad_request,
    done,
    flood,
)
from tests.fakes.bot_api.parameters import Parameters
from tests.fakes.bot_api.parts import Parts, Request
from tests.fakes.bot_api.sending import Sending
from tests.fakes.bot_api.webhooks import Deliveries, Webhook, read_webhook

COMMAND = re.compile(r"[a-z0-9_]{1,32}")
WEBHOOK_PAUSE_S = 1.0


class Methods:
    """Answers one call at a time but for long polls; the caller holds the gate."""

    def __init__(self, bot_id: int, parts: Parts) -> None:
        self.webhook: Webhook | None = None
        self.deliveries = Deliveries()
        self._bot_id = bot_id
        self._parts = parts
        self._commands: dict[tuple[str, str], list[dict[str, str]]] = {}
        self._webhook_set_at_s = float("-inf")

    def table(self, sending: Sending) -> Mapping[str, Callable[[Request], Answer]]:
        """All methods, by their names in small letters, as which the server looks for them."""
        named: dict[str, Callable[[Request], Answer]] = {
            "getMe": self._get_me,
            "getChat": self._get_chat,
            "getUpdates": self._get_updates,
            "getWebhookInfo": self._get_webhook_info,
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "setMyCommands": self._set_my_commands,
            "getMyCommands": self._get_my_commands,
            "getFile": self._get_file,
            "sendMessage": sending.send_message,
            "editMessageText": sending.edit_text,
            "editMessageReplyMarkup": sending.edit_markup,
            "answerCallbackQuery": sending.answer_button,
            "copyMessage": sending.copy_message,
            "sendDocument": sending.send_document,
            "sendChatAction": sending.chat_action,
        }
        return {name.lower(): method for name, method in named.items()}

    def _get_me(self, request: Request) -> Answer:
        return done(
            {
                "id": self._bot_id,
                "is_bot": True,
                "first_name": "Stand-in",
                "username": "stand_in_bot",
                "can_join_groups": True,
                "can_read_all_group_messages": False,
                "supports_inline_queries": False,
                "can_connect_to_business": False,
                "has_main_web_app": False,
            }
        )

    def _get_chat(self, request: Request) -> Answer:
        return done(self._parts.chats.asked(request.parameters.text("chat_id")).described())

    def _get_updates(self, request: Request) -> Answer:
        updates = self._parts.polling.get_updates(request.parameters, self.webhook is not None, request.is_gone)
        self._parts.ledger.found(request.number, tuple(update["update_id"] for update in updates))
        return done(updates)

    def _set_webhook(self, request: Request) -> Answer:
        if not request.parameters.text("url"):
            return self._delete_webhook(request)
        webhook = read_webhook(request.parameters)
        self._drop_if_asked(request.parameters)
        if webhook == self.webhook:
            return done(True, "Webhook is already set")
        now_s = self._parts.clock.now_s()
        if now_s < self._webhook_set_at_s + WEBHOOK_PAUSE_S:
            raise Refused(flood(1))
        self._webhook_set_at_s = now_s
        self._parts.queue.allow(request.parameters.structure("allowed_updates"))
        self._parts.polling.end(WEBHOOK_WAS_SET)
        self.webhook = webhook
        self.deliveries = Deliveries()
        return done(True, "Webhook was set")

    def _delete_webhook(self, request: Request) -> Answer:
        self._drop_if_asked(request.parameters)
        description = "Webhook is already deleted" if self.webhook is None else "Webhook was deleted"
        self.webhook = None
        return done(True, description)

    def _get_webhook_info(self, request: Request) -> Answer:
        self._parts.queue.expire(self._parts.clock.now_s())
        told: dict[str, Any] = {
            "url": "" if self.webhook is None else self.webhook.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self._parts.queue.queued),
        }
        if self.webhook is not None:
            told["max_connections"] = self.webhook.max_connections
            failure = self.deliveries.last_failure
            if failure is not None:
                told["last_error_date"] = int(failure.at_s)
                told["last_error_message"] = (
                    "Connection refused"
                    if failure.status is None
                    else f"Wrong response from the webhook: {failure.status}"
                )
        return done(told)

    def _set_my_commands(self, request: Request) -> Answer:
        commands = request.parameters.structure("commands")
        if not isinstance(commands, list):
            raise Refused(bad_request("can't parse BotCommand: expected an Array of BotCommand"))
        if not all(COMMAND.fullmatch(str(command.get("command"))) for command in commands):
            raise Refused(bad_request("BOT_COMMAND_INVALID"))
        self._commands[_audience(request.parameters)] = commands
        return done(True)

    def _get_my_commands(self, request: Request) -> Answer:
        return done(self._commands.get(_audience(request.parameters), []))

    def _get_file(self, request: Request) -> Answer:
        return done(self._parts.files.describe(request.parameters.text("file_id")))

    def _drop_if_asked(self, parameters: Parameters) -> None:
        if parameters.text("drop_pending_updates").lower() in ("true", "1"):
            self._parts.queue.drop_all()


def called(table: Mapping[str, Callable[[Request], Answer]], method: str, request: Request) -> Answer:
    """The answer to a call, refusals included."""
    try:
        if method.lower() not in table:
            raise Refused(METHOD_NOT_FOUND)
        return table[method.lower()](request)
    except Refused as refused:
        return refused.refusal.answer()


def _audience(parameters: Parameters) -> tuple[str, str]:
    """For whom a list of commands is: the kind of its scope, and its language."""
    scope = parameters.structure("scope")
    kind = str(scope.get("type", "default")) if isinstance(scope, dict) else "default"
    return kind, parameters.text("language_code")
