"""One line of the log: pino's `level`, `time` and `msg`, then what happened, then who wrote it."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter

from eventlog.bounds import ENTRY_BYTES_MIN, Bounds, cut
from eventlog.event import ENVELOPE_FIELDS, LogEvent
from eventlog.masking import Masker
from eventlog.plain import Json, Plainer

ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)

HEAD_KEYS = ("level", "time", "msg", "event")
TAIL_KEYS = ("pid", "source")
KEPT_KEYS = (*HEAD_KEYS, "logger", *ENVELOPE_FIELDS, *TAIL_KEYS)
SOURCE_CHARACTERS_MAX = 64

SMALL_CHARACTERS = 1_000
"""Longer fields, and fields of more items, are walked through at once instead of being looked at as a whole first."""
SMALL_ITEMS = 50
CHARACTER_BYTES_MAX = 4
INTEGER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Form:
    """What is the same in all lines of one event type."""

    names: tuple[str, ...]
    values: Callable[[LogEvent], tuple[object, ...]]
    before_time: str
    after_time: str


class LineFormat:
    """Turns events and log records into lines of UTF-8 that end with their only newline; safe to share by threads."""

    __slots__ = ("_bounds", "_end", "_forms", "_masker", "_quick_characters_max", "_source")

    def __init__(self, source: str, secrets: Iterable[str] = (), bounds: Bounds | None = None) -> None:
        """Lines say that `source` wrote them, and show none of the `secrets`."""
        self._source = source[:SOURCE_CHARACTERS_MAX]
        self._end = f',"source":{ENCODER.encode(self._source)}}}\n'
        self._masker = Masker(secrets)
        self._bounds = bounds or Bounds()
        self._quick_characters_max = quick_characters_max(self._bounds)
        self._forms: dict[type[LogEvent], Form] = {}

    def event(self, event: LogEvent, time_ms: int) -> bytes:
        """The line of an event that became true at that time."""
        form = self._forms.get(type(event)) or self._form(type(event))
        present = {name: value for name, value in zip(form.names, form.values(event), strict=True) if value is not None}
        if all(map(is_small, present.values())):
            text = ENCODER.encode(present)
            if len(text) <= self._quick_characters_max and not self._masker.suspects(text):
                return self._quick(form, time_ms, text)
        head: dict[str, Json] = {"level": int(event.level), "time": time_ms, "msg": event.sentence, "event": event.name}
        return self._whole(head, Plainer(self._bounds, self._masker).fields(present))

    def record(self, level: int, time_ms: int, msg: str, extras: Mapping[str, object]) -> bytes:
        """The line of a log record; extras that are named like one of the line's own keys are left out."""
        plainer = Plainer(self._bounds, self._masker)
        head: dict[str, Json] = {"level": level, "time": time_ms, "msg": plainer.text(msg)}
        plain = plainer.value({key: value for key, value in extras.items() if key not in (*HEAD_KEYS, *TAIL_KEYS)}, 0)
        return self._whole(head, plain if isinstance(plain, dict) else {"extras": plain})

    def _form(self, declared: type[LogEvent]) -> Form:
        names = tuple(field.name for field in fields(declared))
        rest = {"msg": declared.sentence, "event": declared.name}
        form = Form(
            names, attrgetter(*names), f'{{"level":{int(declared.level)},"time":', "," + ENCODER.encode(rest)[1:-1]
        )
        self._forms[declared] = form
        return form

    def _quick(self, form: Form, time_ms: int, text: str) -> bytes:
        middle = "," + text[1:-1] if len(text) > 2 else ""
        line = f'{form.before_time}{time_ms}{form.after_time}{middle},"pid":{os.getpid()}{self._end}'
        return line.encode("utf-8", "replace")

    def _whole(self, head: dict[str, Json], plain: dict[str, Json]) -> bytes:
        line = {**head, **plain, "pid": os.getpid(), "source": self._source}
        encoded = encode(line)
        if len(encoded) > self._bounds.entry_bytes_max:
            encoded = self._collapsed(line, plain, len(encoded))
        return encoded + b"\n"

    def _collapsed(self, line: dict[str, Json], plain: dict[str, Json], bytes_wanted: int) -> bytes:
        """The line with what says what it is about, and as much of the beginning of the rest as there is room for."""
        rest = ENCODER.encode({key: value for key, value in plain.items() if key not in KEPT_KEYS})
        characters = self._bounds.string_characters_max
        while True:
            kept = {key: shortened(line[key], characters) for key in KEPT_KEYS if key in line}
            kept |= {"_truncated": True, "_originalBytes": bytes_wanted, "preview": cut(rest, characters)}
            encoded = encode(kept)
            if len(encoded) <= self._bounds.entry_bytes_max or characters <= 1:
                return encoded
            characters //= 2


def quick_characters_max(bounds: Bounds) -> int:
    """How long the fields together may be so that nothing in them can pass a bound; 0 where bounds are too narrow."""
    if bounds.collection_items_max < SMALL_ITEMS:
        return 0
    room_bytes = bounds.entry_bytes_max - ENTRY_BYTES_MIN
    return min(bounds.string_characters_max, room_bytes // CHARACTER_BYTES_MAX)


def is_small(value: object) -> bool:
    """Whether a field's value needs no walk to be within bounds; a text may still hold a secret."""
    if isinstance(value, str):
        return len(value) <= SMALL_CHARACTERS
    if isinstance(value, int):
        return -INTEGER_MAX <= value <= INTEGER_MAX
    if isinstance(value, tuple):
        return len(value) <= SMALL_ITEMS and all(isinstance(item, str) and is_small(item) for item in value)
    return False


def shortened(value: Json, characters_max: int) -> Json:
    """A kept value, cut if it is a text; anything but a text or a number is left to the preview."""
    if isinstance(value, str):
        return cut(value, characters_max)
    return value if value is None or isinstance(value, bool | int | float) else "[preview]"


def encode(line: Mapping[str, Json]) -> bytes:
    """A line as UTF-8; half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    return ENCODER.encode(line).encode("utf-8", "replace")
