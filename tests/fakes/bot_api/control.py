"""The stand-in turned from another process: every verb is a POST of JSON to `/stand-in/<verb>`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from tests.fakes.bot_api.answers import NOT_FOUND, Answer, Refusal, done
from tests.fakes.bot_api.faults import KINDS
from tests.fakes.bot_api.world import World

Asked = Mapping[str, Any]


def controlled(world: World, verb: str, body: bytes) -> Answer:
    """Do what is asked; the answer has the form of the Bot API's own."""
    if verb not in VERBS:
        return NOT_FOUND.answer()
    return done(VERBS[verb](world, json.loads(body or b"{}")))


def transcripts(world: World) -> dict[str, Any]:
    """All that was kept, as JSON can carry it."""
    with world.gate:
        return {
            "calls": [asdict(call) for call in world.calls],
            "polls": [asdict(poll) for poll in world.polls],
            "sends": [asdict(send) for send in world.sends],
            "confirmed_ids": world.confirmed_ids,
            "unconfirmed_ids": world.unconfirmed_ids,
            "expired_ids": world.expired_ids,
            "highest_offset": world.highest_offset,
        }


def _arm(world: World, asked: Asked) -> None:
    world.arm(asked["method"], KINDS[asked["kind"]](**asked["fields"]), asked["times"])


def _refuse(world: World, asked: Asked) -> None:
    world.chat(asked["chat_id"]).refuses(Refusal(**asked["refusal"]), asked["times"])


def _wait_for_calls(world: World, asked: Asked) -> None:
    world.wait_for_calls(asked["method"], asked["count"])


VERBS: Mapping[str, Callable[[World, Asked], object]] = {
    "push": lambda world, asked: world.push(asked["update"]),
    "advance": lambda world, asked: world.advance(asked["by_s"]),
    "restart-ids": lambda world, asked: world.restart_ids(asked["at"]),
    "revoke": lambda world, asked: world.revoke(),
    "pace": lambda world, asked: world.pace(is_on=asked["is_on"]),
    "arm": _arm,
    "lift": lambda world, asked: world.lift(asked["method"]),
    "release": lambda world, asked: world.release(),
    "refuse": _refuse,
    "accept": lambda world, asked: world.chat(asked["chat_id"]).accepts(),
    "open-topic": lambda world, asked: world.chat(asked["chat_id"]).open_topic(asked["thread_id"]),
    "deliver-webhooks": lambda world, asked: [asdict(pushed) for pushed in world.deliver_webhooks()],
    "wait-for-calls": _wait_for_calls,
    "wait-for-poll": lambda world, asked: world.wait_for_poll(asked["offset"]),
    "transcripts": lambda world, asked: transcripts(world),
    "forget-transcripts": lambda world, asked: world.forget_transcripts(),
}
