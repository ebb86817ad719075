"""Making accounts and repositories, and changing their names."""

from dataclasses import replace

from service.demo.github.failures import Failure
from service.demo.github.git import make_repository
from service.demo.github.records import Account, Permission, Repository
from service.demo.github.state import State


def add_account(state: State, login: str, kind: str = "User", token: str | None = None) -> Account:
    """The account with this login, made where it is missing; `token` becomes one of its tokens."""
    try:
        account = state.account(login)
    except Failure:
        account = Account(id=state.new_id("account"), login=login, kind=kind)
        state.tables.accounts[account.id] = account
    if token is not None:
        state.tables.tokens[token] = account.id
    return account


def remove_account(state: State, login: str) -> None:
    """Delete an account: what it wrote stays, with a null author."""
    account = state.account(login)
    del state.tables.accounts[account.id]
    state.tables.tokens = {token: owner for token, owner in state.tables.tokens.items() if owner != account.id}


def rename_account(state: State, login: str, new_login: str) -> Account:
    """Give an account another login; its id stays."""
    account = replace(state.account(login), login=new_login)
    state.tables.accounts[account.id] = account
    return account


def add_repository(state: State, full_name: str, default_branch: str = "main", *, private: bool = False) -> Repository:
    """Make `owner/name` with a real bare git repository and a first commit; the owner is made where it is missing."""
    owner_login, _, name = full_name.partition("/")
    owner = add_account(state, owner_login)
    repository_id = state.new_id("repository")
    folder = state.folder / "git" / f"{repository_id}.git"
    make_repository(folder, default_branch, state.now())
    repository = Repository(
        id=repository_id,
        owner_id=owner.id,
        name=name,
        folder=str(folder),
        default_branch=default_branch,
        private=private,
        created_at=state.now(),
    )
    state.tables.repositories[repository.id] = repository
    return repository


def rename_repository(state: State, full_name: str, new_name: str) -> Repository:
    """Give a repository another name; its id stays and the former name redirects."""
    former = state.repository(full_name)
    repository = replace(former, name=new_name)
    state.tables.former_names[full_name.lower()] = repository.id
    state.tables.repositories[repository.id] = repository
    return repository


def set_permission(state: State, full_name: str, login: str, permission: Permission) -> None:
    """Let an account be a collaborator with this permission; `none` and `read` are strangers' permissions too."""
    repository = state.repository(full_name)
    account = state.account(login)
    changed = replace(repository, permissions={**repository.permissions, account.id: permission})
    state.tables.repositories[repository.id] = changed
