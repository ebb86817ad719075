"""Why a request on the pushed road becomes no delivery: refused for what it is, or not taken just now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webhook.signature import SignatureFault


class Fault(StrEnum):
    """What is wrong with a request, apart from its signature. No outside text enters here."""

    HTTP = "http"
    """It is no HTTP that can be read."""
    METHOD = "method"
    """It is no POST."""
    CONTENT_TYPE = "content-type"
    """It is neither JSON nor a form."""
    TOO_LARGE = "too-large"
    """Its body is larger than GitHub ever sends."""
    BODY_LATE = "body-late"
    """Its body did not come in time."""
    BODY_INCOMPLETE = "body-incomplete"
    """The client left before its body was complete."""
    EVENT_HEADER = "event-header"
    """`X-GitHub-Event` is missing or is no event's name."""
    DELIVERY_HEADER = "delivery-header"
    """`X-GitHub-Delivery` is missing, too long or not of visible ASCII."""
    HOST = "host"
    """`X-GitHub-Enterprise-Host` names a host that is not configured."""
    MALFORMED = "malformed"
    """Its body has not the shape that we read."""
    INTERNAL = "internal"
    """A fault of ours."""


class Trouble(StrEnum):
    """Why a request cannot be taken now, although nothing is wrong with it."""

    DRAINING = "draining"
    """The service takes no new work."""
    BODIES = "bodies-in-flight"
    """The bodies of all requests under way take too much memory together."""
    QUEUE_FULL = "queue-full"
    """Too much waits in front of the store."""
    LATE = "late"
    """The store did not begin with it in time."""
    CLIENT_LEFT = "client-left"
    """The client left before the store began with it."""
    STORE = "store"
    """The store could not take the write: full, locked or closing."""
    STUCK = "store-stuck"
    """The store began with it and does not come to an end."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """It will never be taken like this. `detail` is for whoever set up the hook, in our own words."""

    status: int
    reason: Fault | SignatureFault
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Nothing of it is recorded; the same request may be taken later."""

    reason: Trouble


Refusal = Rejected | Unavailable
