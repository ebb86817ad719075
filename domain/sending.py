"""What follows from a try to send a part of a reply, and from asking the thread for one that may have left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from domain.ports import InDoubt, NotSent, Posted, Refused, SendResult
from domain.retry import after_no_answer

SENDS_MAX = 3
"""How often a part may leave this machine."""
PAUSES_S = (30.0, 120.0)
"""Between one send and the next; the last one repeats."""
WAIT_MAX_S = 3600.0
"""The longest wait that we take from anybody."""
ASK_FIRST_S = 5.0
"""From a try in doubt to the first question: most of what was posted can be seen by then."""
ASK_APART_S = 15.0
"""Between two questions that were answered."""
SETTLE_S = 60.0
"""GitHub may show late what it took: an absence younger than this after the last try proves nothing."""
SINCE_MARGIN_S = 300.0
"""GitHub's time of an answer is later than that of the comment which the request made."""
SINCE_MARGIN_WITHOUT_SERVER_TIME_S = 48 * 3600.0
"""Our own clock may have been wrong by a day: a longer listing costs pages, a missed comment would cost a second one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A try that has just ended. `sends`: how often the part may have left, this time included."""

    sends: int
    failed_unsent_before: bool
    """The try before this one had not left the machine either."""
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about a part in doubt. `tried_at_ms` is the latest time at which its last try may have begun."""

    sends: int
    questions: int
    """How often the thread was asked for it, this time included."""
    tried_at_ms: int
    absent_since_ms: int | None
    """The first complete listing without it, of those that count."""
    now_ms: int


@dataclass(frozen=True, slots=True)
class Found:
    """It stands on the thread; `others` are the ids of further comments that are the same part."""

    comment_id: int
    url: str
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Absent:
    """A complete listing does not hold it."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The thread could not be read, or not all of it."""

    reason: str
    retry_after_s: float | None = None


Finding = Found | Absent | Unresolved


@dataclass(frozen=True, slots=True)
class Delivered:
    """It stands where it belongs."""

    comment_id: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """It is sent again, at that time. `spends`: the try counts; otherwise it is as if it had not been made."""

    at_ms: int
    reason: str
    spends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """It may have left: the thread is asked, at that time."""

    ask_at_ms: int
    reason: str
    absent_since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """It can never be delivered where it belongs."""

    reason: str


@dataclass(frozen=True, slots=True)
class Abandon:
    """We stop trying, although it might have been delivered."""

    reason: str


Following = Delivered | Wait | Doubt | Dead | Abandon


def after_comment(result: SendResult, tried: Tried) -> Following:
    """What follows for a message that must not appear twice: what is in doubt is asked about."""
    match result:
        case Posted(id=comment_id, url=url):
            return Delivered(comment_id, url)
        case NotSent():
            return _not_sent(result, tried)
        case Refused(reason=reason):
            return Dead(reason)
        case InDoubt(reason=reason):
            return Doubt(ask_at_ms=tried.now_ms + _ms(ASK_FIRST_S), reason=reason)
        case _:
            assert_never(result)


def after_reaction(result: SendResult, tried: Tried) -> Following:
    """What follows for something that may be done twice without harm: what is in doubt is just done again."""
    if not isinstance(result, InDoubt):
        return after_comment(result, tried)
    if tried.sends >= SENDS_MAX:
        return Abandon(result.reason)
    return Wait(at_ms=tried.now_ms + _pause_ms(tried.sends), reason=result.reason, spends=True)


def after_never_left(now_ms: int) -> Wait:
    """Whoever was to send it is gone, and it had certainly not left: at once, by another."""
    return Wait(at_ms=now_ms, reason="owner-lost", spends=False)


def after_question(finding: Finding, asked: Asked) -> Following:
    """What follows from asking the thread: only an absence that has settled, seen twice, lets it be sent again."""
    match finding:
        case Found(comment_id=comment_id, url=url):
            return Delivered(comment_id, url)
        case Unresolved(reason=reason, retry_after_s=retry_after_s):
            ask_at_ms = after_no_answer(asked.questions, asked.now_ms, retry_after_s)
            return Doubt(ask_at_ms=ask_at_ms, reason=reason, absent_since_ms=_settled_absence(asked))
        case Absent():
            return _absent(asked)
        case _:
            assert_never(finding)


def ask_since_ms(first_server_time_ms: int | None, recorded_at_ms: int) -> int:
    """From when on the thread is listed: by GitHub's clock at the first try where that is known, else by ours, much earlier."""
    if first_server_time_ms is not None:
        return first_server_time_ms - _ms(SINCE_MARGIN_S)
    return recorded_at_ms - _ms(SINCE_MARGIN_WITHOUT_SERVER_TIME_S)


def _not_sent(result: NotSent, tried: Tried) -> Wait:
    asked_s = min(max(result.retry_after_s or 0.0, 0.0), WAIT_MAX_S)
    pause_ms = max(_pause_ms(2 if tried.failed_unsent_before else 1), _ms(asked_s))
    return Wait(at_ms=tried.now_ms + pause_ms, reason=result.reason, spends=False)


def _absent(asked: Asked) -> Following:
    now_ms = asked.now_ms
    since_ms = _settled_absence(asked)
    if since_ms is None and now_ms - asked.tried_at_ms >= _ms(SETTLE_S):
        since_ms = now_ms
    if since_ms is None or now_ms - since_ms < _ms(ASK_APART_S):
        return Doubt(ask_at_ms=now_ms + _ms(ASK_APART_S), reason="absent", absent_since_ms=since_ms)
    if asked.sends >= SENDS_MAX:
        return Abandon("attempts-spent")
    again_ms = max(now_ms, asked.tried_at_ms + _pause_ms(asked.sends))
    return Wait(at_ms=again_ms, reason="absent", spends=True)


def _settled_absence(asked: Asked) -> int | None:
    """The absence seen before, if it was seen late enough after the last try; a time still to come counts as now."""
    since_ms = asked.absent_since_ms
    if since_ms is None or since_ms - asked.tried_at_ms < _ms(SETTLE_S):
        return None
    return min(since_ms, asked.now_ms)


def _pause_ms(sends: int) -> int:
    return _ms(PAUSES_S[min(max(sends, 1), len(PAUSES_S)) - 1])


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
