"""The rooms that pyproject.toml speaks of are the folders that there are, and the layers name each of them once."""

from __future__ import annotations

import ast

import pytest

from tests.tidy import tree

SHIPPED_WITHOUT_CODE = {"skills"}
COPIED = {"bot"}
"""What is shipped as a template's package, and checked by the name that it has where it is copied to."""


def layers() -> list[str]:
    contracts = tree.pyproject()["tool"]["importlinter"]["contracts"]
    (contract,) = [contract for contract in contracts if contract["type"] == "layers"]
    return [room.strip() for layer in contract["layers"] for room in layer.split("|")]


def test_the_layers_name_every_room_once() -> None:
    assert sorted(layers()) == sorted(tree.rooms())


@pytest.mark.parametrize(
    ("where", "rooms_named"),
    [
        pytest.param(("importlinter", "root_packages"), lambda names: set(names), id="import-linter"),
        pytest.param(("mypy", "packages"), lambda names: set(names) - COPIED, id="mypy"),
        pytest.param(("deptry", "known_first_party"), lambda names: set(names) - SHIPPED_WITHOUT_CODE, id="deptry"),
        pytest.param(
            ("hatch", "build", "targets", "wheel", "only-include"),
            lambda names: set(names) - SHIPPED_WITHOUT_CODE,
            id="wheel",
        ),
        pytest.param(
            ("hatch", "build", "targets", "sdist", "include"),
            lambda names: {name.strip("/") for name in names} & (set(layers()) | tree.rooms()),
            id="source archive",
        ),
    ],
)
def test_every_tool_is_told_of_every_room(where, rooms_named) -> None:
    setting = tree.pyproject()["tool"]
    for name in where:
        setting = setting[name]
    assert rooms_named(setting) == tree.rooms()


def test_every_folder_with_code_in_a_room_is_a_package() -> None:
    folders = {file.path.rpartition("/")[0] for file in tree.product_files()}
    assert sorted(folder for folder in folders if not (tree.ROOT / folder / "__init__.py").is_file()) == []


def test_what_agents_read_ships_as_data_and_holds_no_code() -> None:
    code = [file for file in tree.python_files() if file.room in SHIPPED_WITHOUT_CODE]
    assert [file.path for file in code] == ["skills/__init__.py"]
    assert len(ast.parse(code[0].text).body) == 1
