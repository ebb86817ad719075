"""The testing plan names tests that there are, and has a row for every named case."""

from __future__ import annotations

import re

import pytest

from tests.tidy import tree

PLAN = "docs/testing-plan.md"
CODE = re.compile(r"`([^`\n]+)`")
TEST_FILE = re.compile(r"[a-z0-9_/]+/test_[a-z0-9_]+\.py")
TEST_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+){2,}(…)?")
TEST_ID = re.compile(r"\[([a-z0-9-]+)\]$")
CASE_ROW = re.compile(r"^\| ([0-9, ]+) \|", re.MULTILINE)
DEFINED = re.compile(r"^\s*(?:async )?def test_(\w+)\(", re.MULTILINE)
CASES = {*range(1, 7), 15, *range(17, 21), 28, 32, 44, *range(51, 54), *range(57, 61), *range(63, 73), 74, 84}


def text_of_all_tests() -> str:
    return "\n".join(file.text for file in tree.python_files() if file.room == "tests")


def missing(text: str, tests: str, files: set[str]) -> list[str]:
    """The files, names and ids that a text puts between backticks and that no test has; `…` stands for any ending."""
    names = DEFINED.findall(tests)
    lacking = []
    for code in CODE.findall(text):
        bare, test_id = TEST_ID.sub("", code), TEST_ID.search(code)
        if TEST_FILE.fullmatch(bare) and f"tests/{bare}" not in files:
            lacking.append(bare)
        if TEST_NAME.fullmatch(bare) and not any(
            name.startswith(bare[:-1]) if bare.endswith("…") else name == bare for name in names
        ):
            lacking.append(bare)
        if test_id is not None and f'"{test_id.group(1)}"' not in tests:
            lacking.append(code)
    return lacking


def test_every_test_that_the_plan_names_exists() -> None:
    assert missing(tree.read(PLAN), text_of_all_tests(), set(tree.project_files())) == []


def test_every_named_case_has_one_row_that_names_a_test() -> None:
    table = tree.read(PLAN).partition("## Named cases")[2]
    numbers = [int(number) for numbers in CASE_ROW.findall(table) for number in numbers.split(",")]
    assert sorted(numbers) == sorted(CASES)
    rows = [line for line in table.splitlines() if CASE_ROW.match(line)]
    assert [
        row for row in rows if not any(TEST_NAME.fullmatch(TEST_ID.sub("", code)) for code in CODE.findall(row))
    ] == []


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        pytest.param("`a_rule_that_holds`", [], id="a name"),
        pytest.param("`a_rule_that…`", [], id="the beginning of a name"),
        pytest.param("`a_rule_that_holds[some-id]`", [], id="a name with an id"),
        pytest.param("`a_rule_that_is_gone`", ["a_rule_that_is_gone"], id="no such name"),
        pytest.param("`another_rule_that…`", ["another_rule_that…"], id="no such beginning"),
        pytest.param("`[no-such-id]`", ["[no-such-id]"], id="no such id"),
        pytest.param("`path/test_gone.py`", ["path/test_gone.py"], id="no such file"),
        pytest.param("`control-executed` and `decide`", [], id="other words"),
    ],
)
def test_what_is_named_and_not_there_is_found(text: str, lacking: list[str]) -> None:
    tests = 'def test_a_rule_that_holds() -> None:\n    param(id="some-id")\n'
    assert missing(text, tests, set()) == lacking
