"""How long what is sent may be, in the units that are safe to count in, and texts cut to it; pure.

Telegram's own counting is told of differently, as code points and as UTF-16 units; a text of so many UTF-16 units is
never too long by either.
"""

TEXT_UNITS_MAX = 4096
"""A message's text, in UTF-16 units; where it has markup, what is left of it when that is read."""

CUT = "…"
"""The end of a text that was cut."""


def utf16_units(text: str) -> int:
    """The length of a text in UTF-16: signs beyond the first 65 536 are pairs."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, units_max: int = TEXT_UNITS_MAX) -> str:
    """The text if it is short enough, else its beginning and `CUT`; no pair is split. `units_max` is 1 or more."""
    if utf16_units(text) <= units_max:
        return text
    kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (units_max - utf16_units(CUT))]
    return kept.decode("utf-16-le", "ignore") + CUT  # what is ignored is half a pair at the end
