"""What no text of this room may show: bot tokens, and the exact values that the application names."""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
VALUE_CHARACTERS_MIN = 8
"""A shorter value is not hidden wherever it stands: it would hide ordinary words."""

_TOKEN = re.compile(r"(?<![0-9])([0-9]{5,})(?::|%3[Aa])[A-Za-z0-9_-]{30,}", re.ASCII)


class Masker:
    """Hides every text that has a bot token's shape, and the values that it was given; a bot's number is public and stays."""

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values if len(value) >= VALUE_CHARACTERS_MIN for form in _forms(value)}
        # Longest first, so that a value which contains another leaves no remainder.
        self._values = sorted(forms, key=lambda form: (-len(form), form))

    def mask(self, text: str) -> str:
        """The text without them; masking twice is harmless."""
        for value in self._values:
            text = text.replace(value, MASK)
        return _TOKEN.sub(rf"\1:{MASK}", text)


def _forms(value: str) -> set[str]:
    """A value as it stands, and as an address or a JSON text carries it."""
    return {value, json.dumps(value)[1:-1], quote(value, safe=""), quote(value), quote_plus(value)}
