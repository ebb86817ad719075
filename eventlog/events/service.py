"""Event types of the service's own life."""

from eventlog.event import Level, LogEvent, event_type


@event_type("service.starting", Level.INFO)
class ServiceStarting(LogEvent):
    """The service holds its state folder and begins to start its resources."""

    version: str


@event_type("service.ready", Level.INFO)
class ServiceReady(LogEvent):
    """All required resources run."""

    took_ms: int | None = None


@event_type("service.draining", Level.INFO)
class ServiceDraining(LogEvent):
    """Shutdown began: nothing new is admitted, what was admitted is brought to its end."""

    cause: str
    leases: int | None = None


@event_type("service.stopped", Level.INFO)
class ServiceStopped(LogEvent):
    """Shutdown is over; clean says that everything ended by itself and in time."""

    clean: bool
    exit_code: int
    took_ms: int | None = None


@event_type("service.resource_ended", Level.ERROR)
class ServiceResourceEnded(LogEvent):
    """A resource ended although nobody had asked it to."""

    resource: str
    error: BaseException | str | None = None


@event_type("service.admission_closed", Level.WARNING)
class ServiceAdmissionClosed(LogEvent):
    """The service takes no new work."""

    reason: str


@event_type("service.admission_opened", Level.INFO)
class ServiceAdmissionOpened(LogEvent):
    """The service takes new work."""


@event_type("service.log_buffered", Level.WARNING)
class ServiceLogBuffered(LogEvent):
    """This log can be written again; the lines held meanwhile stand before this one, the lost ones are gone."""

    held_lines: int
    lost_lines: int
