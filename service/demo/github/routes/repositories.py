"""Repositories, by name and by id, and what a collaborator may do in them."""

from dataclasses import replace

from service.demo.github.acts.rights import require_write
from service.demo.github.failures import Failure
from service.demo.github.records import Permission
from service.demo.github.routing import Call, route
from service.demo.github.shapes.repositories import collaborator_shape, permissions_shape, repository_shape
from service.demo.github.state import found
from service.demo.github.wire import Answer


def get_repository(call: Call) -> Answer:
    repository = call.repository()
    permission = call.state.permission(repository, call.actor)
    shape = repository_shape(call.state, repository)
    return Answer(status=200, content={**shape, "permissions": permissions_shape(permission)})


def get_repository_by_id(call: Call) -> Answer:
    repository = found(call.state.tables.repositories, call.number("repository_id"))
    owner, _, name = call.state.full_name(repository).partition("/")
    return get_repository(replace(call, parameters={"owner": owner, "name": name}))


def get_permission(call: Call) -> Answer:
    """What an account may do; only who may push is told."""
    repository = call.repository()
    require_write(call.state, call.actor, repository)
    account = call.state.account(call.parameters["login"])
    permission = call.state.permission(repository, account)
    return Answer(status=200, content=collaborator_shape(call.state, account, permission))


def get_collaborator(call: Call) -> Answer:
    """204 for a collaborator, 404 for anyone else."""
    repository = call.repository()
    account = call.state.account(call.parameters["login"])
    member = account.id == repository.owner_id or repository.permissions.get(account.id, Permission.NONE)
    if member in (False, Permission.NONE):
        raise Failure(404, "Not Found")
    return Answer(status=204)


ROUTES = (
    route("GET", "/repos/{owner}/{name}", get_repository),
    route("GET", "/repositories/{repository_id}", get_repository_by_id),
    route("GET", "/repos/{owner}/{name}/collaborators/{login}/permission", get_permission),
    route("GET", "/repos/{owner}/{name}/collaborators/{login}", get_collaborator),
)
