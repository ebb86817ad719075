"""Webhooks and their deliveries as GitHub's JSON."""

import json

from service.demo.github.records import Delivery, Hook, Repository
from service.demo.github.shapes.repositories import repository_url
from service.demo.github.state import State
from service.demo.github.wire import JsonObject, time_text


def hook_config_shape(hook: Hook) -> JsonObject:
    """Where and how a hook delivers; a secret is only hinted at, as GitHub does."""
    config: JsonObject = {"content_type": hook.content_type, "insecure_ssl": "0", "url": hook.url}
    if hook.secret is not None:
        config["secret"] = "********"  # noqa: S105 - GitHub's mask, not a secret
    return config


def hook_shape(state: State, repository: Repository, hook: Hook) -> JsonObject:
    """A repository's webhook with the events that it sends."""
    url = f"{repository_url(state, repository)}/hooks/{hook.id}"
    return {
        "type": "Repository",
        "id": hook.id,
        "name": "web",
        "active": hook.active,
        "events": list(hook.events),
        "config": hook_config_shape(hook),
        "updated_at": time_text(hook.updated_at),
        "created_at": time_text(hook.created_at),
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "last_response": {"code": None, "status": "unused", "message": None},
    }


def delivery_shape(delivery: Delivery) -> JsonObject:
    """A delivery as the list of deliveries shows it."""
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": time_text(delivery.delivered_at),
        "redelivery": delivery.redelivery,
        "duration": round(delivery.duration_s, 2),
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": None,
        "repository_id": delivery.repository_id,
        "throttled_at": None,
    }


def full_delivery_shape(delivery: Delivery) -> JsonObject:
    """A delivery with what was sent and what came back."""
    return {
        **delivery_shape(delivery),
        "url": delivery.url,
        "request": {"headers": delivery.request_headers, "payload": json.loads(delivery.payload)},
        "response": {"headers": {}, "payload": delivery.response_body},
    }
