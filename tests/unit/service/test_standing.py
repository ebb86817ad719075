"""How the service stands, as people and programs read it."""

from __future__ import annotations

import pytest

from service.orders import Live
from service.standing import Standing, standing_form, standing_lines


def standing(telegram: str | None) -> Standing:
    live = Live(
        pid=7,
        store_writable=True,
        workers_up=True,
        admission_open=True,
        log_lines_held=0,
        log_lines_lost=0,
        telegram=telegram,
    )
    return Standing(state_folder="/state", is_running=True, live=live, counts={}, gave_up=[])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(None, [], id="no bot"),
        pytest.param("the bot hears", ["telegram   the bot hears"], id="a bot"),
        pytest.param("the bot\x1b[2J\nhears", ["telegram   the bot?[2J hears"], id="words with what a terminal obeys"),
    ],
)
def test_whether_the_bot_hears_is_said_in_its_words(words: str | None, said: list[str]) -> None:
    assert [line for line in standing_lines(standing(words)) if line.startswith("telegram")] == said
    assert standing_form(standing(words))["service"]["telegram"] == words
