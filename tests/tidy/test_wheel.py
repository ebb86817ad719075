"""The wheel brings the command, every room and what agents read, and nothing else of the tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.tidy import tree


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=tree.ROOT,
        capture_output=True,
        check=True,
        timeout=100,
    )
    (built,) = Path(folder).glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_every_file_of_every_room_and_of_the_skills(wheel: zipfile.ZipFile) -> None:
    shipped = tree.rooms() | {"skills"}
    wanted = {path for path in tree.project_files() if path.split("/")[0] in shipped}
    assert sorted(wanted - set(wheel.namelist())) == []


def test_the_wheel_holds_nothing_but_the_rooms_and_the_skills(wheel: zipfile.ZipFile) -> None:
    folders = {name.split("/")[0] for name in wheel.namelist()}
    assert sorted(folder for folder in folders if not folder.endswith(".dist-info")) == sorted(
        tree.rooms() | {"skills"}
    )


def test_the_wheel_brings_the_command(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "the-loop = service.cli.main:main" in wheel.read(entry_points).decode()


def test_the_wheel_brings_the_licence(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())
