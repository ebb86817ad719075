"""How attempts are spaced and when they end; one owner, the row of (event, work item)."""

from __future__ import annotations

from dataclasses import dataclass

PAUSES_S = (2.0, 10.0, 30.0, 120.0)
"""Between one attempt and the next; the last one repeats."""
PROVIDER_PAUSE_S = 300.0
"""A provider's trouble (quota, login, overload) is not the comment's: it spends no attempt."""
NETWORK_PAUSE_S = 30.0
"""GitHub could not be reached: no comment's fault either."""
ASK_PAUSES_S = (1.0, 5.0, 30.0, 60.0, 300.0)
"""Between one question to GitHub and the next, while it gives no answer; that is never given up."""


@dataclass(frozen=True, slots=True)
class Again:
    """Try again at that time, with that many attempts spent."""

    attempts: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The budget is spent."""

    attempts: int


def after_failure(attempts: int, retries_max: int, now_ms: int) -> Again | GiveUp:
    """What follows a failed attempt: `retries_max` more tries after the first, at growing pauses."""
    spent = attempts + 1
    if spent > retries_max:
        return GiveUp(spent)
    return Again(spent, now_ms + _pause_ms(PAUSES_S, spent))


def at_no_charge(attempts: int, now_ms: int, pause_s: float) -> Again:
    """Later, and no attempt is spent."""
    return Again(attempts, now_ms + round(pause_s * 1000))


def after_no_answer(asked: int, now_ms: int, retry_after_s: float | None) -> int:
    """When to ask GitHub again; what it asked us to wait counts, within an hour."""
    pause_ms = _pause_ms(ASK_PAUSES_S, asked)
    return now_ms + max(pause_ms, round(min(retry_after_s or 0.0, 3600.0) * 1000))


def _pause_ms(pauses_s: tuple[float, ...], spent: int) -> int:
    return round(pauses_s[min(max(spent, 1), len(pauses_s)) - 1] * 1000)
