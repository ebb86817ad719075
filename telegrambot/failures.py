"""What a failed call means: may the same be sent again, and may this recipient be written to again; pure."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

CAUSES_DEPTH_MAX = 4
"""How far an error's causes are followed."""


class Reason(StrEnum):
    """Why a call failed."""

    NOT_DISPATCHED = "not-dispatched"
    """Nothing was written to the wire: the same call is safe to repeat."""
    NO_ANSWER = "no-answer"
    """It may have been carried out: no answer was read to the end. Repeating it may do it twice."""
    INTERCEPTED = "intercepted"
    """Something between us and Telegram refused the call: a proxy that wants a login, a page in its place."""
    RATE_LIMITED = "rate-limited"
    """Too much at once; Telegram usually says how long to wait."""
    SERVER_ERROR = "server-error"
    """Telegram failed at it."""
    UNAUTHORIZED = "unauthorized"
    """The token is no longer one, or never was: nothing works with it."""
    CONFLICT = "conflict"
    """Somebody else asks for the updates of the same bot."""
    WEBHOOK_ACTIVE = "webhook-active"
    """A webhook is set, and while it is, updates cannot be asked for."""
    BLOCKED_BY_USER = "blocked-by-user"
    """The user blocked the bot, or the chat threw it out."""
    USER_DEACTIVATED = "user-deactivated"
    """The account is gone."""
    NOT_STARTED = "not-started"
    """The user never wrote to the bot, which may not write first."""
    CHAT_NOT_FOUND = "chat-not-found"
    """There is no such chat, or the bot never met it."""
    NOT_MEMBER = "not-member"
    """The bot is not in the group or channel."""
    CHAT_GONE = "chat-gone"
    """The group was deleted."""
    MIGRATED = "migrated"
    """The group became a supergroup and has another id."""
    THREAD_NOT_FOUND = "thread-not-found"
    """The topic is closed or gone; the chat is there."""
    FORBIDDEN_IN_CHAT = "forbidden-in-chat"
    """The bot is in the chat and may not do this there."""
    MESSAGE_INVALID = "message-invalid"
    """The message itself cannot be sent, to nobody."""
    UNKNOWN = "unknown"
    """Telegram refused for a reason that this table does not hold."""


class Evidence(StrEnum):
    """What a reason was read from."""

    TRANSPORT = "transport"
    PARAMETERS = "parameters"
    DESCRIPTION = "description"
    STATUS = "status"
    NOTHING = "nothing"


