"""Slips of the hand: which of our words a misspelt one was meant to be."""

from __future__ import annotations

from collections.abc import Iterable

_ENDINGS = frozenset({"s", "es", "d", "ed", "ped", "ing", "ping"})
_LONG_WORD = 5


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is a slip away from `word`, the nearest and of these the first; None: it is another word.

    One letter put in, left out, changed or swapped with its neighbour is a slip; two are where both words have five
    letters or more. A known word with an English ending is an ordinary word. Both sides in lower case.
    """
    words = tuple(known)
    if any(word.startswith(other) and word[len(other) :] in _ENDINGS for other in words):
        return None
    near = [(slips, other) for other in words if (slips := _distance(word, other)) <= _slips_max(word, other)]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _slips_max(word: str, other: str) -> int:
    return 2 if min(len(word), len(other)) >= _LONG_WORD else 1


def _distance(left: str, right: str) -> int:
    """How many letters must be put in, left out, changed or swapped with their neighbour; 3 stands for more than 2."""
    if abs(len(left) - len(right)) > 2:
        return 3
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        upper, row = row, [i]
        for j, other in enumerate(right, start=1):
            cost = min(upper[j] + 1, row[j - 1] + 1, upper[j - 1] + (letter != other))
            swapped = i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other
            row.append(min(cost, before[j - 2] + 1) if swapped else cost)
        before = upper
    return min(row[-1], 3)
