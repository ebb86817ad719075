"""What the bot is told by its environment: read once, and looked through before anything is started."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from telegrambot.calls import ROOT_URL, Token, WrongToken

HOST = re.compile(r"[\w.:-]+")
CHAT = re.compile(r"-?[1-9][0-9]{0,15}", re.ASCII)
"""Telegram's numbers have 52 bits at most."""


class SettingsWrong(ValueError):
    """The bot cannot work by its settings; the text names the variable, and shows no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that the bot is told."""

    token: Token
    state: Path
    """The folder of what the bot keeps; absolute."""
    api_url: str = ROOT_URL
    files_root: Path | None = None
    """The working directory of a Bot API server of one's own, as it is seen from here."""
    operator_chat: int | None = None
    """Where the operator is told what happens, and may ask for a restart; None: nowhere."""


def read(environment: Mapping[str, str]) -> Settings:
    """The settings. Raises SettingsWrong."""
    api_url = _api_url(environment.get("BOT_API_URL", ""))
    files_root = environment.get("BOT_API_FILES_ROOT", "")
    if files_root and not files_root.startswith("/"):
        raise SettingsWrong("BOT_API_FILES_ROOT must be an absolute path: it must start with /")
    if api_url != ROOT_URL and not files_root:
        raise SettingsWrong("BOT_API_FILES_ROOT must be set, for BOT_API_URL names a server of your own")
    return Settings(
        token=_token(environment.get("BOT_TOKEN", "")),
        state=Path(environment.get("STATE_DIR") or "state").absolute(),
        api_url=api_url,
        files_root=Path(files_root) if files_root else None,
        operator_chat=_chat(environment.get("OPERATOR_CHAT", "")),
    )


def _token(written: str) -> Token:
    try:
        return Token(written.strip())
    except WrongToken as wrong:
        raise SettingsWrong(f"BOT_TOKEN: {wrong}") from wrong


def _api_url(written: str) -> str:
    address = written.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        is_host = HOST.fullmatch((parts.hostname or "").encode("idna").decode()) is not None
        is_usable = is_host and parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        is_usable = False
    # Methods are put behind the address: a query, a fragment or a space would swallow them or break the call.
    if address and (not is_usable or re.search(r"[?#\s\x00-\x1f\x7f]", address)):
        raise SettingsWrong("BOT_API_URL must be http:// or https:// with a host, as in http://localhost:8081")
    return address or ROOT_URL


def _chat(written: str) -> int | None:
    number = written.strip()
    if number and not CHAT.fullmatch(number):
        raise SettingsWrong("OPERATOR_CHAT must be a chat's number, as in -1001234567890")
    return int(number) if number else None
