"""Who takes a batch of updates: one after another, or all at once into a store."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from telegrambot.updates import Update


class Handler(Protocol):
    """Takes a batch while its lease is held, says of each update when it is finished, and returns when all are.

    What is not finished is not confirmed, and comes again: also where this raises, or is cancelled by a forced end. It must
    not wait for a shutdown that it asked for: the shutdown waits for it.
    """

    async def __call__(self, updates: Sequence[Update], finished: Callable[[int], None]) -> None:
        """`finished` takes an update's number."""


def one_by_one(
    handle: Callable[[Update], Awaitable[None]], failed: Callable[[Update, Exception], Awaitable[None]]
) -> Handler:
    """Handle each update in turn; one that fails holds up no other.

    `failed` is told of it first, and the update counts as finished only when that returned: what must not be lost with it
    is to be written there. Where it raises too, the rest of the batch comes again.
    """

    async def take(updates: Sequence[Update], finished: Callable[[int], None]) -> None:
        for update in updates:
            try:
                await handle(update)
            except Exception as error:  # one update's fault must not hold up the others
                await failed(update, error)
            finished(update.update_id)

    return take


def recorded(record: Callable[[Sequence[Update]], Awaitable[object]]) -> Handler:
    """Write the whole batch down at once; it is finished when that is on disk, and handled from there."""

    async def take(updates: Sequence[Update], finished: Callable[[int], None]) -> None:
        await record(updates)
        for update in updates:
            finished(update.update_id)

    return take
