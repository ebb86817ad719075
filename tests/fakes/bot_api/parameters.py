"""What a request brings to a method, read alike from a query, JSON, a form and a form with files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a form."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Parameters:
    """Values by name: texts from queries and forms, anything from JSON; and the files of the form."""

    values: Mapping[str, Any] = field(default_factory=dict)
    uploads: Mapping[str, Upload] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Empty when it was not said."""
        value = self.values.get(name)
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    def integer(self, name: str, default: int = 0) -> int:
        """The default also for what is no number, as the server has it."""
        try:
            return int(self.text(name))
        except ValueError:
            return default

    def within(self, name: str, default: int, lowest: int, highest: int) -> int:
        return min(max(self.integer(name, default), lowest), highest)

    def structure(self, name: str) -> Any:
        """A list or an object, which forms carry as JSON; None when it was not said or cannot be read."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return None


def read_parameters(query: str, content_type: str, body: bytes) -> Parameters:
    """Never raises: the methods refuse what they lack."""
    values: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        texts, uploads = _form_with_files(content_type, body)
        return Parameters(values | texts, uploads)
    if kind == "application/json" and body:
        return Parameters(values | _json(body))
    return Parameters(values | dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)))


def _json(body: bytes) -> dict[str, Any]:
    """What is no JSON object says nothing."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _form_with_files(content_type: str, body: bytes) -> tuple[dict[str, str], dict[str, Upload]]:
    form = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    texts: dict[str, str] = {}
    uploads: dict[str, Upload] = {}
    for part in form.iter_parts():
        name = str(part.get_param("name", "", header="content-disposition"))
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes), "a part holds bytes"
        file_name = part.get_filename()
        if file_name is None:
            texts[name] = content.decode("utf-8", "replace")
        else:
            uploads[name] = Upload(file_name, content)
    return texts, uploads
