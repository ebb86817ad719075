"""`telegrambot/` by itself: installed into an empty environment, with httpx and what that needs, it polls a bot."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.server import StandInBotApi
from tests.tidy import tree

LEAF = tree.ROOT / "telegrambot"
BUILD_S = 100

SCRIPT = """
import asyncio, sys
from telegrambot.admission import OpenAdmission
from telegrambot.calls import BotApi, Token, polling_client
from telegrambot.handling import one_by_one
from telegrambot.polling import Poller

async def main(root_url, token):
    async def handle(update):
        print(update.update_id, update.text, flush=True)
        if update.text == "enough":
            poller.stop()
    async with polling_client(60.0) as client:
        poller = Poller(BotApi(Token(token), client, root_url), OpenAdmission(), one_by_one(handle, handle))
        print(await poller.run())

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the folder's own wheel, and with links to what that says it needs."""
    folder = tmp_path_factory.mktemp("leaf")
    by_hand(LEAF, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    made = folder / "environment"
    by_hand(folder, "-m", "venv", "--without-pip", str(made))
    pip = ("-m", "pip", "--disable-pip-version-check", "--python", str(made / "bin" / "python"))
    by_hand(folder, *pip, "install", "--no-index", "--no-deps", str(wheel))
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(made)}))
    for name in with_what_it_needs(needs_of_the_leaf()):
        lend(name, packages)
    return made


def by_hand(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def needs_of_the_leaf() -> list[str]:
    """As its own pyproject.toml names them."""
    return [
        Requirement(line).name
        for line in tomllib.loads((LEAF / "pyproject.toml").read_text())["project"]["dependencies"]
    ]


def with_what_it_needs(names: list[str]) -> set[str]:
    """Distributions, and all that they depend on without any extra."""
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name not in needed:
            needed.add(name)
            requirements = map(Requirement, distribution(name).requires or [])
            waiting += [each.name for each in requirements if not each.marker or each.marker.evaluate({"extra": ""})]
    return needed


def lend(name: str, packages: Path) -> None:
    """Link a distribution of this environment into another's packages."""
    lent = distribution(name)
    for first in {file.parts[0] for file in lent.files or () if file.parts[0] not in ("..", "__pycache__")}:
        (packages / first).symlink_to(Path(str(lent.locate_file(first))))


def run(environment: Path, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [environment / "bin" / "python", "-I", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_it_needs_httpx_and_nothing_else() -> None:
    assert needs_of_the_leaf() == ["httpx"]


def test_every_module_of_it_can_be_imported_and_no_other_room_is_there(environment: Path, tmp_path: Path) -> None:
    modules = sorted(
        path.removesuffix(".py").replace("/", ".")
        for path in tree.project_files()
        if re.match(r"telegrambot/.*\.py$", path)
    )
    code = (
        f"import importlib, importlib.util as util\nfor name in {modules}: importlib.import_module(name)\n"
        f"print([room for room in {sorted(tree.rooms())} if util.find_spec(room)])"
    )
    said, complaints = run(environment, tmp_path, "-c", code).communicate(timeout=LIMIT_S)
    assert (said.strip(), complaints) == ("['telegrambot']", "")


def test_it_polls_a_bot_and_confirms_what_it_has_handled(environment: Path, tmp_path: Path) -> None:
    with StandInBotApi() as bot_api:
        for text in ("one", "two", "enough"):
            bot_api.push_text(text)
        polling = run(environment, tmp_path, "-c", SCRIPT, bot_api.root_url, bot_api.token)
        said, complaints = polling.communicate(timeout=LIMIT_S)
        assert (said.splitlines(), complaints) == (["10 one", "11 two", "12 enough", "stopped"], "")
        assert (bot_api.confirmed_ids, bot_api.highest_offset) == ([10, 11, 12], 13)
