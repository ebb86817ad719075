"""`/user` and `/users/{login}`."""

from service.demo.github.routing import Call, route
from service.demo.github.shapes.accounts import account_shape
from service.demo.github.wire import Answer


def get_me(call: Call) -> Answer:
    return Answer(status=200, content=account_shape(call.state, call.actor))


def get_user(call: Call) -> Answer:
    account = call.state.account(call.parameters["login"])
    return Answer(status=200, content=account_shape(call.state, account))


ROUTES = (
    route("GET", "/user", get_me),
    route("GET", "/users/{login}", get_user),
)
