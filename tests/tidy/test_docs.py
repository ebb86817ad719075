"""What the docs say and what there is agree: words, rooms, commands, links and decisions."""

from __future__ import annotations

import importlib
import re
from enum import StrEnum
from pathlib import PurePosixPath

import pytest

from tests.tidy import tree

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
DECISION_SECTIONS = ("## What we decided", "## What we refused", "## What it costs")


def markdown_files() -> list[str]:
    return [path for path in tree.project_files() if path.endswith(".md")]


def decisions() -> list[str]:
    return [path for path in markdown_files() if path.startswith("docs/decisions/")]


def fixed_words() -> list[type[StrEnum]]:
    """The enums that the domain's modules define: every one of them is a table of our words."""
    modules = [
        importlib.import_module(file.path.removesuffix(".py").replace("/", "."))
        for file in tree.product_files()
        if file.room == "domain"
    ]
    kinds = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    return sorted(
        {kind for kind in kinds if issubclass(kind, StrEnum) and kind is not StrEnum}, key=lambda kind: kind.__name__
    )


def test_the_glossary_names_every_word_that_the_domain_fixes() -> None:
    glossary = tree.read("docs/glossary.md")
    assert {"Fate", "Outcome", "PassReason", "UnhandledReason", "Verb"} <= {kind.__name__ for kind in fixed_words()}
    assert [f"{kind.__name__}: {word}" for kind in fixed_words() for word in kind if f"`{word}`" not in glossary] == []


def test_the_architecture_describes_every_room() -> None:
    architecture = tree.read("docs/architecture.md")
    assert [room for room in sorted(tree.rooms() | {"skills"}) if f"`{room}/`" not in architecture] == []


def test_links_between_files_of_the_project_lead_somewhere() -> None:
    broken = [
        f"{path} -> {target}"
        for path in markdown_files()
        for target in LINK.findall(CODE_BLOCK.sub("", tree.read(path)))
        if not (tree.ROOT / PurePosixPath(path).parent / target).exists()
    ]
    assert broken == []


def test_decisions_are_numbered_without_gaps_and_listed_in_the_architecture() -> None:
    numbers = [int(PurePosixPath(path).name[:4]) for path in decisions()]
    assert numbers == list(range(1, len(numbers) + 1))
    architecture = tree.read("docs/architecture.md")
    assert [path for path in decisions() if path.removeprefix("docs/") not in architecture] == []


def test_every_decision_says_what_was_refused_and_what_it_costs() -> None:
    missing = [
        f"{path}: {section}" for path in decisions() for section in DECISION_SECTIONS if section not in tree.read(path)
    ]
    assert missing == []


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_the_docs_name_exists(path: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", tree.read("Makefile"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b(?! sure)", "\n".join(re.findall(r"`[^`]+`", tree.read(path)))))
    assert named, f"{path} names no make target"
    assert named - targets == set()


def test_the_gate_calls_the_two_commands_that_the_readme_names() -> None:
    gate = tree.read(".ci/run")
    assert "make check" in gate
    assert "make test" in gate


def test_every_skill_says_its_name_and_what_it_is_for() -> None:
    skills = [path for path in markdown_files() if path.startswith("skills/") and path.endswith("/SKILL.md")]
    assert skills, "there is no skill"
    for path in skills:
        front_matter = tree.read(path).split("---")[1]
        assert f"name: {PurePosixPath(path).parent.name}\n" in front_matter
        assert re.search(r"^description: .{40,}$", front_matter, re.MULTILINE)
