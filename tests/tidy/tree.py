"""What the tidy tests look at: the project's own files, its rooms and their syntax trees."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

NO_ROOMS = {
    "tests": "tests look at the rooms and are no part of the product",
    "benchmarks": "measures the product from outside",
    "skills": "is data that agents read; it holds no code",
}
TEMPLATES = "service/templates/telegram-bot/"
"""What is copied from here and runs as a project of its own."""


@dataclass(frozen=True, slots=True)
class PythonFile:
    """One source file: its path from the root with forward slashes, and its text."""

    path: str
    text: str

    @property
    def room(self) -> str:
        """The folder at the root that it lies in; empty for a file at the root."""
        return self.path.split("/")[0] if "/" in self.path else ""

    def tree(self) -> ast.Module:
        """Its syntax tree; raises SyntaxError where it has none."""
        return ast.parse(self.text, self.path)


@cache
def project_files() -> tuple[str, ...]:
    """Every file that is committed or about to be, as paths from the root; nothing that git ignores."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return tuple(sorted({name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()}))


@cache
def python_files() -> tuple[PythonFile, ...]:
    """All our Python files, tests included."""
    return tuple(PythonFile(name, read(name)) for name in project_files() if name.endswith(".py"))


def product_files() -> tuple[PythonFile, ...]:
    """The Python files of the rooms: what runs at the operator's."""
    return tuple(file for file in python_files() if file.room in rooms() and not file.path.startswith(TEMPLATES))


@cache
def rooms() -> frozenset[str]:
    """The rooms of the product: the folders at the root that hold Python and are not listed as something else."""
    with_python = {name.split("/")[0] for name in project_files() if name.endswith(".py") and "/" in name}
    return frozenset(with_python - set(NO_ROOMS))


@cache
def pyproject() -> dict[str, Any]:
    """pyproject.toml as TOML gives it."""
    return tomllib.loads(read("pyproject.toml"))


def read(path: str) -> str:
    """The text of a project file, named from the root."""
    return (ROOT / path).read_text(encoding="utf-8")
