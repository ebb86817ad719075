"""Standard logging as lines of the same form, so that what libraries say is bounded and masked as well."""

import logging
import sys
from collections.abc import Iterable
from typing import TextIO

from eventlog.event import Level
from eventlog.line import LineFormat
from eventlog.plain import UNREADABLE

STANDARD_KEYS = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
HTTP_CLIENTS = ("httpx", "httpcore")


class JournalHandler(logging.Handler):
    """Sends log records to a stream, one line each; never raises, whatever the record holds."""

    def __init__(self, source: str, secrets: Iterable[str] = (), stream: TextIO | None = None) -> None:
        """Without a stream: whatever standard error is at the moment of the record."""
        super().__init__()
        self._format = LineFormat(source, secrets)
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            line = self._format.record(
                level_of(record.levelno), int(record.created * 1000), message_of(record), extras_of(record)
            )
            stream = self._stream or sys.stderr
            stream.write(line.decode())
            stream.flush()
        except Exception:  # there is nowhere left to say it
            return


def level_of(levelno: int) -> int:
    """The level of a line for a level of standard logging, which has one above error and names in between."""
    return max((level for level in Level if level <= levelno + 10), default=Level.DEBUG)


def message_of(record: logging.LogRecord) -> str:
    """The record's message with its arguments put in, or without them where they do not fit."""
    try:
        return record.getMessage()
    except Exception:  # a wrong format or a stranger's __str__ must not hide that something was said
        return record.msg if isinstance(record.msg, str) else UNREADABLE


def extras_of(record: logging.LogRecord) -> dict[str, object]:
    """What a record carries beside its message: who logs, what was added by the caller, and an error."""
    extras: dict[str, object] = {"logger": record.name}
    extras |= {key: value for key, value in vars(record).items() if key not in STANDARD_KEYS}
    if record.exc_info and record.exc_info[1] is not None:
        extras["error"] = record.exc_info[1]
    return extras


def quiet_http_clients() -> None:
    """Keep HTTP clients from telling each request with its whole address, in which a token may stand."""
    for name in HTTP_CLIENTS:
        logging.getLogger(name).setLevel(logging.WARNING)
