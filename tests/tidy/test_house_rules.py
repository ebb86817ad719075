"""The house rules that a machine can see hold for every file of the project."""

from __future__ import annotations

import pytest

from tests.tidy import rules, tree

OVERSIZED_WITH_REASON: dict[str, str] = {}

# Room or file -> why this rule's business is done there.
THREADS = {
    "service/": "the composition root starts every thread of the service",
    "sessions/host/": "is a process of its own",
}
PROCESSES = {
    "sessions/git.py": "the one door to git",
    "sessions/link.py": "starts session hosts",
    "sessions/process_tree.py": "asks the system for processes where there is no /proc",
    "sessions/host/": "owns the agent's process",
    "statedb/committer.py": "its default pause, while a busy batch grows",
    "service/demo/": "plays GitHub with a real git and starts the service as a person would",
    "service/cli/": "starts what the person at the terminal asked for",
}
CLOCKS = {
    "service/clock.py": "where the service's clock is made",
    "telegrambot/clock.py": "the room stands alone, and brings its own",
    "eventlog/journal.py": "its default clock, for programs without a service",
    "sessions/host/": "is a process of its own and makes its own clock",
    "sessions/folder_lock.py": "waits, within bounds, for a lock that tells nobody when it is free",
    "sessions/git.py": "waits, within bounds, for a process that it may not reap yet",
    "sessions/process_tree.py": "waits for processes that are no children of ours and tell nobody of their end",
    "statedb/committer.py": "its default pause, while a busy batch grows",
    "service/demo/": "plays programs of their own, which live by the machine's clock",
}
PYGITHUB = {"githubapi/": "the one door to GitHub"}
SQL = {"statedb/": "the one room that speaks SQL"}


def test_every_python_file_starts_with_a_sentence_that_says_what_it_is() -> None:
    _assert_none(_findings(rules.missing_introduction, tree.python_files()))


def test_files_and_functions_keep_inside_the_walls() -> None:
    found = _findings(rules.oversized, tree.python_files())
    _assert_none([finding for finding in found if finding.rpartition(": ")[0] not in OVERSIZED_WITH_REASON])


def test_modules_are_imported_by_their_full_path() -> None:
    _assert_none(_findings(rules.relative_imports, tree.python_files()))


def test_no_code_names_a_ticket() -> None:
    _assert_none(_findings(rules.tickets, tree.python_files()))


def test_nothing_in_the_product_is_unfinished() -> None:
    _assert_none(_findings(rules.unfinished, tree.product_files()))


def test_no_file_tells_on_which_machine_it_was_written() -> None:
    texts = ((path, (tree.ROOT / path).read_bytes().decode("utf-8", "replace")) for path in tree.project_files())
    _assert_none([finding for path, text in texts for finding in rules.machine_traces(path, text)])


def test_the_domain_is_pure() -> None:
    domain = [file for file in tree.product_files() if file.room == "domain"]
    assert domain, "there is no domain to look at"
    _assert_none(_findings(rules.impure_imports, domain))
    _assert_none(_findings(rules.clocks_read, domain))


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        pytest.param(rules.threads_started, THREADS, id="threads"),
        pytest.param(rules.processes_started, PROCESSES, id="processes"),
        pytest.param(rules.clocks_read, CLOCKS, id="clocks"),
    ],
)
def test_what_touches_the_machine_is_done_only_in_the_rooms_that_are_for_it(rule, places) -> None:
    _assert_none(_findings(rule, _outside(places)))


@pytest.mark.parametrize(
    ("library", "places"),
    [pytest.param("github", PYGITHUB, id="PyGithub"), pytest.param("apsw", SQL, id="apsw")],
)
def test_a_library_with_one_door_is_imported_only_behind_it(library, places) -> None:
    users = [
        file.path
        for file in _outside(places)
        if any(module.split(".")[0] == library for module in rules.imported_modules(file))
    ]
    _assert_none(users)


def _outside(places) -> list[tree.PythonFile]:
    return [file for file in tree.product_files() if not file.path.startswith(tuple(places))]


def _findings(rule, files) -> list[str]:
    return [finding for file in files for finding in rule(file)]


def _assert_none(findings: list[str]) -> None:
    assert not findings, "\n".join(["found:", *findings])
