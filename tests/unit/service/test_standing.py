"""How the service stands, as people read it."""

from __future__ import annotations

import pytest

from service.orders import Live
from service.standing import Standing, standing_lines


def standing(telegram_silent_s: float | None) -> Standing:
    live = Live(
        pid=7,
        store_writable=True,
        workers_up=True,
        admission_open=True,
        log_lines_held=0,
        log_lines_lost=0,
        telegram_silent_s=telegram_silent_s,
    )
    return Standing(state_folder="/state", is_running=True, live=live, counts={}, gave_up=[])


@pytest.mark.parametrize(
    ("silent_s", "said"),
    [
        pytest.param(None, [], id="no bot"),
        pytest.param(29.0, ["telegram   the bot hears"], id="within a poll"),
        pytest.param(
            300.0,
            ["telegram   the bot has heard nothing for 300 s: `the-loop telegram check` tells more"],
            id="for longer than any poll",
        ),
    ],
)
def test_a_bot_that_can_send_and_does_not_hear_does_not_look_healthy(silent_s: float | None, said: list[str]) -> None:
    assert [line for line in standing_lines(standing(silent_s)) if line.startswith("telegram")] == said
