"""Calls into resources that may never return: each runs in a thread of its own, which its caller can give up on."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken, Latch, wait_for_any


@dataclass(frozen=True, slots=True)
class Returned:
    """The call came back."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The call came back with an error."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The call had not come back when its deadline passed or its token was cancelled; its thread is left behind."""


Ending = Returned | Raised
Outcome = Ending | GivenUp


class NotInTime(Exception):
    """A resource did not come back from one of its calls before the call was given up."""


def begin(call: Callable[[], None], *, name: str) -> Latch[Ending]:
    """Run `call` in a new daemon thread named `name`; the latch is set when it has ended.

    A daemon, because a call that hangs must not keep the process from ending.
    """
    ending: Latch[Ending] = Latch()

    def run() -> None:
        try:
            call()
        except BaseException as error:  # a resource that exits or interrupts has failed like any other
            ending.set(Raised(error))
        else:
            ending.set(Returned())

    threading.Thread(target=run, name=name, daemon=True).start()
    return ending


def wait_for(ending: Latch[Ending], *, deadline: float, cancel: CancelToken, clock: Clock) -> Outcome:
    """Wait for a call that was begun; one that has ended counts as ended, however late it is looked at."""
    wait_for_any((ending, cancel), deadline=deadline, clock=clock)
    return ending.value or GivenUp()


def error_of(outcome: Outcome, call_name: str) -> BaseException | None:
    """What went wrong with the call named `call_name`: None when it returned, `NotInTime` when it was given up."""
    match outcome:
        case Returned():
            return None
        case Raised(error):
            return error
        case GivenUp():
            return NotInTime(f"{call_name} had not ended when it was given up")
        case _:
            assert_never(outcome)
