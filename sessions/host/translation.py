"""From the Agent Client Protocol's words to ours, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    UsageUpdate,
)
from acp.schema import Usage as AcpUsage

from sessions.host.permissions import Verdict
from sessions.host.records import StopReason, Usage

STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": StopReason.FINISHED,
    "max_tokens": StopReason.OUT_OF_TOKENS,
    "max_turn_requests": StopReason.OUT_OF_REQUESTS,
    "refusal": StopReason.DECLINED,
    "cancelled": StopReason.CANCELLED,
}


def permission_response(verdict: Verdict, options: Sequence[PermissionOption]) -> RequestPermissionResponse:
    """The answer to a request for leave: this once or not, never for ever; cancelled where the agent offers neither."""
    wanted = "allow_once" if verdict.allowed else "reject_once"
    for option in options:
        if option.kind == wanted:
            outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
            return RequestPermissionResponse(outcome=outcome)
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def usage_of(usage: AcpUsage | None) -> Usage:
    """What an answer says that the turn used."""
    if usage is None:
        return Usage()
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        thought_tokens=usage.thought_tokens,
        cached_read_tokens=usage.cached_read_tokens,
        cached_write_tokens=usage.cached_write_tokens,
        total_tokens=usage.total_tokens,
    )


def usage_of_update(update: UsageUpdate) -> Usage:
    """What an update says about the conversation's window and cost."""
    cost = update.cost
    return Usage(
        context_tokens=update.used,
        context_tokens_max=update.size,
        cost_amount=cost.amount if cost else None,
        cost_currency=cost.currency if cost else None,
    )
