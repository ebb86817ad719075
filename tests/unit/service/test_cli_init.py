"""`the-loop init`: what it writes can be used at once, is readable by its owner alone, and overwrites nothing."""

from __future__ import annotations

import resource
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli.main import the_loop
from service.settings import Settings, load
from tests.tidy import tree


def test_the_first_settings_are_valid_and_name_the_fresh_secret(tmp_path: Path) -> None:
    result = CliRunner().invoke(the_loop, ["init", str(tmp_path / "here")])
    assert result.exit_code == 0, result.stderr
    settings = load(tmp_path / "here" / "the-loop.toml")
    (secret,) = settings.secrets()
    assert len(secret) == 64
    assert [repository.name for repository in settings.repositories] == ["owner/repo"]


def test_what_is_written_there_says_the_defaults(tmp_path: Path) -> None:
    CliRunner().invoke(the_loop, ["init", str(tmp_path)])
    written, fresh = load(tmp_path / "the-loop.toml"), Settings()
    assert written.routing == fresh.routing
    assert written.sessions == fresh.sessions
    assert written.polling == fresh.polling
    assert (written.webhook.host, written.webhook.port) == (fresh.webhook.host, fresh.webhook.port)


def test_the_secret_is_for_its_owner_and_another_one_each_time(tmp_path: Path) -> None:
    secrets = []
    for name in ("one", "two"):
        CliRunner().invoke(the_loop, ["init", str(tmp_path / name)])
        file = tmp_path / name / "webhook-secret"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        secrets.append(file.read_text())
    assert secrets[0] != secrets[1]


@pytest.mark.parametrize("name", ["the-loop.toml", "webhook-secret"])
def test_nothing_is_overwritten_and_nothing_else_is_written_then(tmp_path: Path, name) -> None:
    (tmp_path / name).write_text("mine")
    result = CliRunner().invoke(the_loop, ["init", str(tmp_path)])
    assert result.exit_code == 2
    assert name in result.stderr
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {name: "mine"}


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(the_loop, ["init", str(tmp_path / "file" / "below")])
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def init_bot(folder: Path):
    return CliRunner().invoke(the_loop, ["init", "--template", "telegram-bot", str(folder)])


def files_below(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_every_file_of_a_template_is_written_with_the_project_called_as_its_folder(tmp_path: Path) -> None:
    kept = {
        path.removeprefix(tree.TEMPLATES): tree.read(path) for path in tree.project_files() if tree.TEMPLATES in path
    }
    result = init_bot(tmp_path / "below" / "Our.bot-2")
    assert result.exit_code == 0, result.stderr
    written = files_below(tmp_path / "below" / "Our.bot-2")
    assert written == {path: text.replace("PROJECT_NAME", "Our.bot-2") for path, text in kept.items()}
    assert {"pyproject.toml", "README.md", ".gitignore", "bot/__main__.py", "tests/test_bot.py"} <= set(written)
    project = tomllib.loads(written["pyproject.toml"])["project"]
    assert (project["name"], project["scripts"]) == ("Our.bot-2", {"Our.bot-2": "bot.__main__:run"})


def test_what_python_compiled_of_a_template_is_not_written(tmp_path: Path, monkeypatch) -> None:
    compiled = tmp_path / "kept" / "telegram-bot" / "bot" / "__pycache__" / "store.cpython-311.pyc"
    compiled.parent.mkdir(parents=True)
    compiled.write_bytes(b"\xff")
    (compiled.parent.parent / "store.py").write_text("")
    monkeypatch.setattr("service.project_template.FOLDER", tmp_path / "kept")
    init_bot(tmp_path / "bot")
    assert list(files_below(tmp_path / "bot")) == ["bot/store.py"]


def test_the_folder_that_is_written_into_may_be_the_present_one_and_hold_other_things(
    tmp_path: Path, monkeypatch
) -> None:
    folder = tmp_path / "here"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert init_bot(Path()).exit_code == 0
    assert (folder / "README.md").read_text().startswith("# here\n")


@pytest.mark.parametrize("name", ["pyproject.toml", "README.md", ".gitignore", "bot", "tests"])
def test_a_template_is_written_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("nowhere")
    result = init_bot(tmp_path)
    assert (result.exit_code, [path.name for path in tmp_path.iterdir()]) == (2, [name])
    assert f"{tmp_path / name} is there already" in result.stderr


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """What goes beyond is an OSError without a file's name, as a full disk is one."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.fixture
def template_with_a_large_file(tmp_path: Path, monkeypatch) -> None:
    for name, size in (("README.md", 1), ("bot/first.py", 1), ("bot/second.py", 5000)):
        file = tmp_path / "kept" / "telegram-bot" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a" * size)
    monkeypatch.setattr("service.project_template.FOLDER", tmp_path / "kept")


@pytest.mark.usefixtures("template_with_a_large_file")
def test_a_project_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    with files_of_at_most(4096):
        result = init_bot(tmp_path / "below" / "bot")
    assert (result.exit_code, [path.name for path in tmp_path.iterdir()]) == (2, ["kept"])
    assert result.stderr == f"{tmp_path / 'below' / 'bot'} cannot be written: File too large\n"


@pytest.mark.usefixtures("template_with_a_large_file")
def test_what_was_there_stays_when_a_project_cannot_be_written_whole(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "mine").write_text("mine")
    with files_of_at_most(4096):
        result = init_bot(tmp_path / "bot")
    assert (result.exit_code, files_below(tmp_path / "bot")) == (2, {"mine": "mine"})
    assert [path.name for path in (tmp_path / "bot").iterdir()] == ["mine"]


def test_first_settings_that_cannot_be_written_whole_leave_nothing(tmp_path: Path) -> None:
    with files_of_at_most(1024):
        result = CliRunner().invoke(the_loop, ["init", str(tmp_path / "settings")])
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("-bot", id="a sign first"),
        pytest.param("bot_", id="a sign last"),
        pytest.param("my bot", id="a space"),
        pytest.param("böt", id="another letter"),
        pytest.param('b"\nx="t', id="what would be TOML"),
        pytest.param("b" * 65, id="too long"),
        pytest.param("The_Loop", id="what it depends on"),
    ],
)
def test_a_folder_whose_name_no_project_can_have_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    result = init_bot(tmp_path / "x" / name)
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert result.stderr.startswith("the project is called as its folder")
    assert len(result.stderr.splitlines()) == 1


def test_no_other_template_is_known(tmp_path: Path) -> None:
    result = CliRunner().invoke(the_loop, ["init", "--template", "../telegram-bot", str(tmp_path)])
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
