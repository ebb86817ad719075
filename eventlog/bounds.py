"""How much one line may hold, and how a text is cut visibly where that is too little."""

from dataclasses import dataclass

CUT = "…[truncated]"
ENTRY_BYTES_MIN = 2048
"""A line of this size has room for every name that says what it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of one line; each is far above what an ordinary line holds."""

    depth_max: int = 6
    """Containers inside containers; the line itself is depth 0."""
    string_characters_max: int = 4_000
    collection_items_max: int = 100
    nodes_max: int = 20_000
    """Values in one line altogether; a small structure that shares its parts may unfold to millions."""
    read_characters_max: int = 4 << 20
    """Characters looked at for one line altogether; a longer text is named by its length and not read."""
    entry_bytes_max: int = 65_536
    """The whole line in UTF-8, without the newline."""

    def __post_init__(self) -> None:
        """Raise ValueError where a line would have no room for the names that say what it is about."""
        if self.entry_bytes_max < ENTRY_BYTES_MIN:
            raise ValueError(f"entry_bytes_max is {self.entry_bytes_max}; at least {ENTRY_BYTES_MIN} are needed")


def cut(text: str, characters_max: int) -> str:
    """The text itself, or its beginning and a mark that it went on."""
    return text if len(text) <= characters_max else text[:characters_max] + CUT
