"""The order among resources, and what the states of an application allow."""

import pytest

from service.lifecycle.resource import Health, WrongResources, start_order
from service.lifecycle.status import (
    TRANSITIONS,
    ApplicationState,
    ResourceState,
    ResourceStatus,
    overall_health,
)
from tests.fakes.lifecycle import ScriptedResource, bench


def resource(name: str, *depends_on: str) -> ScriptedResource:
    return ScriptedResource(name, depends_on=depends_on)


def names(resources) -> list[str]:
    return [each.name for each in resources]


def test_a_resource_starts_after_everything_it_depends_on():
    given = [resource("webhook", "workers"), resource("workers", "store", "sessions"), resource("sessions", "store")]
    assert names(start_order([*given, resource("store")])) == ["store", "sessions", "workers", "webhook"]


@pytest.mark.parametrize(
    ("resources", "fault"),
    [
        pytest.param([resource("a", "b"), resource("b", "a")], "in a circle: .* -> ", id="circle of two"),
        pytest.param([resource("a", "a")], "in a circle: a -> a", id="depends on itself"),
        pytest.param([resource("a", "ghost")], "a depends on ghost, which does not exist", id="unknown name"),
        pytest.param([resource("a"), resource("b"), resource("a")], "more than one resource is named a", id="twice"),
    ],
)
def test_resources_that_do_not_fit_are_refused_before_anything_starts(resources, fault):
    with pytest.raises(WrongResources, match=fault):
        bench(*resources)
    assert [each.diary for each in resources] == [[] for _ in resources]


def test_an_application_that_stopped_goes_nowhere_any_more():
    assert TRANSITIONS[ApplicationState.STOPPED] == frozenset()
    assert set(TRANSITIONS) == set(ApplicationState)


def status(*, required: bool, state=ResourceState.READY, health=Health.HEALTHY) -> ResourceStatus:
    return ResourceStatus(name="any", required=required, state=state, health=health)


FINE = status(required=True)


@pytest.mark.parametrize(
    ("state", "resources", "health"),
    [
        pytest.param(ApplicationState.CREATED, [FINE], Health.UNKNOWN, id="not started"),
        pytest.param(ApplicationState.STARTING, [FINE], Health.UNKNOWN, id="starting"),
        pytest.param(ApplicationState.READY, [], Health.HEALTHY, id="no resources"),
        pytest.param(ApplicationState.READY, [FINE], Health.HEALTHY, id="all in order"),
        pytest.param(
            ApplicationState.READY,
            [FINE, status(required=True, health=Health.DEGRADED)],
            Health.UNHEALTHY,
            id="a required one degraded",
        ),
        pytest.param(
            ApplicationState.READY,
            [FINE, status(required=False, health=Health.UNHEALTHY)],
            Health.DEGRADED,
            id="an optional one unhealthy",
        ),
        pytest.param(
            ApplicationState.READY,
            [FINE, status(required=False, state=ResourceState.FAILED)],
            Health.DEGRADED,
            id="an optional one failed",
        ),
        pytest.param(ApplicationState.FAILED, [FINE], Health.UNHEALTHY, id="failed"),
    ],
)
def test_health_follows_from_the_state_and_the_resources(state, resources, health):
    assert overall_health(state, resources) is health
