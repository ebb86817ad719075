"""The wheel alone, in an empty environment: the command runs, and what agents read is inside."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.tidy import tree

LIMIT_S = 100


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with our wheel and nothing else; what it depends on is borrowed from this one by `run`."""
    folder = tmp_path_factory.mktemp("installed")
    _by_hand(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    made = folder / "environment"
    _by_hand(sys.executable, "-m", "venv", "--without-pip", str(made))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(made / "bin" / "python")]
    _by_hand(*pip, "install", "--no-index", "--no-deps", str(wheel))
    return made


def _by_hand(*command: str) -> None:
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def run(environment: Path, program: str, *arguments: str) -> str:
    """What a program of the environment says, far from our source. PYTHONPATH reads no `.pth` file, so that the borrowed
    dependencies do not bring the source along."""
    borrowed = {"PATH": os.environ["PATH"], "PYTHONPATH": sysconfig.get_path("purelib")}
    done = subprocess.run(
        [environment / "bin" / program, *arguments], cwd=environment, env=borrowed, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_command_shows_its_help(environment: Path) -> None:
    assert "Usage: the-loop" in run(environment, "the-loop", "--help")


def test_the_installed_service_finds_its_templates_beside_itself(environment: Path) -> None:
    code = (
        "import skills; from importlib import resources; from sessions.prompts import Prompts\n"
        "Prompts.load()\n"
        "print(skills.__file__, *sorted(each.name for each in"
        " (resources.files('skills') / 'the-loop' / 'templates').iterdir()), sep='\\n')"
    )
    where, *templates = run(environment, "python", "-P", "-c", code).splitlines()
    assert Path(where).is_relative_to(environment)
    assert templates == sorted(path.name for path in (tree.ROOT / "skills" / "the-loop" / "templates").iterdir())


def test_the_installed_command_makes_settings_that_it_can_use(environment: Path) -> None:
    folder = environment / "operator"
    run(environment, "the-loop", "init", str(folder))
    assert "state" in run(environment, "the-loop", "status", "--config", str(folder / "the-loop.toml"))


def test_the_installed_command_writes_every_file_of_a_project(environment: Path) -> None:
    folder = environment / "our-bot"
    run(environment, "the-loop", "init", "--template", "telegram-bot", str(folder))
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == {path.removeprefix(tree.TEMPLATES) for path in tree.project_files() if tree.TEMPLATES in path}
