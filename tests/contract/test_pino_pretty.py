"""pino-pretty, which reads what pino writes, reads our event log and our logging."""

from __future__ import annotations

import io
import logging
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from eventlog.events.service import ServiceAdmissionClosed, ServiceReady, ServiceResourceEnded
from eventlog.handler import JournalHandler
from eventlog.journal import Journal

PINO_PRETTY = Path(__file__).resolve().parents[2] / ".tools/pino-pretty/node_modules/pino-pretty/bin.js"
READ_S = 60
AT_S = 1_800_000_000.123
AT = "[2027-01-15 08:00:00.123]"
PID = os.getpid()

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not PINO_PRETTY.exists(), reason="pino-pretty is not installed: run `make tools`"
)


def shown(log: str) -> str:
    """What pino-pretty makes of a log."""
    done = subprocess.run(
        ["node", PINO_PRETTY, "--no-colorize", "--translateTime", "UTC:yyyy-mm-dd HH:MM:ss.l"],
        input=log,
        capture_output=True,
        text=True,
        timeout=READ_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def failed() -> ValueError:
    """An error with a cause, as it was caught."""
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as caught:
        return caught


@pytest.fixture
def event_log(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def journal(event_log: Path) -> Journal:
    return Journal(event_log, lambda: AT_S, "serve")


def logged(levelno: int, msg: str, error: BaseException | None = None, **extra: object) -> str:
    """The line of one log record."""
    stream = io.StringIO()
    record = logging.LogRecord("a.room", levelno, __file__, 1, msg, (), error and (type(error), error, None))
    record.created = AT_S
    vars(record).update(extra)
    JournalHandler("serve", stream=stream).emit(record)
    return stream.getvalue()


def test_an_event_has_its_time_level_process_sentence_and_fields(event_log: Path, journal: Journal) -> None:
    journal.emit_all((ServiceReady(took_ms=5), ServiceAdmissionClosed(reason="two\nlines")))
    assert shown(event_log.read_text()).splitlines() == [
        f"{AT} INFO ({PID}): All required resources run.",
        '    event: "service.ready"',
        "    took_ms: 5",
        '    source: "serve"',
        f"{AT} WARN ({PID}): The service takes no new work.",
        '    event: "service.admission_closed"',
        r'    reason: "two\nlines"',
        '    source: "serve"',
    ]


@pytest.mark.parametrize(
    ("levelno", "level"),
    [(logging.DEBUG, "DEBUG"), (logging.INFO, "INFO"), (logging.WARNING, "WARN"), (logging.ERROR, "ERROR")],
)
def test_a_log_record_has_the_same(levelno: int, level: str) -> None:
    assert shown(logged(levelno, "said", turn_id="t")).splitlines() == [
        f"{AT} {level} ({PID}): said",
        '    logger: "a.room"',
        '    turn_id: "t"',
        '    source: "serve"',
    ]


def test_an_error_in_an_event_is_shown_with_its_stack_and_its_cause(event_log: Path, journal: Journal) -> None:
    journal.emit(ServiceResourceEnded(resource="store", error=failed()))
    assert_shows_the_error(shown(event_log.read_text()))


def test_so_is_an_error_in_a_log_record() -> None:
    assert_shows_the_error(shown(logged(logging.ERROR, "failed", failed())))


def assert_shows_the_error(said: str) -> None:
    """Name and message of both, and stacks as lines rather than as one text."""
    for part in ('"name": "ValueError"', '"message": "outer"', '"name": "KeyError"', '"message": "\'inner\'"'):
        assert part in said
    lines = [line.strip() for line in said.splitlines()]
    assert lines.count('"stack":') == 2
    assert 'raise KeyError("inner")' in lines
