"""Webhooks, their deliveries, and redelivery; all of it for administrators only."""

from service.demo.github.acts import hooks as acts
from service.demo.github.acts.rights import require_admin
from service.demo.github.listing import paged
from service.demo.github.records import Delivery, Hook
from service.demo.github.routing import Call, route
from service.demo.github.shapes.hooks import delivery_shape, full_delivery_shape, hook_config_shape, hook_shape
from service.demo.github.state import found
from service.demo.github.wire import Answer, JsonObject, optional_text_of, texts_of


def the_hook(call: Call) -> Hook:
    require_admin(call.state, call.actor, call.repository())
    return call.hook()


def list_hooks(call: Call) -> Answer:
    repository = call.repository()
    require_admin(call.state, call.actor, repository)
    return paged(call, acts.hooks_of(call.state, repository), lambda hook: hook_shape(call.state, repository, hook))


def get_hook(call: Call) -> Answer:
    return shown(call, the_hook(call))


def create_hook(call: Call) -> Answer:
    """Make a hook, which is pinged at once."""
    repository = call.repository()
    require_admin(call.state, call.actor, repository)
    hook = acts.add_hook(call.state, repository, edit_of(call.content()))
    call.courier.ping(hook)
    return shown(call, hook, status=201)


def edit_hook(call: Call) -> Answer:
    return shown(call, acts.edit_hook(call.state, the_hook(call), edit_of(call.content())))


def edit_of(content: JsonObject) -> acts.HookEdit:
    """What a request says about a hook and its config."""
    config = content.get("config")
    config = config if isinstance(config, dict) else {}
    active = content.get("active")
    return acts.HookEdit(
        url=optional_text_of(config, "url"),
        secret=optional_text_of(config, "secret"),
        content_type=optional_text_of(config, "content_type"),
        events=texts_of(content, "events") if "events" in content else None,
        active=active if isinstance(active, bool) else None,
    )


def delete_hook(call: Call) -> Answer:
    del call.state.tables.hooks[the_hook(call).id]
    return Answer(status=204)


def get_config(call: Call) -> Answer:
    return Answer(status=200, content=hook_config_shape(the_hook(call)))


def ping(call: Call) -> Answer:
    call.courier.ping(the_hook(call))
    return Answer(status=204)


def list_deliveries(call: Call) -> Answer:
    """A hook's deliveries, newest first."""
    hook = the_hook(call)
    deliveries = [delivery for delivery in call.state.tables.deliveries.values() if delivery.hook_id == hook.id]
    return paged(call, sorted(deliveries, key=lambda delivery: delivery.id, reverse=True), delivery_shape)


def get_delivery(call: Call) -> Answer:
    return Answer(status=200, content=full_delivery_shape(the_delivery(call)))


def redeliver(call: Call) -> Answer:
    """Send a delivery again, under the same GUID."""
    call.courier.redeliver(the_delivery(call))
    return Answer(status=202, content={})


def the_delivery(call: Call) -> Delivery:
    the_hook(call)
    return found(call.state.tables.deliveries, call.number("delivery_id"))


def shown(call: Call, hook: Hook, status: int = 200) -> Answer:
    return Answer(status=status, content=hook_shape(call.state, call.repository(), hook))


HOOKS = "/repos/{owner}/{name}/hooks"
ROUTES = (
    route("GET", HOOKS, list_hooks),
    route("POST", HOOKS, create_hook),
    route("GET", HOOKS + "/{hook_id}", get_hook),
    route("PATCH", HOOKS + "/{hook_id}", edit_hook),
    route("DELETE", HOOKS + "/{hook_id}", delete_hook),
    route("GET", HOOKS + "/{hook_id}/config", get_config),
    route("POST", HOOKS + "/{hook_id}/pings", ping),
    route("GET", HOOKS + "/{hook_id}/deliveries", list_deliveries),
    route("GET", HOOKS + "/{hook_id}/deliveries/{delivery_id}", get_delivery),
    route("POST", HOOKS + "/{hook_id}/deliveries/{delivery_id}/attempts", redeliver),
)
