"""From a request's method and path to the function that answers it."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from service.demo.github.acts.hooks import hook_of
from service.demo.github.failures import Failure
from service.demo.github.rates import Rate
from service.demo.github.records import (
    Account,
    Comment,
    Hook,
    Issue,
    Permission,
    Repository,
    ReviewComment,
)
from service.demo.github.state import State, found
from service.demo.github.webhooks import Courier
from service.demo.github.wire import Answer, JsonObject, Request, read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One authenticated request with the names that its path gave; its lookups answer 404 for what is not there."""

    state: State
    courier: Courier
    actor: Account
    rate: Rate
    request: Request
    parameters: Mapping[str, str]

    def content(self) -> JsonObject:
        """The request's JSON object."""
        return read_object(self.request.body)

    def number(self, name: str) -> int:
        return int(self.parameters[name])

    def repository(self) -> Repository:
        """The repository of the path, if the actor may see it."""
        repository = self.state.repository(f"{self.parameters['owner']}/{self.parameters['name']}")
        return self.visible(repository)

    def visible(self, repository: Repository) -> Repository:
        if self.state.permission(repository, self.actor) is Permission.NONE:
            raise Failure(404, "Not Found")
        return repository

    def issue(self) -> Issue:
        return self.state.issue(self.repository(), self.number("number"))

    def comment(self) -> Comment:
        comment = found(self.state.tables.comments, self.number("comment_id"))
        self.require_here(comment.repository_id)
        return comment

    def review_comment(self) -> ReviewComment:
        comment = found(self.state.tables.review_comments, self.number("comment_id"))
        self.require_here(comment.repository_id)
        return comment

    def hook(self) -> Hook:
        return hook_of(self.state, self.repository(), self.number("hook_id"))

    def require_here(self, repository_id: int) -> None:
        if repository_id != self.repository().id:
            raise Failure(404, "Not Found")


Handler = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A method and a pattern of paths with the function that answers them."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler


def route(method: str, template: str, handler: Handler) -> Route:
    """A route of a template such as `/repos/{owner}/{name}/issues/{number}`.

    A name matches one segment of the path; `number` and names that end in `_id` match digits only.
    """
    pattern = re.sub(r"\{(\w+)\}", name_pattern, template)
    return Route(method=method, pattern=re.compile(pattern), handler=handler)


def name_pattern(match: re.Match[str]) -> str:
    name = match[1]
    digits = name == "number" or name.endswith("_id")
    return rf"(?P<{name}>\d{{1,18}})" if digits else rf"(?P<{name}>[^/]+)"


def find_route(routes: Iterable[Route], method: str, path: str) -> tuple[Handler, dict[str, str]]:
    """The handler and the names of a path; 404 where no route matches."""
    for candidate in routes:
        match = candidate.pattern.fullmatch(path) if candidate.method == method else None
        if match is not None:
            return candidate.handler, {name: unquote(value) for name, value in match.groupdict().items()}
    raise Failure(404, "Not Found")
