"""The documented settings are those that there are."""

from __future__ import annotations

import re
from pathlib import Path

from service.settings import load
from service.settings_page import render_page
from tests.tidy import tree

TOML_BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_documented_settings_are_the_page_that_the_code_renders() -> None:
    assert tree.read("docs/config/settings.md") == render_page()


def test_every_setting_says_what_it_is() -> None:
    assert "| None |" not in render_page()


def test_the_settings_that_the_readme_shows_can_be_used_as_they_stand(tmp_path: Path) -> None:
    (shown,) = TOML_BLOCK.findall(tree.read("README.md"))
    for name in ("token", "webhook-secret"):
        (tmp_path / name).write_text(f"a-{name}\n", "utf-8")
    file = tmp_path / "the-loop.toml"
    file.write_text(shown, "utf-8")
    settings = load(file)
    assert (settings.token(), settings.secrets()) == ("a-token", (b"a-webhook-secret",))