RETRYABLE = frozenset({Reason.NOT_DISPATCHED, Reason.RATE_LIMITED, Reason.SERVER_ERROR})
UNREACHABLE = frozenset(
    {
        Reason.BLOCKED_BY_USER,
        Reason.USER_DEACTIVATED,
        Reason.NOT_STARTED,
        Reason.CHAT_NOT_FOUND,
        Reason.NOT_MEMBER,
        Reason.CHAT_GONE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed call, with what may be done about it."""

    method: str
    reason: Reason
    evidence: Evidence
    status: int | None = None
    """Telegram's error code, else HTTP's; None: there was no answer."""
    description: str = ""
    """Telegram's words, or the kind of transport error; masked."""
    retry_after_s: float | None = None
    """Seconds to wait before anything is sent again; None: Telegram did not say."""
    migrate_to_chat_id: int | None = None
    """Where the chat went, for `MIGRATED`."""

    @property
    def retryable(self) -> bool:
        """Whether the very same call can work if it is repeated, and cannot do twice what it does."""
        return self.reason in RETRYABLE

    @property
    def recipient_unreachable(self) -> bool:
        """Whether this recipient should not be written to again."""
        return self.reason in UNREACHABLE

    def __str__(self) -> str:
        status = f" {self.status}" if self.status is not None else ""
        return f"{self.method}: {self.reason}{status} {self.description}".rstrip()


class CallFailed(Exception):
    """A call to the Bot API failed; never shows the address that was called, in which the token stands."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


# The first that is found counts, so the narrow ones stand first. Telegram rewrites codes, so words decide before status.
_DESCRIPTIONS: tuple[tuple[re.Pattern[str], Reason], ...] = tuple(
    (re.compile(words, re.IGNORECASE), reason)
    for words, reason in (
        (r"webhook is active", Reason.WEBHOOK_ACTIVE),
        (r"terminated by (other|setWebhook)", Reason.CONFLICT),
        (r"upgraded to a supergroup", Reason.MIGRATED),
        (r"group chat was deleted", Reason.CHAT_GONE),
        (r"bot is not a member", Reason.NOT_MEMBER),
        (r"bot was blocked by the user|bot was kicked", Reason.BLOCKED_BY_USER),
        (r"(user|account) is deactivated|USER_DEACTIVATED|INPUT_USER_DEACTIVATED", Reason.USER_DEACTIVATED),
        (r"can'?t initiate conversation|need to start a conversation", Reason.NOT_STARTED),
        (r"chat not found|PEER_ID_INVALID|user not found", Reason.CHAT_NOT_FOUND),
        (r"message thread not found|TOPIC_CLOSED|TOPIC_DELETED", Reason.THREAD_NOT_FOUND),
        (r"not enough rights|have no rights to send|need administrator rights", Reason.FORBIDDEN_IN_CHAT),
        (r"CHAT_WRITE_FORBIDDEN|CHAT_ADMIN_REQUIRED|CHAT_SEND_[A-Z]+_FORBIDDEN", Reason.FORBIDDEN_IN_CHAT),
        (r"message is too long|text is empty|text must be non-empty", Reason.MESSAGE_INVALID),
        (r"can'?t parse entities|wrong file identifier|BUTTON_[A-Z_]*INVALID", Reason.MESSAGE_INVALID),
        (r"message to (copy|forward) not found|message can'?t be (copied|forwarded)", Reason.MESSAGE_INVALID),
        (r"MESSAGE_ID_INVALID|must be encoded in UTF-8", Reason.MESSAGE_INVALID),
        (r"logged out", Reason.UNAUTHORIZED),
        (r"too many requests|retry (later|after)|\bflood", Reason.RATE_LIMITED),
    )
)


def failure_of_answer(
    method: str, status: int, description: str, parameters: Mapping[str, object] | None = None
) -> Failure:
    """What an answer with `ok: false` means; `status` is its error code, else HTTP's."""
    given = parameters or {}
    moved_to = given.get("migrate_to_chat_id")
    retry_after_s = _seconds(given.get("retry_after"))
    reason, evidence = _reason(status, description, retry_after_s is not None)
    return Failure(
        method=method,
        reason=reason,
        evidence=evidence,
        status=status,
        description=description,
        retry_after_s=retry_after_s,
        migrate_to_chat_id=moved_to if isinstance(moved_to, int) and not isinstance(moved_to, bool) else None,
    )


def failure_in(error: BaseException) -> Failure | None:
    """The failed call behind an error, wherever its causes lead; None where there is none. Never raises."""
    seen: BaseException | None = error
    for _ in range(CAUSES_DEPTH_MAX):
        if seen is None or isinstance(seen, CallFailed):
            break
        seen = seen.__cause__ or seen.__context__
    return seen.failure if isinstance(seen, CallFailed) else None


def _reason(status: int, description: str, says_when: bool) -> tuple[Reason, Evidence]:
    if says_when:
        return Reason.RATE_LIMITED, Evidence.PARAMETERS
    for words, reason in _DESCRIPTIONS:
        if words.search(description):
            return reason, Evidence.DESCRIPTION
    if status == 401 or (status == 404 and description.strip().lower() in ("not found", "")):
        return Reason.UNAUTHORIZED, Evidence.STATUS
    if status == 409:
        return Reason.CONFLICT, Evidence.STATUS
    if status == 429:
        return Reason.RATE_LIMITED, Evidence.STATUS
    if status >= 500:
        return Reason.SERVER_ERROR, Evidence.STATUS
    return Reason.UNKNOWN, Evidence.NOTHING


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < math.inf else None
