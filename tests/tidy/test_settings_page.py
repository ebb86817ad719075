"""The documented settings are those that there are."""

from __future__ import annotations

from service.settings_page import render_page
from tests.tidy import tree


def test_the_documented_settings_are_the_page_that_the_code_renders() -> None:
    assert tree.read("docs/config/settings.md") == render_page()


def test_every_setting_says_what_it_is() -> None:
    assert "| None |" not in render_page()
