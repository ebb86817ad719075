"""A harness preset says how its agent is run, what it may see, and that it is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sessions import harnesses
from sessions.harness import agent_environment
from sessions.harnesses import PRESETS


def test_every_file_of_the_shelf_is_a_preset_of_the_table() -> None:
    files = {path.stem for path in Path(harnesses.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(PRESETS)
    assert {name: make(()).name for name, make in PRESETS.items()} == {name: name for name in PRESETS}


@pytest.mark.parametrize(
    ("preset", "command", "said"),
    [
        pytest.param("command", (sys.executable,), None, id="there"),
        pytest.param("command", ("no-such-agent", "--acp"), "no-such-agent, which is not found", id="not found"),
        pytest.param("command", (), "has no command", id="not named"),
        pytest.param("claude", (sys.executable, "adapter.js"), None, id="named by setting"),
        pytest.param("claude", (), "npm install --global @agentclientprotocol/claude-agent-acp", id="claude missing"),
    ],
)
def test_a_missing_harness_is_said_with_its_remedy(
    preset: str, command: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    missing = PRESETS[preset](command).missing(search_path=str(tmp_path))
    assert missing is None if said is None else said in (missing or "")


def test_an_agent_sees_the_allowed_variables_and_no_secret_of_ours() -> None:
    operator = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_CACHE_HOME": "/cache",
        "ANTHROPIC_API_KEY": "key",
        "GITHUB_TOKEN": "secret",
        "GH_TOKEN": "secret",
        "THE_LOOP_GITHUB__TOKEN": "secret",
        "PYTHONPATH": "/x",
        "XDG_RUNTIME_DIR": "/run",
    }
    assert agent_environment(PRESETS["command"](()), operator).keys() == {"PATH", "LC_ALL", "XDG_CACHE_HOME"}
    assert agent_environment(PRESETS["claude"](()), operator).keys() == {
        "PATH",
        "LC_ALL",
        "XDG_CACHE_HOME",
        "ANTHROPIC_API_KEY",
    }
