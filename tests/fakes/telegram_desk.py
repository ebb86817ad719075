"""Settings of a Telegram bot beside a stand-in Bot API, and the command line over them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from service.cli.main import the_loop
from tests.fakes.bot_api.server import StandInBotApi

OPERATOR, CHAT = 7, -100


@dataclass(frozen=True, slots=True)
class Desk:
    """One folder with settings in which all is well, but for what a test changes."""

    folder: Path
    bot_api: StandInBotApi

    @property
    def config(self) -> Path:
        return self.folder / "the-loop.toml"

    def settle(self, **changes: str) -> None:
        """Write the settings; an empty text leaves one out."""
        settings = {
            "enabled": "true",
            "token": f"'{self.bot_api.token}'",
            "api_url": f"'{self.bot_api.root_url}'",
            "operators": f"[{OPERATOR}]",
            "chat": str(CHAT),
        } | changes
        section = "\n".join(f"{key} = {value}" for key, value in settings.items() if value)
        self.config.write_text(f"state_folder = '{self.folder / 'state'}'\n[telegram]\n{section}\n")

    def run(self, *arguments: str, given: str | bytes | None = None) -> Result:
        """`the-loop telegram …`."""
        return CliRunner().invoke(the_loop, ["telegram", *arguments, "--config", str(self.config)], input=given)

    def broadcast(self, *arguments: str, to: str | bytes = "1\n2\n3\n") -> Result:
        """`the-loop telegram broadcast --name news`, to the recipients on standard input."""
        return self.run("broadcast", "--name", "news", "--to", "-", "--rate", "30", *arguments, given=to)

    @property
    def sent(self) -> list[tuple[int | str, str]]:
        """What arrived, by chat."""
        return [(send.chat_id, send.text) for send in self.bot_api.sends]
