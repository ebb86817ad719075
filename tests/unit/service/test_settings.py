"""What may stand in the settings: what could not work is refused with the setting's name, wherever it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.settings import Settings, SettingsRefused, load

ADDRESSES = ("telegram.api_url", "github.api_url")


def loaded(folder: Path, text: str = "") -> Settings:
    file = folder / "the-loop.toml"
    file.write_text(text)
    return load(file)


def refusal(folder: Path, text: str = "") -> list[str]:
    """The faults that are said, one a line; none where the settings can be used."""
    try:
        loaded(folder, text)
    except SettingsRefused as refused:
        return [line.strip() for line in str(refused).splitlines()[1:]]
    return []


@pytest.mark.parametrize("key", ADDRESSES)
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:99999",
        "http://127.0.0.1:-1",
        "http://127.0.0.1:0",
        "http://xn--",
        "http://[::1",
        "http://[::1]x",
        "http://[zz]",
        "http://a..b",
        "http://:80",
        "https://",
        "ftp://elsewhere.example",
        "elsewhere.example",
        "http://user:word@elsewhere.example",
        "http://elsewhere.example/?q",
        "http://elsewhere.example/a b",
        "http://elsewhere.example\\n",
    ],
)
def test_an_address_that_nobody_can_connect_to_is_refused_in_a_sentence(tmp_path: Path, key, address) -> None:
    (fault,) = refusal(tmp_path, f'{key} = "{address}"')
    assert fault.startswith(f"{key}: ")
    assert "no address of a server: write http:// or https://" in fault


@pytest.mark.parametrize("key", ADDRESSES)
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:65535",
        "http://[::1]:8081",
        "https://ghe.example/api/v3",
        "https://bücher.example",
        "https://xn--bcher-kva.example",
        "http://my_server:8081/",
    ],
)
def test_an_address_that_can_be_connected_to_is_taken_as_it_stands(tmp_path: Path, key, address) -> None:
    settings = loaded(tmp_path, f'{key} = "{address}"')
    section, _, name = key.partition(".")
    assert getattr(getattr(settings, section), name) == address


def test_a_host_whose_port_there_cannot_be_is_refused(tmp_path: Path) -> None:
    (fault,) = refusal(tmp_path, 'github.host = "ghe.example:99999"')
    assert fault.startswith("github.host: ")


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        pytest.param("telegram.operators = [true]", "telegram.operators", id="a flag among operators"),
        pytest.param("telegram.operators = [7, 0]", "telegram.operators", id="operator 0"),
        pytest.param("telegram.operators = [-100]", "telegram.operators", id="a group as an operator"),
        pytest.param(f"telegram.operators = [{2**53 + 1}]", "telegram.operators", id="no operator has so great an id"),
        pytest.param("telegram.chat = true", "telegram.chat", id="a flag as a chat"),
        pytest.param("telegram.chat = 0", "telegram.chat", id="chat 0"),
        pytest.param(f"telegram.chat = {2**53 + 1}", "telegram.chat", id="no chat has so great an id"),
        pytest.param(f"telegram.chat = {-(2**53) - 1}", "telegram.chat", id="no group has so great an id"),
        pytest.param("telegram.topics = {gave_up = true}", "telegram.topics", id="a flag as a topic"),
        pytest.param("telegram.topics = {gave_up = -4}", "telegram.topics", id="topic below 0"),
        pytest.param("telegram.topics = {gave_up = 0}", "telegram.topics", id="topic 0"),
        pytest.param("webhook.port = true", "webhook.port", id="a flag as a port"),
        pytest.param("polling.interval_s = true", "polling.interval_s", id="a flag as seconds"),
    ],
)
def test_what_cannot_be_the_number_that_is_asked_for_is_refused(tmp_path: Path, setting, key) -> None:
    (fault,) = refusal(tmp_path, setting)
    assert fault.startswith(f"{key}: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPERATORS", "[true]"),
        ("OPERATORS", "[0]"),
        ("OPERATORS", '["-7"]'),
        ("CHAT", "true"),
        ("CHAT", "0"),
        ("CHAT", str(2**53 + 1)),
        ("TOPICS", '{"gave_up": true}'),
        ("TOPICS", '{"gave_up": -4}'),
        ("TOPICS__GAVE_UP", "-4"),
        ("API_URL", "http://127.0.0.1:99999"),
    ],
)
def test_the_environment_may_say_no_more_than_the_file(tmp_path: Path, monkeypatch, name, value) -> None:
    monkeypatch.setenv(f"THE_LOOP_TELEGRAM__{name}", value)
    (fault,) = refusal(tmp_path)
    assert fault.startswith(f"telegram.{name.partition('__')[0].lower()}")


def test_numbers_stand_in_the_environment_as_digits(tmp_path: Path, monkeypatch) -> None:
    for name, value in {"OPERATORS": '["7", 8]', "CHAT": "-100", "TOPICS__GAVE_UP": "44", "ENABLED": "true"}.items():
        monkeypatch.setenv(f"THE_LOOP_TELEGRAM__{name}", value)
    section = loaded(tmp_path).telegram
    assert (section.operators, section.chat, section.topics, section.enabled) == ((7, 8), -100, {"gave_up": 44}, True)
