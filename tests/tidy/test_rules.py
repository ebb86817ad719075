"""Each house rule finds what it is for and leaves alone what it is not for."""

from __future__ import annotations

import pytest

from tests.tidy import rules
from tests.tidy.tree import PythonFile

LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 60
TICKET = "# mends issue " + "15\n"
ADDRESS = "https" + "://pypi.org/simple"

FOUND = [
    pytest.param(rules.missing_introduction, "x = 1\n", id="no introduction"),
    pytest.param(rules.missing_introduction, '"""some words"""\n', id="introduction that is no sentence"),
    pytest.param(rules.oversized, "x = 1\n" * 401, id="long file"),
    pytest.param(rules.oversized, LONG_FUNCTION, id="long function"),
    pytest.param(rules.relative_imports, "from . import model\n", id="relative import"),
    pytest.param(rules.tickets, TICKET, id="ticket"),
    pytest.param(rules.unfinished, "def f():\n    ...\n", id="empty body"),
    pytest.param(rules.unfinished, "# TO" + "DO: later\n", id="note to come back"),
    pytest.param(rules.impure_imports, "import os\n", id="system in the domain"),
    pytest.param(rules.impure_imports, "def f():\n    from random import choice\n", id="chance in the domain, lazily"),
    pytest.param(rules.impure_imports, "from eventlog.journal import Journal\n", id="another room in the domain"),
    pytest.param(rules.threads_started, "import threading\nthreading.Thread(target=f).start()\n", id="thread"),
    pytest.param(
        rules.threads_started,
        "from threading import Thread\nclass Worker(Thread):\n    x = 1\n",
        id="thread by inheritance",
    ),
    pytest.param(
        rules.threads_started, "from concurrent.futures import ThreadPoolExecutor as Pool\nPool(4)\n", id="pool"
    ),
    pytest.param(rules.processes_started, "import subprocess\n", id="subprocess"),
    pytest.param(rules.processes_started, "import os\nos.system('ls')\n", id="shell"),
    pytest.param(rules.processes_started, "asyncio.create_subprocess_exec('ls')\n", id="asyncio's subprocess"),
    pytest.param(rules.clocks_read, "import time\nnow = time.time()\n", id="time of day"),
    pytest.param(rules.clocks_read, "from time import sleep\n", id="sleep by name"),
    pytest.param(rules.clocks_read, "import datetime\ndatetime.datetime.now(UTC)\n", id="now"),
    pytest.param(rules.clocks_read, "def f(clock=time.time):\n    return clock()\n", id="clock as a default"),
]

LEFT_ALONE = [
    pytest.param(rules.missing_introduction, '"""What this is."""\n', id="introduction"),
    pytest.param(rules.oversized, "x = 1\n" * 400, id="file at the wall"),
    pytest.param(rules.tickets, "# github:owner/repo#" + "15 is a work item\n", id="work item"),
    pytest.param(rules.unfinished, "surpass = compass\n", id="a word that contains pass"),
    pytest.param(
        rules.impure_imports, "from collections.abc import Mapping\nfrom domain.model import Fate\n", id="pure"
    ),
    pytest.param(rules.threads_started, "def join(thread: threading.Thread) -> None:\n    thread.join(5)\n", id="type"),
    pytest.param(rules.threads_started, "from domain.model import Thread\nThread(number=1)\n", id="a thread of GitHub"),
    pytest.param(rules.processes_started, "import os\nos.getpid()\n", id="own process"),
    pytest.param(rules.clocks_read, "import time\nwaited = time.monotonic()\n", id="a deadline's clock"),
    pytest.param(rules.clocks_read, "now = self.clock.now()\n", id="injected clock"),
]


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_a_rule_finds_what_it_is_for(rule, text) -> None:
    assert list(rule(PythonFile("room/file.py", text))) != []


@pytest.mark.parametrize(("rule", "text"), LEFT_ALONE)
def test_a_rule_leaves_alone_what_it_is_not_for(rule, text) -> None:
    assert list(rule(PythonFile("room/file.py", text))) == []


@pytest.mark.parametrize("text", [ADDRESS, "see /work" + "/main/x.py", "cd /root" + "/.cache"])
def test_an_index_address_or_a_machine_path_is_found_in_any_text(text) -> None:
    assert list(rules.machine_traces("README.md", text)) != []
