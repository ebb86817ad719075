"""Any value as plain JSON values: bounded, masked, and without ever raising."""

import dataclasses
import math
import traceback
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from enum import Enum
from itertools import islice
from types import TracebackType

from eventlog.bounds import Bounds, cut
from eventlog.masking import MASK, Masker, is_secret_key

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

UNREADABLE = "[unreadable]"
MAX_DEPTH = "[max depth]"
CIRCULAR = "[circular]"
NODE_BUDGET = "[node budget]"
TRUNCATED = "[truncated]"

INTEGER_MAX = 2**63 - 1
STACK_FRAMES_MAX = 30
UNSAFE_KEYS = frozenset({"__proto__", "constructor", "prototype"})
ERROR_KEYS = frozenset({"_type", "name", "message", "stack", "cause", "errors"})


class Plainer:
    """Makes the values of one line plain; used once, because its budgets are the line's."""

    __slots__ = ("_ancestors", "_bounds", "_characters_left", "_masker", "_nodes_left")

    def __init__(self, bounds: Bounds, masker: Masker) -> None:
        self._bounds = bounds
        self._masker = masker
        self._nodes_left = bounds.nodes_max
        self._characters_left = bounds.read_characters_max
        self._ancestors: set[int] = set()

    def fields(self, fields: Mapping[str, object]) -> dict[str, Json]:
        """A line's own fields, whose names are ours: a telling name masks nothing here, only further down."""
        return {key: self.value(value, 1) for key, value in fields.items()}

    def text(self, text: str) -> str:
        """A text masked, then cut: the other way round would leave the first half of a secret."""
        if len(text) > self._characters_left:
            return f"[text of {len(text)} characters]"
        self._characters_left -= len(text)
        return cut(self._masker.mask(text), self._bounds.string_characters_max)

    def value(self, value: object, depth: int) -> Json:
        """A value at that depth as plain JSON; a marker in square brackets where it cannot be shown."""
        if self._nodes_left <= 0:
            return NODE_BUDGET
        self._nodes_left -= 1
        try:
            return self._readable(value, depth)
        except Exception:  # a log must survive whatever a stranger's object does when it is looked at
            return UNREADABLE

    def _readable(self, value: object, depth: int) -> Json:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Enum):
            return self.value(value.value, depth)
        if isinstance(value, str):
            return self.text(str(value))
        if isinstance(value, int | float):
            return number(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return {"_type": "binary", "size": len(value)}
        if isinstance(value, datetime | date | time):
            return value.isoformat()
        if isinstance(value, timedelta):
            return value.total_seconds()
        if hasattr(type(value), "get_secret_value"):
            return MASK
        return self._composed(value, depth)

    def _composed(self, value: object, depth: int) -> Json:
        if not is_composed(value):
            return self.text(str(value))
        if depth > self._bounds.depth_max:
            return MAX_DEPTH
        if id(value) in self._ancestors:
            return CIRCULAR
        self._ancestors.add(id(value))
        try:
            return self._opened(value, depth)
        finally:
            self._ancestors.discard(id(value))

    def _opened(self, value: object, depth: int) -> Json:
        if isinstance(value, BaseException):
            return self._error(value, depth)
        if isinstance(value, Mapping):
            return self._object(value.items(), depth)
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            return self._object(((name, getattr(value, name, UNREADABLE)) for name in names), depth)
        if isinstance(value, Set):
            return self._array(sorted(islice(value, self._bounds.nodes_max), key=str), depth)
        if isinstance(value, Iterable):
            return self._array(value, depth)
        return UNREADABLE

    def _object(self, items: Iterable[tuple[object, object]], depth: int) -> dict[str, Json]:
        plain: dict[str, Json] = {}
        left_out = 0
        for key, value in islice(items, self._bounds.nodes_max):
            name = key if isinstance(key, str) else str(key)
            if name in UNSAFE_KEYS:
                continue
            if len(plain) >= self._bounds.collection_items_max:
                left_out += 1
            else:
                plain[self.text(name)] = MASK if is_secret_key(name) else self.value(value, depth + 1)
        if left_out:
            plain[TRUNCATED] = left_out
        return plain

    def _array(self, items: Iterable[object], depth: int) -> list[Json]:
        plain: list[Json] = []
        left_out = 0
        for item in islice(items, self._bounds.nodes_max):
            if len(plain) >= self._bounds.collection_items_max:
                left_out += 1
            else:
                plain.append(self.value(item, depth + 1))
        if left_out:
            plain.append(f"[truncated {left_out} items]")
        return plain

    def _error(self, error: BaseException, depth: int) -> dict[str, Json]:
        plain: dict[str, Json] = {
            "_type": "error",
            "name": type(error).__qualname__,
            "message": self._message(error),
        }
        if error.__traceback__ is not None:
            plain["stack"] = self.text(stack_of(error.__traceback__))
        own = {key: value for key, value in own_fields(error).items() if key not in ERROR_KEYS}
        plain |= self._object(own.items(), depth)
        if isinstance(error, BaseExceptionGroup):
            plain["errors"] = self.value(error.exceptions, depth + 1)
        cause = cause_of(error)
        if cause is not None:
            plain["cause"] = self.value(cause, depth + 1)
        return plain

    def _message(self, error: BaseException) -> str:
        try:
            return self.text(str(error))
        except Exception:  # a message is a stranger's code as well
            return UNREADABLE


def is_composed(value: object) -> bool:
    """Whether a value has parts that are shown one by one."""
    if isinstance(value, type):
        return False
    return isinstance(value, BaseException | Mapping | Sequence | Set) or dataclasses.is_dataclass(value)


def number(value: float) -> Json:
    """A number that every JSON reader takes; one that it would not take is named by a text."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return int(value) if abs(value) <= INTEGER_MAX else f"[integer of {value.bit_length()} bits]"


def stack_of(trace: TracebackType) -> str:
    """Where an error was raised, innermost last, without the errors that led to it."""
    return "".join(traceback.format_tb(trace, limit=-STACK_FRAMES_MAX)).rstrip()


def own_fields(error: BaseException) -> dict[str, object]:
    """What an error carries beside its message, such as a status or a time to wait."""
    return {key: value for key, value in vars(error).items() if not key.startswith("_")}


def cause_of(error: BaseException) -> BaseException | None:
    """The error from which this one was raised, or during whose handling, unless that was suppressed."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__
