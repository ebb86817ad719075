"""Standard logging through the same writer."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from threading import Thread

import httpx
import pytest

from eventlog.handler import JournalHandler, quiet_http_clients
from eventlog.masking import MASK

BOT_TOKEN = "123456:" + "AbC" * 12


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("looked at")


@pytest.fixture
def stream() -> StringIO:
    return StringIO()


@contextmanager
def logger_with(handler: logging.Handler) -> Iterator[logging.Logger]:
    logger = logging.getLogger("a.room")
    logger.propagate = False
    logger.setLevel(1)
    logger.addHandler(handler)
    try:
        yield logger
    finally:
        logger.removeHandler(handler)


@pytest.fixture
def logger(stream: StringIO) -> Iterator[logging.Logger]:
    with logger_with(JournalHandler("serve", ["correct-horse"], stream)) as logger:
        yield logger


def said(stream: StringIO) -> dict:
    (line,) = stream.getvalue().splitlines()
    return json.loads(line)


@pytest.mark.parametrize(
    ("levelno", "level"),
    [(5, 20), (logging.DEBUG, 20), (logging.INFO, 30), (35, 40), (logging.ERROR, 50), (logging.CRITICAL, 50)],
)
def test_a_record_is_a_line_with_the_level_of_pino(logger, stream, levelno: int, level: int) -> None:
    logger.log(levelno, "%d lines\nof text", 2, extra={"turn_id": "t", "api_key": "k"})
    line = said(stream)
    assert (line["level"], line["msg"], line["logger"]) == (level, "2 lines\nof text", "a.room")
    assert (line["turn_id"], line["api_key"], line["source"]) == ("t", MASK, "serve")
    assert set(line) == {"level", "time", "msg", "logger", "turn_id", "api_key", "pid", "source"}


def test_an_error_that_is_being_handled_is_part_of_the_line_and_shows_no_secret(logger, stream) -> None:
    try:
        raise ValueError(f"https://api.telegram.org/bot{BOT_TOKEN}/send correct-horse")
    except ValueError:
        logger.exception("failed with correct-horse")
    line = said(stream)
    assert line["error"]["message"] == f"https://api.telegram.org/bot123456:{MASK}/send {MASK}"
    assert line["msg"] == f"failed with {MASK}"
    assert "correct-horse" not in stream.getvalue()


@pytest.mark.parametrize(
    ("msg", "args", "shown"),
    [
        pytest.param("%d", ("no number",), "%d", id="wrong format"),
        pytest.param("%s", (Hostile(),), "%s", id="argument that raises"),
        pytest.param(Hostile(), (), "[unreadable]", id="message that raises"),
    ],
)
def test_a_record_that_cannot_be_put_into_words_is_a_line_all_the_same(stream, msg, args, shown) -> None:
    JournalHandler("serve", (), stream).handle(logging.makeLogRecord({"msg": msg, "args": args, "levelno": 40}))
    assert said(stream)["msg"] == shown


def test_a_stream_that_is_gone_stops_nothing(logger, stream, capsys) -> None:
    stream.close()
    logger.warning("nobody hears this")
    assert capsys.readouterr().err == ""


def test_without_a_stream_it_is_said_on_standard_error(capsys) -> None:
    with logger_with(JournalHandler("serve")) as logger:
        logger.warning("heard")
    assert json.loads(capsys.readouterr().err)["msg"] == "heard"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        return


@contextmanager
def answering_server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(10)


def test_a_quiet_http_client_tells_no_address(stream) -> None:
    handler = JournalHandler("serve", (), stream)
    root, clients = logging.getLogger(), [logging.getLogger(name) for name in ("httpx", "httpcore")]
    levels = [(logger, logger.level) for logger in (root, *clients)]
    root.addHandler(handler)
    try:
        root.setLevel(logging.DEBUG)
        with answering_server() as address:
            httpx.get(f"{address}/bot{BOT_TOKEN}/getMe", trust_env=False)
            told = stream.getvalue()
            quiet_http_clients()
            httpx.get(f"{address}/bot{BOT_TOKEN}/getMe", trust_env=False)
        assert "/bot123456:[redacted]/getMe" in told
        assert BOT_TOKEN not in told
        assert stream.getvalue() == told
    finally:
        root.removeHandler(handler)
        for logger, level in levels:
            logger.setLevel(level)
