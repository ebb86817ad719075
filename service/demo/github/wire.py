"""Requests and answers as the routes see them, and the small readers of what a request says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from service.demo.github.failures import Failure

JsonObject = dict[str, object]

BODY_CHARACTERS_MAX = 65_536
BODY_BYTES_MAX = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request; `path` has no query, `query` holds the last value of each name."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer; `content` is sent as JSON, None sends an empty body."""

    status: int
    content: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


def read_object(body: bytes) -> JsonObject:
    """The JSON object of a request's body; nothing counts as an empty one, anything else is 400."""
    if not body.strip():
        return {}
    try:
        content = json.loads(body)
    except ValueError as problem:
        raise Failure(400, "Problems parsing JSON") from problem
    if not isinstance(content, dict):
        raise Failure(400, "Body should be a JSON object")
    return content


def read_names(body: bytes, name: str) -> tuple[str, ...]:
    """A list of texts that is the whole body, or stands in an object under this name: GitHub takes both for labels."""
    if body.lstrip().startswith(b"["):
        return texts_of(read_object(b'{"names":' + body + b"}"), "names")
    return texts_of(read_object(body), name)


def text_of(content: JsonObject, name: str) -> str:
    """A text that must be there; 422 otherwise."""
    value = content.get(name)
    if not isinstance(value, str):
        raise Failure(422, f"Validation Failed: {name} is missing or no text")
    return value


def optional_text_of(content: JsonObject, name: str) -> str | None:
    """A text, or None where it is missing or null; 422 when it is something else."""
    return None if content.get(name) is None else text_of(content, name)


def texts_of(content: JsonObject, name: str) -> tuple[str, ...]:
    """A list of texts, empty where it is missing; 422 when it is something else."""
    value = content.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Failure(422, f"Validation Failed: {name} is no list of texts")
    return tuple(value)


def number_of(content: JsonObject, name: str) -> int:
    """A whole number that must be there; 422 otherwise."""
    value = content.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Failure(422, f"Validation Failed: {name} is missing or no number")
    return value


def comment_body_of(content: JsonObject) -> str:
    """The body of a comment within GitHub's bounds; 422 when it is blank or too long."""
    return checked_body(text_of(content, "body"))


def checked_body(body: str) -> str:
    """The same body, if GitHub would take it: not blank, at most 65 536 characters and 262 144 bytes; else 422."""
    if not body.strip():
        raise Failure(422, "Validation Failed: body cannot be blank")
    if len(body) > BODY_CHARACTERS_MAX or len(body.encode("utf-8", "surrogatepass")) > BODY_BYTES_MAX:
        raise Failure(422, f"Validation Failed: body is too long (maximum is {BODY_CHARACTERS_MAX} characters)")
    return body


def time_text(moment: datetime) -> str:
    """A time as GitHub writes it: UTC, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def optional_time_text(moment: datetime | None) -> str | None:
    return time_text(moment) if moment is not None else None


def read_time(text: str) -> datetime:
    """An ISO 8601 time, taken as UTC where it names no zone; 422 when it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as problem:
        raise Failure(422, "Validation Failed: no valid time") from problem
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
