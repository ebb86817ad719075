"""`the-loop init`: what it writes can be used at once, is readable by its owner alone, and overwrites nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli.main import the_loop
from service.settings import Settings, load


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
