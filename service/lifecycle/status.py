"""Where an application stands: its states and how one leads to the next, and what follows from its resources."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.lifecycle.resource import Health


class ApplicationState(StrEnum):
    """Where an application is in its one life; it is never started again."""

    CREATED = "created"
    """Not started."""
    STARTING = "starting"
    """Resources are coming up."""
    READY = "ready"
    """Every required resource came up; whether work is taken is said by `accepting`."""
    DRAINING = "draining"
    """A shutdown was asked for; admitted work is being finished."""
    STOPPING = "stopping"
    """Resources are being closed."""
    STOPPED = "stopped"
    """Everything that was started was closed."""
    FAILED = "failed"
    """The start failed, a required resource ended by itself, or something could not be closed."""


class ResourceState(StrEnum):
    """Where one resource is in its life."""

    REGISTERED = "registered"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


TRANSITIONS: dict[ApplicationState, frozenset[ApplicationState]] = {
    ApplicationState.CREATED: frozenset({ApplicationState.STARTING, ApplicationState.STOPPING}),
    ApplicationState.STARTING: frozenset(
        {ApplicationState.READY, ApplicationState.DRAINING, ApplicationState.FAILED},
    ),
    ApplicationState.READY: frozenset({ApplicationState.DRAINING, ApplicationState.FAILED}),
    # What failed may still hold something: a shutdown takes it down like any other.
    ApplicationState.FAILED: frozenset({ApplicationState.DRAINING}),
    ApplicationState.DRAINING: frozenset({ApplicationState.STOPPING}),
    ApplicationState.STOPPING: frozenset({ApplicationState.STOPPED, ApplicationState.FAILED}),
    ApplicationState.STOPPED: frozenset(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceStatus:
    """Where one resource stands."""

    name: str
    required: bool
    state: ResourceState
    health: Health

    @property
    def in_order(self) -> bool:
        return self.state is ResourceState.READY and self.health is Health.HEALTHY


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is published about an application; the same snapshot is never published twice in a row."""

    state: ApplicationState
    health: Health
    accepting: bool
    resources: tuple[ResourceStatus, ...]


def overall_health(state: ApplicationState, resources: Sequence[ResourceStatus]) -> Health:
    """Unknown before ready; unhealthy with a required resource out of order, degraded with an optional one."""
    if state in (ApplicationState.CREATED, ApplicationState.STARTING):
        return Health.UNKNOWN
    if state is ApplicationState.FAILED or not required_in_order(resources):
        return Health.UNHEALTHY
    return Health.HEALTHY if all(resource.in_order for resource in resources) else Health.DEGRADED


def required_in_order(resources: Sequence[ResourceStatus]) -> bool:
    """Whether every required resource is ready and healthy."""
    return all(resource.in_order for resource in resources if resource.required)
