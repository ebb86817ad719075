"""The house rules that a machine can see, each a pure function from one file to what is wrong in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.tree import PythonFile

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

PURE_MODULES = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "dataclasses",
        "datetime",
        "difflib",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "hmac",
        "html",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "string",
        "textwrap",
        "types",
        "typing",
        "unicodedata",
    }
)
PURE_LIBRARIES = frozenset({"markdown_it"})

CLOCK_CALLS = frozenset(
    {"time.time", "time.time_ns", "time.sleep", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
)
THREAD_STARTERS = frozenset(
    {
        "threading.Thread",
        "threading.Timer",
        "_thread.start_new_thread",
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor",
    }
)
PROCESS_STARTERS = frozenset(
    {
        "os.system",
        "os.popen",
        "os.fork",
        "os.execv",
        "os.execve",
        "os.execvp",
        "os.execvpe",
        "os.spawnv",
        "os.posix_spawn",
        "pty.spawn",
        "asyncio.create_subprocess_exec",
        "asyncio.create_subprocess_shell",
    }
)

TICKET = re.compile(r"\bissue[- #]?[0-9]+\b", re.IGNORECASE)
NO_TICKET = re.compile(r"github:|/issues/|issue-<|octo|payload|fixture", re.IGNORECASE)
UNFINISHED = re.compile(r"^\s*(pass|\.\.\.)\s*(#.*)?$|NotImplementedError|\b(TODO|FIXME|XXX)\b")
INDEX_ADDRESS = re.compile(r"https?://[^\s\"'<>]*(?:pypi|pythonhosted|npmjs|debian)\b", re.IGNORECASE)
MACHINE_PATH = re.compile(r"/(?:work/(?:main|shared|\.library)|opt/(?:pypi|wheels)|root/\.|tmp/briefs)\b")


def missing_introduction(file: PythonFile) -> Iterator[str]:
    """A file starts with one sentence that says what it is."""
    introduction = ast.get_docstring(file.tree())
    if not introduction:
        yield f"{file.path}: does not say what it is"
    elif not introduction.splitlines()[0].endswith((".", ":", "?")):
        yield f"{file.path}: its first line is no sentence"


def oversized(file: PythonFile) -> Iterator[str]:
    """Files and functions keep inside the walls."""
    line_count = len(file.text.splitlines())
    if line_count > FILE_LINES_MAX:
        yield f"{file.path}: {line_count} lines"
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{file.path}:{node.name}: {length} lines"


def relative_imports(file: PythonFile) -> Iterator[str]:
    """Modules are imported by their full path."""
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"{file.path}:{node.lineno}: a relative import"


def tickets(file: PythonFile) -> Iterator[str]:
    """Ticket numbers belong in commit messages."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        if TICKET.search(line) and not NO_TICKET.search(line):
            yield f"{file.path}:{number}: {line.strip()}"


def unfinished(file: PythonFile) -> Iterator[str]:
    """Nothing in the product is a stub or a note to come back to."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        if UNFINISHED.search(line):
            yield f"{file.path}:{number}: {line.strip()}"


def machine_traces(path: str, text: str) -> Iterator[str]:
    """No file names the address of a package index or a folder of the machine that it was written on."""
    for number, line in enumerate(text.splitlines(), start=1):
        if INDEX_ADDRESS.search(line) or MACHINE_PATH.search(line):
            yield f"{path}:{number}: {line.strip()[:120]}"


def impure_imports(file: PythonFile) -> Iterator[str]:
    """The domain computes: it imports itself, the pure part of the standard library and the Markdown reader."""
    allowed = PURE_MODULES | PURE_LIBRARIES | {"domain"}
    for module in imported_modules(file):
        if module.split(".")[0] not in allowed and module not in ("collections.abc", "urllib.parse"):
            yield f"{file.path}: imports {module}"


def threads_started(file: PythonFile) -> Iterator[str]:
    """Calls and subclasses of what starts a thread or a pool."""
    tree = file.tree()
    origins = _origins(tree)
    for node in ast.walk(tree):
        started = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        for expression in started:
            first, _, rest = dotted_name(expression).partition(".")
            origin = ".".join(filter(None, [origins.get(first, first), rest]))
            if origin in THREAD_STARTERS:
                yield f"{file.path}:{expression.lineno}: {origin}"


def processes_started(file: PythonFile) -> Iterator[str]:
    """Uses of what starts another program."""
    if "subprocess" in imported_modules(file):
        yield f"{file.path}: imports subprocess"
    yield from _uses(file, PROCESS_STARTERS)


def clocks_read(file: PythonFile) -> Iterator[str]:
    """Uses of the machine's time of day, called or handed on, and of sleep."""
    yield from _uses(file, CLOCK_CALLS)


def imported_modules(file: PythonFile) -> frozenset[str]:
    """The dotted names of all modules that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return frozenset(names)


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` for a name or an attribute of names, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return ""


def _origins(tree: ast.Module) -> dict[str, str]:
    """What each imported name of a file stands for: `{"Thread": "threading.Thread"}`."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            origins.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom):
            origins.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return origins


def _uses(file: PythonFile, wanted: frozenset[str]) -> Iterator[str]:
    tree = file.tree()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ".".join(dotted_name(node).split(".")[-2:]) in wanted:
            yield f"{file.path}:{node.lineno}: {dotted_name(node)}"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in wanted:
                    yield f"{file.path}:{node.lineno}: {node.module}.{alias.name}"
