"""Making, changing and pinging a repository's webhooks."""

from dataclasses import dataclass, replace

from service.demo.github.failures import Failure
from service.demo.github.records import Account, Hook, Repository
from service.demo.github.state import State

CONTENT_TYPES = frozenset({"json", "form"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEdit:
    """What a hook is made of or changed to; None leaves a thing as it is."""

    url: str | None = None
    secret: str | None = None
    content_type: str | None = None
    events: tuple[str, ...] | None = None
    active: bool | None = None


def add_hook(state: State, repository: Repository, wanted: HookEdit) -> Hook:
    """Make a hook; GitHub's defaults are form encoding and the event `push`, and one address can be hooked once."""
    if wanted.url is None:
        raise Failure(422, "Validation Failed: url is missing")
    if any(hook.url == wanted.url and hook.repository_id == repository.id for hook in state.tables.hooks.values()):
        raise Failure(422, "Validation Failed: Hook already exists on this repository")
    now = state.now()
    hook = Hook(
        id=state.new_id("hook"),
        repository_id=repository.id,
        url=wanted.url,
        secret=wanted.secret,
        content_type="form",
        events=("push",),
        active=True,
        created_at=now,
        updated_at=now,
    )
    return edit_hook(state, hook, wanted)


def edit_hook(state: State, hook: Hook, wanted: HookEdit) -> Hook:
    """Change what is named."""
    content_type = wanted.content_type if wanted.content_type is not None else hook.content_type
    if content_type not in CONTENT_TYPES:
        raise Failure(422, "Validation Failed: content_type is neither json nor form")
    changed = replace(
        hook,
        url=wanted.url if wanted.url is not None else hook.url,
        secret=wanted.secret if wanted.secret is not None else hook.secret,
        content_type=content_type,
        events=wanted.events if wanted.events is not None else hook.events,
        active=wanted.active if wanted.active is not None else hook.active,
        updated_at=state.now(),
    )
    state.tables.hooks[hook.id] = changed
    return changed


def hooks_of(state: State, repository: Repository) -> list[Hook]:
    """A repository's hooks, oldest first."""
    return [hook for hook in state.tables.hooks.values() if hook.repository_id == repository.id]


def hook_of(state: State, repository: Repository, hook_id: int) -> Hook:
    """The repository's hook with this id; 404 when there is none."""
    for hook in hooks_of(state, repository):
        if hook.id == hook_id:
            return hook
    raise Failure(404, "Not Found")


def owner_of(state: State, repository: Repository) -> Account:
    """Who a ping is sent by."""
    return state.tables.accounts[repository.owner_id]
