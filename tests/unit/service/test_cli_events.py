"""`the-loop events`: filters, forms, and following the log as it grows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eventlog.catalogue import EVENT_TYPES
from eventlog.event import LogEvent
from eventlog.events.dispatch import DispatchDone, DispatchGaveUp, DispatchQueued
from eventlog.journal import Journal
from service.cli.main import the_loop
from tests.tidy import tree

ITEM = "github:octo/repo#15"
LINES: tuple[tuple[float, LogEvent], ...] = (
    (1000.0, DispatchQueued(event_key="k1", delivery_id="d1", work_item=ITEM)),
    (2000.0, DispatchGaveUp(event_key="k2", delivery_id="d2", work_item="github:octo/other#1", attempts=4, error="no")),
    (3000.0, DispatchDone(event_key="k1", work_item=ITEM)),
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "the-loop.toml"
    file.write_text(f'state_folder = "{tmp_path / "state"}"\n')
    (tmp_path / "state" / "logs").mkdir(parents=True)
    return file


@pytest.fixture
def run(config: Path) -> Callable[..., Result]:
    write(config, *LINES)
    return lambda *arguments: CliRunner().invoke(the_loop, ["events", *arguments, "--config", str(config)])


def write(config: Path, *lines: tuple[float, LogEvent]) -> None:
    for at_s, event in lines:
        Journal(config.parent / "state" / "logs" / "events.jsonl", partial(float, at_s), "test").emit(event)


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        pytest.param((), ["k1", "k2", "k1"], id="all"),
        pytest.param(("--type", "dispatch.[qg]*"), ["k1", "k2"], id="type by pattern"),
        pytest.param(("--type", "dispatch.queued", "--type", "dispatch.done"), ["k1", "k1"], id="several types"),
        pytest.param(("--work-item", "octo/repo#15"), ["k1", "k1"], id="work item, short"),
        pytest.param(("--work-item", "https://github.com/octo/repo/issues/15"), ["k1", "k1"], id="work item, address"),
        pytest.param(("--delivery", "d2"), ["k2"], id="delivery"),
        pytest.param(("--key", "k1"), ["k1", "k1"], id="event key"),
        pytest.param(("--level", "error"), ["k2"], id="level"),
        pytest.param(("--since", "1970-01-01T00:30:00"), ["k2", "k1"], id="since, in UTC"),
        pytest.param(("--since", "1970-01-01T01:30:00+01:00"), ["k2", "k1"], id="since, in a zone"),
        pytest.param(("--since", "2h"), [], id="since two hours ago"),
        pytest.param(("--limit", "1"), ["k1"], id="the newest one"),
    ],
)
def test_what_is_asked_for_is_shown_and_nothing_else(run, arguments, keys) -> None:
    result = run(*arguments, "--format", "jsonl")
    assert result.exit_code == 0, result.stderr
    assert [json.loads(line)["event_key"] for line in result.stdout.splitlines()] == keys


def test_json_is_one_array_and_a_table_is_for_people(run) -> None:
    assert [entry["event"] for entry in json.loads(run("--format", "json").stdout)] == [
        "dispatch.queued", "dispatch.gave_up", "dispatch.done",
    ]  # fmt: skip
    assert "dispatch.gave_up" in run().stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--since", "yesterday"),
        ("--level", "loud"),
        ("--limit", "0"),
        ("--work-item", "15"),
        ("--follow", "--format", "json"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_cannot_be_asked_is_bad_input(run, arguments) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_torn_line_is_left_out_and_counted(run, config) -> None:
    with (config.parent / "state" / "logs" / "events.jsonl").open("a") as log:
        log.write('{"level":30,"ti\n')
    result = run("--format", "jsonl")
    assert len(result.stdout.splitlines()) == 3
    assert "1 line is no record" in result.stderr


def test_where_there_is_no_log_yet_it_is_said(config) -> None:
    result = CliRunner().invoke(the_loop, ["events", "--config", str(config)])
    assert result.exit_code == 1
    assert "the-loop serve" in result.stderr


def test_the_types_are_the_catalogue(config) -> None:
    result = CliRunner().invoke(the_loop, ["events", "--types", "--format", "json"])
    assert [each["event"] for each in json.loads(result.stdout)] == list(EVENT_TYPES)


def _hear_ctrl_c() -> None:
    """A shell lets what it runs in the background ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_following_shows_what_is_written_later_and_ends_with_ctrl_c(config) -> None:
    write(config, LINES[0])
    argv = [
        sys.executable,
        "-m",
        "service.cli.main",
        "events",
        "--follow",
        "--format",
        "jsonl",
        "--config",
        str(config),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, cwd=tree.ROOT, env=environment, preexec_fn=_hear_ctrl_c
    ) as following:
        try:
            assert following.stdout is not None
            assert json.loads(following.stdout.readline())["event"] == "dispatch.queued"
            write(config, LINES[2])
            assert json.loads(following.stdout.readline())["event"] == "dispatch.done"
            following.send_signal(signal.SIGINT)
            assert following.wait(20) == 0
        finally:
            following.kill()
