"""`/user`, `/users/{login}`, and what is left of a token's budget."""

from service.demo.github.routing import Call, route
from service.demo.github.shapes.accounts import account_shape
from service.demo.github.wire import Answer, JsonObject


def get_me(call: Call) -> Answer:
    return Answer(status=200, content=account_shape(call.state, call.actor))


def get_user(call: Call) -> Answer:
    account = call.state.account(call.parameters["login"])
    return Answer(status=200, content=account_shape(call.state, account))


def get_rate_limit(call: Call) -> Answer:
    """The budget; asking costs nothing, also when it is spent."""
    rate = call.rate
    core: JsonObject = {
        "limit": rate.limit,
        "used": rate.used,
        "remaining": rate.remaining,
        "reset": rate.resets_epoch_s,
    }
    return Answer(status=200, content={"resources": {"core": core, "search": core, "graphql": core}, "rate": core})


RATE_LIMIT = "/rate_limit"
ROUTES = (
    route("GET", RATE_LIMIT, get_rate_limit),
    route("GET", "/user", get_me),
    route("GET", "/users/{login}", get_user),
)
