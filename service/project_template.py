"""A project to begin with, written by `the-loop init --template`; nothing that is there is touched."""

from __future__ import annotations

import re
from pathlib import Path

from service.new_files import all_or_nothing, make_folders, refuse_what_is_there, write_new

FOLDER = Path(__file__).parent / "templates"
PLACEHOLDER = "PROJECT_NAME"
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", re.ASCII)
OURS = "the-loop"


class NoProjectName(ValueError):
    """A folder is called as no project can be; the text says what would do."""


def write_project(template: str, folder: Path) -> str:
    """Write the template's files into the folder, which gives the project its name; returns that.

    Writes none where anything of the template's own is there already, and leaves none where one cannot be written.
    Raises AlreadyThere, NoProjectName, and OSError where the folder cannot be made or written.
    """
    name = project_name(folder)
    files = template_files(template)
    refuse_what_is_there(folder / first for first in dict.fromkeys(file.parts[0] for file in files))
    with all_or_nothing() as made:
        for file in files:
            target = folder / file
            made.extend(make_folders(target.parent))
            write_new(target, (FOLDER / template / file).read_text(encoding="utf-8").replace(PLACEHOLDER, name))
            made.append(target)
    return name


def project_name(folder: Path) -> str:
    """The name of a project in that folder. Raises NoProjectName."""
    name = folder.resolve().name
    if not NAME.fullmatch(name):
        raise NoProjectName(
            f"the project is called as its folder, and {name!r} is no name for one: "
            "take letters, digits, '-', '_' and '.', with a letter or digit at both ends"
        )
    if re.sub(r"[-_.]+", "-", name).lower() == OURS:
        raise NoProjectName(
            f"the project is called as its folder, and cannot be {name!r}: it needs {OURS} beside itself"
        )
    return name


def template_files(template: str) -> list[Path]:
    """The files of a template, as paths within it, without what Python compiled of them."""
    within = FOLDER / template
    found = (path.relative_to(within) for path in within.rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)
