"""What the operator may set: one `the-loop.toml`, the environment over it, every fault said at once."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from domain.model import ID_MAX
from domain.policy import Spawn
from service.telegram.kinds import PostKind, PostLevel
from sessions.host.permissions import PermissionMode
from webhook.router import DEDUP_CACHE_SIZE

FILE_NAME = "the-loop.toml"
ENVIRONMENT = "THE_LOOP_"
NOT_SETTINGS = ("CONFIG", "TRACEBACK", "SESSION", "AGENT_SOCKET", "AGENT_TOKEN")
"""What else is ours in the environment: where the file is, how faults are shown, and what an agent is given."""
OWN_PATHS = ("/healthz", "/readyz")

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?")
_ROOT = re.compile(r"https?://(\[[^\]\s/]+\]|[\w.-]+)(:\d*)?(/[^\s?#]*)?")


class SettingsRefused(Exception):
    """The settings cannot be used; the text names every fault and what to do."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_flag(cls, value: object, info: ValidationInfo) -> object:
        """A flag stands only where one is asked for: `true` would count as the number 1."""
        asks_for_one = cls.model_fields[str(info.field_name)].annotation is bool
        if not asks_for_one and _holds_flag(value):
            raise ValueError("true and false cannot stand here")
        return value


class WebhookSection(_Section):
    """The pushed road."""

    enabled: bool = Field(True, description="Listen for GitHub's webhooks.")
    host: str = Field(
        "127.0.0.1", description="Address to listen on; put a TLS proxy in front of anything but loopback."
    )
    port: int = Field(8787, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    path: str = Field("/webhook/github", pattern=r"^(/[A-Za-z0-9._~-]+)+$", description="Path of the endpoint.")
    secrets: tuple[SecretStr, ...] = Field((), description="Webhook secrets; several while one replaces another.")
    secret_file: Path | None = Field(None, description="File with one secret a line, instead of `secrets`.")

    @field_validator("secrets")
    @classmethod
    def _not_blank(cls, secrets: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if not all(secret.get_secret_value().strip() for secret in secrets):
            raise ValueError("a blank secret protects nothing: `the-loop init` makes one")
        return secrets

    @field_validator("path")
    @classmethod
    def _free(cls, path: str) -> str:
        if path in OWN_PATHS:
            raise ValueError(f"{path} is where the service tells how it is")
        return path


class GitHubSection(_Section):
    """The host whose issues are watched, and the account that posts."""

    host: str = Field(
        "github.com", pattern=r"^[A-Za-z0-9.-]+(:\d+)?$", description="The host as it stands in addresses of issues."
    )
    api_url: str = Field("", description="Root of the REST API; empty: derived from `host`.")
    token: SecretStr | None = Field(None, description="Token of the account that reads and posts.")
    token_file: Path | None = Field(None, description="File with the token, instead of `token`.")
    seconds_between_writes: float = Field(
        1.0, ge=0, le=60, description="Pause between two writes; GitHub asks for one second."
    )

    @field_validator("host")
    @classmethod
    def _host_of_an_address(cls, host: str) -> str:
        _root_address(f"https://{host}")
        return host

    @field_validator("api_url")
    @classmethod
    def _root_or_none(cls, address: str) -> str:
        return _root_address(address) if address else address

    @property
    def root(self) -> str:
        """The root of the REST API."""
        if self.api_url:
            return self.api_url.rstrip("/")
        return "https://api.github.com" if self.host == "github.com" else f"https://{self.host}/api/v3"


class PollingSection(_Section):
    """The polled road."""

    enabled: bool = Field(False, description="Ask GitHub for new comments, where no webhook can reach.")
    interval_s: float = Field(60.0, gt=0, le=86_400, description="Seconds between two rounds.")


class RepositorySection(_Section):
    """A repository that is watched."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*$", description="owner/repo")
    path: Path | None = Field(None, description="A local repository to clone from and push to, instead of GitHub's.")


class RoutingSection(_Section):
    """Who may, and what is started."""

    authorized_users: tuple[str, ...] = Field((), description="Logins that may move anything; empty: nobody may.")
    spawn: Spawn = Field(Spawn.LABELED, description="Which items may be started: labeled, always, never.")
    label: str = Field("the-loop", min_length=1, description='The label that `spawn = "labeled"` asks for.')
    dedup_cache_size: int = Field(DEDUP_CACHE_SIZE, ge=1, le=1_000_000, description="Events remembered in memory.")
    max_concurrent_dispatches: int = Field(4, ge=1, le=64, description="Starts, and hand-overs, under way at once.")
    max_retries: int = Field(3, ge=0, le=20, description="Tries after the first failed one.")

    @field_validator("authorized_users")
    @classmethod
    def _logins(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [name for name in names if not _LOGIN.fullmatch(name)]
        if wrong:
            raise ValueError(f"no logins, which stand without @: {', '.join(map(repr, wrong))}")
        return names


class SessionsSection(_Section):
    """The agents."""

    harness: Literal["claude", "command"] = Field("claude", description="The preset of the agent.")
    command: tuple[str, ...] = Field((), description="The agent's command, where the preset needs one or another one.")
    command_prefix: tuple[str, ...] = Field((), description="Wraps every agent: bwrap, sudo -u, docker …")
    pass_variables: tuple[str, ...] = Field(
        (), description="More of your environment variables that agents may see; `*` stands for any ending."
    )
    permissions: PermissionMode = Field(
        PermissionMode.ALLOW_EDITS, description="What agents may do unasked: deny, allow_edits, allow_all."
    )
    allow_commands: tuple[str, ...] = Field(
        ("the-loop", "git add", "git commit", "git status", "git diff", "git log"),
        description="Beginnings of plain commands that may run; add your project's test command.",
    )
    max_live: int = Field(4, ge=1, le=64, description="Sessions that run at once.")
    idle_s: float = Field(600.0, gt=0, description="Seconds without a turn after which an agent's process ends.")
    templates: Path | None = Field(None, description="Folder with prompt templates of your own.")
    author_name: str = Field("the-loop", min_length=1, description="Name on the agents' commits.")
    author_email: str = Field("the-loop@localhost", min_length=3, description="Address on the agents' commits.")


class TelegramSection(_Section):
    """The operator's seat in Telegram: a bot that says how things stand, and tells when something needs you."""

    enabled: bool = Field(False, description="Run the bot beside the service.")
    token: SecretStr | None = Field(None, description="The bot's token, from @BotFather.")
    token_file: Path | None = Field(None, description="File with the token, instead of `token`.")
    api_url: str = Field("https://api.telegram.org", description="Root of the Bot API, or of your own Bot API server.")
    chat: int | None = Field(None, description="Id of the chat that is told; `the-loop telegram whoami` shows ids.")
    operators: tuple[int, ...] = Field((), description="Ids of the Telegram accounts that may ask the bot.")
    level: PostLevel = Field(PostLevel.INFO, description="What matters less than this is not told.")
    levels: dict[PostKind, PostLevel] = Field(
        default_factory=dict, description="How much a kind of notice matters, where not as much as by itself."
    )
    topics: dict[PostKind, int] = Field(
        default_factory=dict, description="The topic (message_thread_id) of the chat that a kind of notice goes to."
    )

    @field_validator("api_url")
    @classmethod
    def _root(cls, address: str) -> str:
        return _root_address(address)

    @field_validator("chat")
    @classmethod
    def _chat_id(cls, chat: int | None) -> int | None:
        if chat is not None and not 0 < abs(chat) <= ID_MAX:
            raise ValueError(f"{chat} is no id of a chat: `the-loop telegram whoami` shows it")
        return chat

    @field_validator("operators")
    @classmethod
    def _account_ids(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        wrong = _not_counted(ids)
        if wrong:
            raise ValueError(f"no ids of accounts, which are above 0: {wrong}")
        return ids

    @field_validator("topics")
    @classmethod
    def _topic_ids(cls, topics: dict[PostKind, int]) -> dict[PostKind, int]:
        wrong = _not_counted(topics.values())
        if wrong:
            raise ValueError(f"no ids of topics, which are above 0: {wrong}")
        return topics


class Settings(BaseSettings):
    """All of it. Relative paths count from the settings file."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    name: str = Field("default", pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,39}$", description="Name of this instance.")
    state_folder: Path | None = Field(None, description="Where everything is kept; empty: by XDG, under the name.")
    webhook: WebhookSection = Field(default_factory=WebhookSection)
    github: GitHubSection = Field(default_factory=GitHubSection)
    polling: PollingSection = Field(default_factory=PollingSection)
    repositories: tuple[RepositorySection, ...] = Field((), description="What is watched; empty: whatever is signed.")
    routing: RoutingSection = Field(default_factory=RoutingSection)
    sessions: SessionsSection = Field(default_factory=SessionsSection)
    telegram: TelegramSection = Field(default_factory=TelegramSection)
    base_folder: Path = Field(default_factory=Path.cwd, exclude=True)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        """The environment over the file."""
        return env_settings, init_settings

    @field_validator("repositories")
    @classmethod
    def _once(cls, repositories: tuple[RepositorySection, ...]) -> tuple[RepositorySection, ...]:
        names = [repository.name.lower() for repository in repositories]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"named twice: {', '.join(twice)}")
        return repositories

    def path(self, path: Path) -> Path:
        """A path as the settings file means it."""
        return (self.base_folder / path.expanduser()).resolve()

    @property
    def state(self) -> Path:
        """The state folder."""
        if self.state_folder is not None:
            return self.path(self.state_folder)
        return Path(platformdirs.user_state_path("the-loop")) / self.name

    def secrets(self) -> tuple[bytes, ...]:
        """The webhook's secrets. Raises SettingsRefused for a file that cannot be read."""
        inline = [secret.get_secret_value() for secret in self.webhook.secrets]
        return tuple(line.encode() for line in inline + self._lines(self.webhook.secret_file, "webhook.secret_file"))

    def token(self) -> str:
        """GitHub's token, empty where none is set. Raises SettingsRefused for a file that cannot be read."""
        return self._token(self.github.token, self.github.token_file, "github.token_file")

    def telegram_token(self) -> str:
        """The bot's token, empty where none is set. Raises SettingsRefused for a file that cannot be read."""
        return self._token(self.telegram.token, self.telegram.token_file, "telegram.token_file")

    def _token(self, token: SecretStr | None, file: Path | None, key: str) -> str:
        if token is not None:
            return token.get_secret_value()
        return next(iter(self._lines(file, key)), "")

    def _lines(self, path: Path | None, key: str) -> list[str]:
        if path is None:
            return []
        try:
            return [line.strip() for line in self.path(path).read_text("utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsRefused(f"{key}: {self.path(path)} cannot be read: {error}") from error


Where = Annotated[Path | None, "a file named by the operator; None looks for ./the-loop.toml"]


def load(path: Where = None) -> Settings:
    """Read the settings. Raises SettingsRefused with every fault, each with what to do about it, and where there are none."""
    file = path or _found()
    if file is None and not any(name.startswith(ENVIRONMENT) for name in os.environ):
        raise SettingsRefused(
            f"there is no {FILE_NAME} in this folder: `the-loop init` writes one, --config names one elsewhere"
        )
    unknown = _unknown_variables()
    if unknown:
        raise SettingsRefused("the environment cannot be used:\n" + "\n".join(f"  {fault}" for fault in unknown))
    written = _read(file) if file is not None else {}
    base = file.resolve().parent if file is not None else Path.cwd()
    try:
        return Settings(**written, base_folder=base)
    except ValidationError as error:
        faults = "\n".join(f"  {_fault(detail)}" for detail in error.errors())
        raise SettingsRefused(f"{file or 'the settings'} cannot be used:\n{faults}") from error


def _holds_flag(value: object) -> bool:
    match value:
        case list() | tuple():
            return any(_holds_flag(each) for each in value)
        case dict():
            return any(_holds_flag(each) for each in value.values())
        case _:
            return isinstance(value, bool)


def _root_address(address: str) -> str:
    """The address of a server, as it was written. Raises ValueError where no connection could be made by it."""
    try:
        parts = urlsplit(address)
        usable = _ROOT.fullmatch(address) is not None and parts.port != 0
        (parts.hostname or "").encode("idna").decode("idna")
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(
            "no address of a server: write http:// or https://, a host, perhaps :port (1 to 65535) and a path"
        )
    return address


def _not_counted(ids: Iterable[int]) -> str:
    """Those that do not stand between 1 and the largest id that there may be; empty where all do."""
    return ", ".join(str(each) for each in ids if not 0 < each <= ID_MAX)


def _found() -> Path | None:
    named = os.environ.get("THE_LOOP_CONFIG")
    if named:
        return Path(named)
    return Path(FILE_NAME) if Path(FILE_NAME).is_file() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SettingsRefused(f"{file} cannot be read: {error.strerror}; `the-loop init` writes one") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsRefused(f"{file} is no TOML: {error}") from error


def _unknown_variables() -> list[str]:
    """Variables with our prefix that are no setting: the names inside a section are told with the file's."""
    names = [name.upper().removeprefix(ENVIRONMENT) for name in os.environ if name.upper().startswith(ENVIRONMENT)]
    sections = [name.split("__")[0].lower() for name in names if name not in NOT_SETTINGS]
    return [
        f"{ENVIRONMENT}{section.upper()}: {_no_such(section, _names([]))}"
        for section in sections
        if section not in _names([])
    ]


def _fault(detail: Mapping[str, Any]) -> str:
    place = [str(part) for part in detail["loc"]]
    key = ".".join(place)
    if detail["type"] == "extra_forbidden":
        return f"{key}: {_no_such(place[-1], _names(place[:-1]))}"
    if detail["type"] == "string_pattern_mismatch":
        return f"{key}: {detail['input']!r} does not have the form of one"
    return f"{key}: {detail['msg']}"


def _no_such(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return "there is no such setting" + (f"; did you mean {near[0]}?" if near else "")


def _names(place: list[str]) -> list[str]:
    model: Any = Settings
    for part in place:
        if not part.isdigit():
            model = RepositorySection if part == "repositories" else model.model_fields[part].annotation
    return [name for name in model.model_fields if name != "base_folder"]
