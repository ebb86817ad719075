"""What the lifecycle starts and stops: the resource, what each call on it is told, and the order among resources."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

from service.lifecycle.admission import Admission
from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken


class Health(StrEnum):
    """How well something that is up does its work."""

    UNKNOWN = "unknown"
    """Nothing was said yet."""
    HEALTHY = "healthy"
    """Does all of its work."""
    DEGRADED = "degraded"
    """Does part of its work and expects to recover."""
    UNHEALTHY = "unhealthy"
    """Does none of its work."""


class Phase(StrEnum):
    """The part of a resource's life in which something failed."""

    START = "start"
    """`start` raised or did not end in time."""
    COMPLETION = "completion"
    """The resource's own work ended with an error, or before it was ready."""
    ADMISSION = "admission"
    """`stop_admission` raised."""
    DRAIN = "drain"
    """`drain` raised."""
    CLOSE = "close"
    """`close` raised, or did not end in time while a failed start was rolled back."""
    FORCE = "force"
    """`force` raised or did not end in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseContext:
    """What `stop_admission`, `drain`, `close` and `force` are told."""

    cancel: CancelToken
    """Cancelled when this call is given up; what it does after that counts for nothing."""
    deadline: float
    """The reading of `clock.monotonic` at which it is given up at the latest."""
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class StartContext:
    """What `start` is told. The admission and the two reports stay good for the resource's whole life."""

    admission: Admission
    """Whether new work may be fetched; a resource that fetches work fetches only under it."""
    cancel: CancelToken
    """Cancelled when the service is asked to stop: a start in progress then has no purpose any more."""
    deadline: float
    """The reading of `clock.monotonic` at which the start is given up."""
    clock: Clock
    report_health: Callable[[Health], None]
    """Say how the resource does, from any thread; the same value again is free."""
    report_completion: Callable[[BaseException | None], None]
    """Say that the resource's own work (its thread) has ended, with its error or None; the first call counts."""


class Resource(Protocol):
    """One part of the service with a life of its own.

    Calls come from threads of the lifecycle, one at a time (but `force`, below), each perhaps from another thread.
    After `start` was called, the others may come even if it raised: they end what there is to end.
    """

    @property
    def name(self) -> str:
        """Unique in its application."""

    @property
    def depends_on(self) -> Sequence[str]:
        """Names of the resources that must be ready before this one starts and that stop after it."""

    @property
    def required(self) -> bool:
        """Whether the service takes no work unless this one is ready and healthy."""

    def start(self, context: StartContext) -> None:
        """Come up and return when ready. Healthy from then on unless it reported otherwise. Raises when it cannot."""

    def stop_admission(self, context: PhaseContext) -> None:
        """Take nothing new; what was admitted goes on."""

    def drain(self, context: PhaseContext) -> None:
        """Wait for what was admitted to end. Every lease of the application was released before."""

    def close(self, context: PhaseContext) -> None:
        """Give back what is held."""

    def force(self, context: PhaseContext) -> None:
        """End at once whatever is left; may be called while an earlier call still hangs, and after a failed one."""


@dataclass(frozen=True, slots=True)
class ResourceFailure:
    """That one resource failed in one phase, and how."""

    resource: str
    phase: Phase
    error: BaseException


class WrongResources(ValueError):
    """The resources do not make an application: a name twice, an unknown dependency, or a circle of them."""


def start_order(resources: Sequence[Resource]) -> tuple[Resource, ...]:
    """The resources, each after those it depends on; the same input gives the same order. Raises `WrongResources`."""
    by_name = {resource.name: resource for resource in resources}
    if len(by_name) < len(resources):
        names = [resource.name for resource in resources]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise WrongResources(f"more than one resource is named {', '.join(twice)}")
    for resource in resources:
        for dependency in resource.depends_on:
            if dependency not in by_name:
                raise WrongResources(f"resource {resource.name} depends on {dependency}, which does not exist")
    sorter = TopologicalSorter({resource.name: resource.depends_on for resource in resources})
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError as cycle:
        raise WrongResources(f"resources depend on each other in a circle: {' -> '.join(cycle.args[1])}") from cycle
