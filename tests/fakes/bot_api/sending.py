"""The methods that write into chats: send, copy, edit, documents and answers to buttons."""

from __future__ import annotations

from typing import Any

from tests.fakes.bot_api.answers import (
    BUTTON_DATA_INVALID,
    CAPTION_TOO_LONG,
    TEXT_EMPTY,
    TEXT_TOO_LONG,
    WRONG_FILE,
    Answer,
    Refused,
    bad_request,
    done,
)
from tests.fakes.bot_api.chats import Chat, Message
from tests.fakes.bot_api.parameters import Parameters
from tests.fakes.bot_api.parts import Parts, Request
from tests.fakes.bot_api.transcripts import Send

TEXT_MAX = 4096
CAPTION_MAX = 1024
BUTTON_BYTES_MAX = 64


class Sending:
    """Writes into chats and says what arrived. Texts are counted in code points and markup is not read."""

    def __init__(self, parts: Parts) -> None:
        self.button_ids: set[str] = set()
        self._parts = parts

    def send_message(self, request: Request) -> Answer:
        text = _text(request.parameters)
        return done(self._arrive("sendMessage", request, {"text": text, **_markup(request.parameters)}))

    def copy_message(self, request: Request) -> Answer:
        parameters = request.parameters
        origin = self._parts.chats.asked(parameters.text("from_chat_id"))
        copied = origin.find(parameters.integer("message_id"), "copy")
        copy = self._arrive("copyMessage", request, {"text": copied.get("text", "")})
        return done({"message_id": copy["message_id"]})

    def send_document(self, request: Request) -> Answer:
        parameters = request.parameters
        caption = parameters.text("caption")
        if len(caption) > CAPTION_MAX:
            raise Refused(CAPTION_TOO_LONG)
        content = {"caption": caption, "document": self._document(parameters)}
        return done(self._arrive("sendDocument", request, content))

    def edit_text(self, request: Request) -> Answer:
        return self._edit(request.parameters, {"text": _text(request.parameters), **_markup(request.parameters)})

    def edit_markup(self, request: Request) -> Answer:
        message = self._addressed(request.parameters)
        return self._edit(request.parameters, {"text": message.get("text", ""), **_markup(request.parameters)})

    def answer_button(self, request: Request) -> Answer:
        if request.parameters.text("callback_query_id") not in self.button_ids:
            words = "query is too old and response timeout expired or query ID is invalid"
            raise Refused(bad_request(words))
        return done(True)

    def chat_action(self, request: Request) -> Answer:
        parameters = request.parameters
        chat = self._parts.chats.asked(parameters.text("chat_id"))
        if not parameters.text("action"):
            raise Refused(bad_request("wrong parameter action in request"))
        chat.admit(_thread_id(parameters))
        return done(True)

    def _arrive(self, method: str, request: Request, content: Message) -> Message:
        chat = self._parts.chats.asked(request.parameters.text("chat_id"))
        thread_id = _thread_id(request.parameters)
        chat.admit(thread_id)
        in_thread = {} if thread_id is None else {"message_thread_id": thread_id, "is_topic_message": True}
        now_s = self._parts.clock.now_s()
        message = chat.write({**content, **in_thread}, now_s)
        send = Send(
            method=method,
            chat_id=_spoken(chat),
            text=content.get("text") or content.get("caption") or "",
            message_id=message["message_id"],
            at_s=now_s,
            thread_id=thread_id,
        )
        self._parts.ledger.sent(request.number, send)
        return message

    def _edit(self, parameters: Parameters, new: Message) -> Answer:
        message = self._addressed(parameters)
        if all(message.get(name) == new.get(name) for name in ("text", "reply_markup")):
            raise Refused(
                bad_request(
                    "message is not modified: specified new message content and reply markup are exactly the same "
                    "as a current content and reply markup of the message"
                )
            )
        message.pop("reply_markup", None)
        message.update(new, edit_date=int(self._parts.clock.now_s()))
        return done(message)

    def _addressed(self, parameters: Parameters) -> Message:
        chat = self._parts.chats.asked(parameters.text("chat_id"))
        return chat.find(parameters.integer("message_id"), "edit")

    def _document(self, parameters: Parameters) -> Message:
        named = parameters.text("document").removeprefix("attach://") or "document"
        upload = parameters.uploads.get(named)
        if upload is not None:
            file_id = self._parts.files.put(f"documents/{upload.name}", upload.content)
            size = len(upload.content)
            return {"file_id": file_id, "file_unique_id": file_id[-12:], "file_name": upload.name, "file_size": size}
        if not self._parts.files.knows(named):
            raise Refused(WRONG_FILE)
        return {"file_id": named, "file_unique_id": named[-12:]}


def _text(parameters: Parameters) -> str:
    text = parameters.text("text")
    if not text.strip():
        raise Refused(TEXT_EMPTY)
    if len(text) > TEXT_MAX:
        raise Refused(TEXT_TOO_LONG)
    return text


def _markup(parameters: Parameters) -> dict[str, Any]:
    """The buttons under a message; other keyboards are the client's business and are not told again."""
    markup = parameters.structure("reply_markup")
    if not isinstance(markup, dict) or "inline_keyboard" not in markup:
        return {}
    buttons = [button for row in markup["inline_keyboard"] for button in row]
    if any(len(button.get("callback_data", "").encode()) > BUTTON_BYTES_MAX for button in buttons):
        raise Refused(BUTTON_DATA_INVALID)
    return {"reply_markup": markup}


def _thread_id(parameters: Parameters) -> int | None:
    return parameters.integer("message_thread_id") or None


def _spoken(chat: Chat) -> int | str:
    name = chat.described().get("username")
    return chat.chat_id if name is None else f"@{name}"
