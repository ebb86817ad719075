"""From a delivery's raw bytes to its JSON object."""

from __future__ import annotations

import json
from typing import NoReturn
from urllib.parse import parse_qsl

from pydantic_core import from_json

from githubapi.fields import Malformed

_FORM_FIELDS_MAX = 16
_BODY = "body"


class UnsupportedMedia(Exception):
    """The delivery's content type is none that we read."""


def load(raw: bytes, content_type: str | None) -> dict[str, object]:
    """The object that a body holds, as JSON or as a form whose field `payload` is JSON.

    Raises `UnsupportedMedia` for another content type and `Malformed` for whatever is no JSON object in UTF-8; nothing
    else, however the bytes were made.
    """
    match (content_type or "").partition(";")[0].strip().lower():
        case "application/json":
            return _object(raw)
        case "application/x-www-form-urlencoded":
            return _object(_payload(_text(raw)).encode())
        case _:
            raise UnsupportedMedia


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed(_BODY, "is not UTF-8") from None


def _payload(form: str) -> str:
    try:
        fields = parse_qsl(form, keep_blank_values=True, errors="strict", max_num_fields=_FORM_FIELDS_MAX)
    except ValueError:
        raise Malformed(_BODY, "is no form") from None
    payloads = [value for name, value in fields if name == "payload"]
    if len(payloads) != 1:
        raise Malformed(_BODY, "has not exactly one payload")
    return payloads[0]


def _object(raw: bytes) -> dict[str, object]:
    """The quick reader knows no half of a surrogate pair and little depth: whatever it refuses is read once more."""
    try:
        document: object = from_json(raw, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        document = _document(_text(raw))
    if not isinstance(document, dict):
        raise Malformed(_BODY, "is no object")
    return document


def _document(text: str) -> object:
    try:
        document: object = _DECODER.decode(text)
    except RecursionError:
        raise Malformed(_BODY, "is nested too deep") from None
    except ValueError:
        raise Malformed(_BODY, "is no JSON") from None
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
