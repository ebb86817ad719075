"""The stand-in GitHub's clock: real time, moved or stopped at will."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def real_time() -> datetime:
    """The machine's own time, aware and UTC."""
    return datetime.now(UTC)


class Clock:
    """Tells the stand-in's time, which starts as real time and may be moved (`advance`) or stopped (`freeze`)."""

    def __init__(self, source: Callable[[], datetime] = real_time) -> None:
        self._source = source
        self._shift = timedelta()
        self._frozen_at: datetime | None = None

    def now(self) -> datetime:
        """The present second, aware and UTC: GitHub's times have no fractions."""
        moment = self._frozen_at if self._frozen_at is not None else self._source() + self._shift
        return moment.astimezone(UTC).replace(microsecond=0)

    def advance(self, seconds: float) -> None:
        """Move the time by so many seconds; negative moves it back."""
        if self._frozen_at is not None:
            self._frozen_at += timedelta(seconds=seconds)
        self._shift += timedelta(seconds=seconds)

    def freeze(self, moment: datetime) -> None:
        """Stop the time at an aware moment, until it is advanced or released."""
        self._frozen_at = moment

    def release(self) -> None:
        """Let the time run again, as real time plus what it was advanced by."""
        self._frozen_at = None
