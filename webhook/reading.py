"""Reads one delivery: its signature over the raw bytes first, and only what was signed is parsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.model import ID_MAX, Event
from githubapi.fields import JsonObject, Malformed
from githubapi.objects import host_of
from webhook import payloads
from webhook.heads import Head, unnamed
from webhook.payloads.body import load
from webhook.payloads.origin import header_agrees
from webhook.payloads.results import Passed, Pong
from webhook.refusals import Fault, Rejected
from webhook.signature import Unverified, verify

_ACTION_CHARACTERS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A signed delivery and what it states. `action` and `hook_id` are None where the payload names none."""

    event_name: str
    delivery_id: str
    body_bytes: int
    action: str | None
    hook_id: int | None
    result: Event | Passed | Pong


def read_delivery(head: Head, raw: bytes, secrets: Sequence[bytes], hosts: Sequence[str]) -> Read | Rejected:
    """What a request states, or why it is refused. Never raises for anything that came from outside."""
    verdict = verify(raw, head.signature, secrets, head.sha1_signature)
    if isinstance(verdict, Unverified):
        return Rejected(401, verdict.reason)
    if head.event_name is None or head.delivery_id is None:
        return unnamed(head)
    try:
        payload = load(raw, head.content_type)
        host = claimed_host(head.enterprise_host, payload, hosts)
        if host is None:
            return Rejected(400, Fault.HOST, "X-GitHub-Enterprise-Host names a host that is not configured")
        return Read(
            event_name=head.event_name,
            delivery_id=head.delivery_id,
            body_bytes=len(raw),
            action=_action(payload),
            hook_id=_hook_id(payload),
            result=payloads.read(head.event_name, payload, host),
        )
    except Malformed as fault:
        return Rejected(400, Fault.MALFORMED, str(fault))


def claimed_host(enterprise_host: str | None, payload: JsonObject, hosts: Sequence[str]) -> str | None:
    """The configured host that a delivery claims to come from; None where its header names another.

    The header leaves a choice only where it is missing: then the payload's own address says which; the payload's
    reader holds it to that.
    """
    agreeing = [host for host in hosts if header_agrees(enterprise_host, host)]
    if len(agreeing) < 2:
        return agreeing[0] if agreeing else None
    repository = payload.get("repository")
    url = repository.get("html_url") if isinstance(repository, dict) else None
    own = host_of(url) if isinstance(url, str) else ""
    return own if own in agreeing else agreeing[0]


def _action(payload: JsonObject) -> str | None:
    action = payload.get("action")
    return action if isinstance(action, str) and len(action) <= _ACTION_CHARACTERS_MAX else None


def _hook_id(payload: JsonObject) -> int | None:
    hook_id = payload.get("hook_id")
    return hook_id if type(hook_id) is int and 1 <= hook_id <= ID_MAX else None
