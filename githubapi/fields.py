"""Reads single fields of an outside JSON object: strict about the type of what is asked for, blind to the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain.model import ID_MAX

JsonObject = Mapping[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UNSAYABLE = re.compile("[\x00\ud800-\udfff]")


class Malformed(Exception):
    """An object from outside has not the shape that we read. Holds our own words only, never what stood there."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field}: {what}")
        self.field = field
        self.what = what


@dataclass(frozen=True, slots=True)
class Fields:
    """An object and where in the document it stands. Every reader raises `Malformed` for another type than its own."""

    values: JsonObject
    path: str = ""

    def part(self, name: str) -> Fields:
        """An object that must be there."""
        found = self.optional_part(name)
        if found is None:
            raise self.refuse(name, "is missing")
        return found

    def optional_part(self, name: str) -> Fields | None:
        """An object, or None where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.refuse(name, "is no object")
        return Fields(value, self._path_of(name))

    def items(self, name: str) -> list[object]:
        """A list that must be there."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self.refuse(name, "is no list")
        return value

    def text(self, name: str) -> str:
        """A text that must be there, fit to be stored and sent: a NUL or half a surrogate pair is replaced by U+FFFD."""
        value = self.optional_text(name)
        if value is None:
            raise self.refuse(name, "is missing")
        return value

    def optional_text(self, name: str) -> str | None:
        """As `text`, or None where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.refuse(name, "is no text")
        return sayable(value)

    def id(self, name: str) -> int:
        """A whole number from 1 to 2^53 that must be there."""
        value = self.optional_id(name)
        if value is None:
            raise self.refuse(name, "is missing")
        return value

    def optional_id(self, name: str) -> int | None:
        """As `id`, or None where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refuse(name, "is no whole number")
        if not 1 <= value <= ID_MAX:
            raise self.refuse(name, "is out of range")
        return value

    def time_ms(self, name: str) -> int:
        """An RFC 3339 time since 1970 that must be there, in milliseconds since then."""
        value = self.optional_time_ms(name)
        if value is None:
            raise self.refuse(name, "is missing")
        return value

    def optional_time_ms(self, name: str) -> int | None:
        """As `time_ms`, or None where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
            raise self.refuse(name, "is no time")
        try:
            milliseconds = (datetime.fromisoformat(value.upper()) - _EPOCH) // _MILLISECOND
        except (ValueError, OverflowError):
            raise self.refuse(name, "is no time") from None
        if milliseconds < 0:
            raise self.refuse(name, "is out of range")
        return milliseconds

    def refuse(self, name: str, what: str) -> Malformed:
        """The exception that says what is wrong with one of these fields."""
        return Malformed(self._path_of(name), what)

    def _path_of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def sayable(text: str) -> str:
    """The same text with every NUL and every half of a surrogate pair replaced by U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSAYABLE.sub("\ufffd", text)
