"""Whose trouble a failure is: read from what the agent's error or a very short answer says."""

from __future__ import annotations

import re

from sessions.host.records import TroubleKind

AUTHENTICATION_REQUIRED = -32000
NOTICE_CHARACTERS_MAX = 600

_PROVIDER_ERROR = re.compile(
    r"\b(rate.?limit|quota|usage limit|overloaded|too many requests|credit balance|billing|log ?in|"
    r"authenticat\w*|unauthori[sz]ed|api key|(http|status|error:?) ?(401|402|403|429|500|502|503|529))\b",
    re.IGNORECASE,
)
_PROVIDER_NOTICE = re.compile(
    r"(API Error:|Invalid API key|Credit balance is too low|Claude (AI )?usage limit reached|"
    r"Please run /login|You've (hit|reached) your .{0,40}limit|5-hour limit reached)",
    re.IGNORECASE,
)


def kind_of_error(code: int | None, text: str) -> TroubleKind:
    """The kind of an error that the agent returned instead of an answer."""
    if code == AUTHENTICATION_REQUIRED or _PROVIDER_ERROR.search(text):
        return TroubleKind.PROVIDER
    return TroubleKind.OURS


def is_provider_notice(answer: str, tool_calls: int) -> bool:
    """True where a turn's whole answer is the agent's notice that its provider refused.

    Agents report an exhausted quota or a missing login as ordinary text. Only a short text that begins with
    such a notice, in a turn without tools, counts: an answer that talks about quotas is an answer.
    """
    text = answer.strip()
    return tool_calls == 0 and len(text) <= NOTICE_CHARACTERS_MAX and _PROVIDER_NOTICE.match(text) is not None
