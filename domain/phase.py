"""The control phase: a pure fold over a work item's authorised commands, whatever the order of their arrival."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from domain.control import Verb
from domain.model import EventKey, Fact, Phase, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCommand:
    """A command, or a closing (which stands as a stop by nobody), at its place."""

    key: EventKey
    place: Place
    verb: Verb

    @property
    def ends(self) -> bool:
        """Whether it ends a stretch of running."""
        return self.verb in (Verb.STOP, Verb.CLEANUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What people have asked of a work item so far.

    `opening` is the place of the earliest start of the current stretch and `generation` its key; both are None outside of
    a stretch. `ended_by` is the kind of fact that ended the last stretch (a closing lets the running turn finish, a stop
    does not). `last` is the newest command folded in: what stands behind it need not be sorted.
    """

    phase: Phase = Phase.NONE
    opening: Place | None = None
    generation: EventKey | None = None
    ended_by: Fact | None = None
    last: PhaseCommand | None = None

    def says_the_same_as(self, other: Folded) -> bool:
        """Whether both ask for the same, however they came to it."""
        return (self.phase, self.opening) == (other.phase, other.opening)


MOVES = (Verb.START, Verb.STOP, Verb.PAUSE, Verb.RESUME, Verb.CLEANUP)
"""The verbs that the fold reads; the others only ask."""

_NEXT: dict[tuple[Phase, Verb], Phase] = {
    (Phase.NONE, Verb.START): Phase.RUNNING,
    (Phase.STOPPED, Verb.START): Phase.RUNNING,
    (Phase.PAUSED, Verb.START): Phase.RUNNING,
    (Phase.RUNNING, Verb.PAUSE): Phase.PAUSED,
    (Phase.PAUSED, Verb.RESUME): Phase.RUNNING,
    **{(phase, verb): Phase.STOPPED for phase in Phase for verb in (Verb.STOP, Verb.CLEANUP)},
}


def step(folded: Folded, command: PhaseCommand) -> Folded:
    """The phase after one more command that stands behind all folded so far."""
    phase = _NEXT.get((folded.phase, command.verb), folded.phase)
    opens = phase is Phase.RUNNING and folded.opening is None
    if phase is Phase.STOPPED:
        return Folded(phase=phase, ended_by=command.place.fact if command.ends else folded.ended_by, last=command)
    return Folded(
        phase=phase,
        opening=command.place if opens else folded.opening,
        generation=command.key if opens else folded.generation,
        ended_by=folded.ended_by,
        last=command,
    )


def fold(commands: Iterable[PhaseCommand]) -> Folded:
    """The phase after all of them, in the order of their places."""
    folded = Folded()
    for command in in_order(commands):
        folded = step(folded, command)
    return folded


def in_order(commands: Iterable[PhaseCommand]) -> list[PhaseCommand]:
    """By GitHub's time; within one second by id where all are of one kind, else what ends a stretch last.

    GitHub's times are whole seconds and ids of different kinds do not compare: where a second cannot be read, a stop wins.
    """
    ordered: list[PhaseCommand] = []
    by_time = sorted(commands, key=lambda c: c.place.at_ms)
    for _, same_second in groupby(by_time, key=lambda c: c.place.at_ms):
        ordered += _within_a_second(list(same_second))
    return ordered


def _within_a_second(commands: list[PhaseCommand]) -> list[PhaseCommand]:
    if len({c.place.fact for c in commands}) == 1:
        return sorted(commands, key=lambda c: c.place.number)
    return sorted(commands, key=lambda c: (c.ends, c.place.fact, c.place.number))


def is_newest(folded: Folded, command: PhaseCommand) -> bool:
    """Whether the command stands behind all that was folded, so that one `step` says the same as a whole `fold`."""
    return folded.last is None or command.place.at_ms > folded.last.place.at_ms


def precedes(place: Place, other: Place) -> bool:
    """Whether a place is known to stand before another; of two kinds within one second nothing is known."""
    if place.at_ms != other.at_ms:
        return place.at_ms < other.at_ms
    return place.fact == other.fact and place.number < other.number


def may_precede(place: Place, other: Place) -> bool:
    """Whether a place may stand before another: what is not known to stand behind it."""
    return place != other and not precedes(other, place)
