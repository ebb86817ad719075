"""Who may do what in a repository of the stand-in."""

from service.demo.github.failures import Failure
from service.demo.github.records import Account, Issue, Permission, Repository
from service.demo.github.state import State

WRITERS = frozenset({Permission.ADMIN, Permission.MAINTAIN, Permission.WRITE})
TRIAGERS = WRITERS | {Permission.TRIAGE}


def require_write(state: State, actor: Account, repository: Repository) -> None:
    """403 unless the actor may push."""
    if state.permission(repository, actor) not in WRITERS:
        raise Failure(403, "Must have push access to repository")


def require_triage(state: State, actor: Account, repository: Repository) -> None:
    """403 unless the actor may label and close."""
    if state.permission(repository, actor) not in TRIAGERS:
        raise Failure(403, "Must have triage access to repository")


def require_admin(state: State, actor: Account, repository: Repository) -> None:
    """404, as GitHub hides hooks from everyone but administrators."""
    if state.permission(repository, actor) is not Permission.ADMIN:
        raise Failure(404, "Not Found")


def require_author_or_triage(state: State, actor: Account, repository: Repository, author_id: int | None) -> None:
    """403 unless the actor wrote it or may triage."""
    if actor.id != author_id:
        require_triage(state, actor, repository)


def require_author_or_write(state: State, actor: Account, repository: Repository, author_id: int | None) -> None:
    """403 unless the actor wrote it or may push."""
    if actor.id != author_id:
        require_write(state, actor, repository)


def require_open_thread(state: State, actor: Account, repository: Repository, issue: Issue) -> None:
    """403 where the thread is locked and the actor may not push."""
    if issue.locked and state.permission(repository, actor) not in WRITERS:
        raise Failure(403, "Unable to create comment because issue is locked.")
