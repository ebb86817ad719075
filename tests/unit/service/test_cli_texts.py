"""The command line as a whole: every command is listed, documented and quick to find, and no fault shows a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from service.cli import main
from service.cli.main import COMMANDS, SEAT_COMMANDS, the_loop
from service.cli.serve import UNSIGNED
from tests.tidy import tree

ALL = [*COMMANDS, *SEAT_COMMANDS]
NO_COMMANDS = {"__init__", "main", "common", "seat"}


def test_every_file_of_the_shelf_is_a_command_and_every_command_has_its_file() -> None:
    files = {path.stem for path in (tree.ROOT / "service" / "cli").glob("*.py")} - NO_COMMANDS
    assert files == set(COMMANDS)


@pytest.mark.parametrize("name", ALL)
def test_every_command_says_what_it_does_and_stands_in_the_docs(name) -> None:
    command = the_loop.get_command(click.Context(the_loop), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").strip()
    assert f"`the-loop {name}" in tree.read("docs/cli/commands.md")


@pytest.mark.parametrize("name", ["list", "start", "stop", "pause", "resume", "cleanup"])
def test_every_verb_of_sessions_stands_in_the_docs(name) -> None:
    assert f"`the-loop sessions {name}" in tree.read("docs/cli/commands.md")


def test_every_option_stands_in_the_docs() -> None:
    page = tree.read("docs/cli/commands.md")
    missing = [f"{name} {option}" for name, option in _options() if f"`{option}" not in page]
    assert missing == []


def test_help_lists_every_command_and_loads_none() -> None:
    code = (
        "import sys; from service.cli.main import the_loop\n"
        "the_loop(['--help'], standalone_mode=False)\n"
        "loaded = [m for m in sys.modules if m.split('.')[0] in"
        " ('pydantic','apsw','fastapi','github','rich','domain','webhook','statedb')]\n"
        "sys.exit(repr(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tree.ROOT)
    assert done.returncode == 0, done.stderr
    assert [name for name in ALL if f"  {name} " not in done.stdout] == []


def test_a_settings_file_that_is_not_there_ends_with_one_sentence_and_2(tmp_path: Path) -> None:
    result = CliRunner().invoke(the_loop, ["status", "--config", str(tmp_path / "none.toml")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the-loop init" in result.stderr
    assert "Traceback" not in result.stderr


def test_all_faults_of_the_settings_are_said_at_once(tmp_path: Path) -> None:
    file = tmp_path / "the-loop.toml"
    file.write_text("[webhook]\nprot = 1\n[routing]\nspawn = 'sometimes'\n")
    result = CliRunner().invoke(the_loop, ["doctor", "--config", str(file)])
    assert result.exit_code == 2
    assert "did you mean port?" in result.stderr
    assert "routing.spawn" in result.stderr


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param('name = ".."', "name", id="a-name-that-leads-elsewhere"),
        pytest.param('[webhook]\nsecrets = [" "]', "webhook.secrets", id="a-blank-secret"),
        pytest.param('[webhook]\nsecrets = [""]', "webhook.secrets", id="an-empty-secret"),
        pytest.param('[webhook]\npath = "/healthz"', "webhook.path", id="a-path-of-our-own"),
        pytest.param('[webhook]\npath = "/{x}"', "webhook.path", id="a-path-with-a-hole"),
        pytest.param('[github]\napi_url = "not a url"', "github.api_url", id="no-address"),
        pytest.param('[github]\nhost = "https://github.com"', "github.host", id="an-address-for-a-host"),
        pytest.param('[[repositories]]\nname = "../x"', "repositories.0.name", id="no-repository"),
        pytest.param('[routing]\nauthorized_users = [""]', "routing.authorized_users", id="nobody"),
        pytest.param('[routing]\nauthorized_users = ["@bob"]', "routing.authorized_users", id="a-mention"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_key(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "the-loop.toml"
    file.write_text(text)
    result = CliRunner().invoke(the_loop, ["status", "--config", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"  {key}: " in result.stderr


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        pytest.param("THE_LOOP_NOPE", "THE_LOOP_NOPE: there is no such setting", id="no-setting"),
        pytest.param("THE_LOOP_WEBHOKS__PORT", "did you mean webhook?", id="no-section"),
        pytest.param("THE_LOOP_WEBHOOK__PROT", "did you mean port?", id="nothing-in-the-section"),
    ],
)
def test_a_variable_that_is_no_setting_is_refused(tmp_path: Path, variable: str, said: str) -> None:
    file = tmp_path / "the-loop.toml"
    file.write_text("")
    result = CliRunner().invoke(the_loop, ["status", "--config", str(file)], env={variable: "1"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize("seconds", ["-1", "3601", "inf", "nan", "soon"])
def test_a_wait_outside_its_bounds_is_refused(seconds: str) -> None:
    result = CliRunner().invoke(the_loop, ["sessions", "stop", "--wait", seconds, "o/r#1"])
    assert result.exit_code == 2
    assert "'--wait'" in result.stderr


def test_what_a_full_device_does_not_take_is_said_in_a_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "service.cli.main", "--help"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, cwd=tree.ROOT,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "the-loop: what it says cannot be written: No space left on device\n")


def test_the_settings_are_found_by_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.toml"
    file.write_text(f'state_folder = "{tmp_path / "state"}"\n')
    result = CliRunner().invoke(the_loop, ["status"], env={"THE_LOOP_CONFIG": str(file)})
    assert result.exit_code == 0
    assert str(tmp_path / "state") in result.stdout


def test_a_fault_of_our_own_is_one_sentence_and_no_traceback(monkeypatch, capsys) -> None:
    monkeypatch.setattr(main, "the_loop", _failing)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("the-loop: a fault of its own (KeyError: 'x');")
    assert "Traceback" not in said


def test_serve_without_a_secret_refuses_to_start(tmp_path: Path) -> None:
    file = tmp_path / "the-loop.toml"
    file.write_text(f'state_folder = "{tmp_path / "state"}"\n[webhook]\nport = 0\n')
    done = subprocess.run(
        [sys.executable, "-m", "service.cli.main", "serve", "--config", str(file)],
        capture_output=True, text=True, timeout=60, cwd=tree.ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"{UNSIGNED}\n")


def _failing() -> None:
    raise KeyError("x")


def _options() -> list[tuple[str, str]]:
    context = click.Context(the_loop)
    commands = [(name, the_loop.get_command(context, name)) for name in ALL]
    sessions = dict(commands)["sessions"]
    assert isinstance(sessions, click.Group)
    commands += [(f"sessions {name}", each) for name, each in sessions.commands.items()]
    return [
        (name, option)
        for name, command in commands
        if command is not None
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    ]
